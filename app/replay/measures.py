"""Reads amounts of memory and of time that are written in different units."""

from __future__ import annotations

import re
from decimal import Decimal

_LONGEST = 40  # characters
_MEMORY = re.compile(r"(?<![\w.])(\d{1,15}(?:\.\d{1,9})?)([KMGTP])i(?!\w)")
_PROCESSORS = re.compile(r"(?<=cpu=)(\d{1,9}(?:\.\d{1,9})?)(m?)(?![\w.])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_TIME = re.compile(r"-?(?:\d{1,9}[smhdw])++")
_ISO_TIME = re.compile(r"P(?=.)(?:(\d{1,9})W)?(?:(\d{1,9})D)?(?:T(?=.)(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})S)?)?")
_PART = re.compile(r"(\d{1,9})([smhdw])")
_JOB_TIME = re.compile(r"(?:(\d{1,4})-)?(\d{1,9})(?::(\d{1,2}))?(?::(\d{1,2}))?")
_UNITS = "KMGTP"


def with_plain_measures(text: str) -> str:
    """Return a text with its amounts of memory in bytes, and those of processors in thousandths."""
    in_bytes = _MEMORY.sub(lambda amount: _whole(Decimal(amount[1]) * 1024 ** (1 + _UNITS.index(amount[2]))), text)
    return _PROCESSORS.sub(lambda amount: f"{_whole(Decimal(amount[1]) * (1 if amount[2] else 1000))}m", in_bytes)


def seconds_of(text: str) -> int | None:
    """Return the seconds of a time such as `90s`, `-7d` or `PT1H30M`, without its sign; None for other texts."""
    if len(text) > _LONGEST:
        return None
    if iso := _ISO_TIME.fullmatch(text):
        return sum(int(number or 0) * _SECONDS[unit] for number, unit in zip(iso.groups(), "wdhms", strict=True))
    if not _TIME.fullmatch(text):
        return None
    return sum(int(number) * _SECONDS[unit] for number, unit in _PART.findall(text))


def seconds_of_job(text: str) -> int | None:
    """Return the seconds of a time limit of Slurm, such as `90` (minutes) or `1-12:30`; None for other texts."""
    if not (limit := _JOB_TIME.fullmatch(text)):
        return None
    days, *parts = (None if part is None else int(part) for part in limit.groups())
    given = [part for part in parts if part is not None]
    if days is not None or len(given) == 3:
        hours, minutes, seconds = [*given, 0, 0][:3]
    else:
        hours, (minutes, seconds) = 0, [*given, 0][:2]
    return (days or 0) * _SECONDS["d"] + hours * _SECONDS["h"] + minutes * _SECONDS["m"] + seconds


def _whole(number: Decimal) -> str:
    return f"{number.normalize():f}"
