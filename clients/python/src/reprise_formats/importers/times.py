"""Times as exports write them: ISO 8601 with and without a zone, and numbers since 1970 in any unit."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import Any

_DAY = r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)"
_ISO = re.compile(_DAY + r"(?:[.,](\d{1,9})\d*)? ?(?:Z|([+-]\d\d):?(\d\d)?)?", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_SECOND = 10**9
# The least number of nanoseconds, microseconds, milliseconds and seconds that is a time of our days, with its unit.
_UNITS = ((10**17, 1), (10**14, 10**3), (10**11, 10**6), (0, _SECOND))
_LAST = 2**63 - 1


def nanoseconds(value: Any) -> int | None:
    """Return a time in Unix nanoseconds, None for what is no time after 1970. Without a zone it is UTC."""
    if isinstance(value, str) and (match := _ISO.fullmatch(value.strip())):
        return _within(_of_text(*match.groups()))
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < _LAST:
        return _within(int(value * next(unit for least, unit in _UNITS if value >= least)))
    return None


def _of_text(day: str, clock: str, fraction: str | None, hours: str | None, minutes: str | None) -> int:
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{hours or '+00'}:{minutes or '00'}")
    except ValueError:
        return 0
    return (moment - _EPOCH) // timedelta(seconds=1) * _SECOND + int((fraction or "").ljust(9, "0"))


def _within(ns: int) -> int | None:
    return ns if 0 < ns <= _LAST else None
