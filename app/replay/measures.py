"""Reads amounts of memory and of time that are written in different units."""

from __future__ import annotations

import re
from decimal import Decimal

_LONGEST = 40  # characters
_MEMORY = re.compile(r"(?<![\w.])(\d{1,15}(?:\.\d{1,9})?)([KMGTP])i(?!\w)")
_PROCESSORS = re.compile(r"(?<=cpu=)(\d{1,9}(?:\.\d{1,9})?)(m?)(?![\w.])")
# ISO 8601, without years and months, which have no fixed length.
_DURATION = re.compile(
    r"P(?=.)(?:(\d{1,6})W)?(?:(\d{1,6})D)?(?:T(?=.)(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:\.\d{1,9})?)S)?)?",
    re.ASCII,
)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_TIME = re.compile(r"-?(?>(?:\d{1,9}[smhdw])+)")
_PART = re.compile(r"(\d{1,9})([smhdw])")
_JOB_TIME = re.compile(r"(?:(\d{1,4})-)?(\d{1,9})(?::(\d{1,2}))?(?::(\d{1,2}))?")
_UNITS = "KMGTP"
_AMOUNT = re.compile(
    r"(-?\d{1,15}(?:\.\d{1,9})?)\s?([KMGTP]i|mc|[kKMGTPhdcmuµμn])?(g|[lL]|B|Wh?|J|cal|Hz|V|A|Pa|mol|m)"
)
_PREFIXES = {
    "K": 3,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "h": 2,
    "d": -1,
    "c": -2,
    "m": -3,
    "mc": -6,
    "u": -6,
    "µ": -6,
    "μ": -6,
    "n": -9,
}


def with_plain_measures(text: str) -> str:
    """Return a text with its amounts of memory in bytes, and those of processors in thousandths."""
    in_bytes = _MEMORY.sub(lambda amount: _whole(Decimal(amount[1]) * 1024 ** (1 + _UNITS.index(amount[2]))), text)
    return _PROCESSORS.sub(lambda amount: f"{_whole(Decimal(amount[1]) * (1 if amount[2] else 1000))}m", in_bytes)


def amount_of(text: str) -> tuple[Decimal, str] | None:
    """Return an amount in the unit without its prefix of the SI or of IEC 80000-13, as of `500 mg`; None for others."""
    parts = _AMOUNT.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    if not parts or (parts[2] in ("K", "mc") and (parts[2], parts[3]) not in (("K", "B"), ("mc", "g"))):
        return None
    number, prefix, unit = Decimal(parts[1]), parts[2] or "", "L" if parts[3] == "l" else parts[3]
    if prefix[1:] == "i":
        return (number * 1024 ** (1 + _UNITS.index(prefix[0])), unit) if unit == "B" else None
    return number.scaleb(_PREFIXES.get(prefix, 0)), unit


def seconds_of(text: str) -> Decimal | int | None:
    """Return the seconds of a time such as `90s`, `-7d` or `PT1H30M`, without its sign; None for other texts."""
    if len(text) > _LONGEST:
        return None
    if duration := _DURATION.fullmatch(text):
        return sum(Decimal(part or 0) * _SECONDS[unit] for part, unit in zip(duration.groups(), "wdhms", strict=True))
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
