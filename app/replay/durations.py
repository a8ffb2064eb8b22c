"""Reads durations and intervals of ISO 8601: `PT90M` is `PT1H30M`, a begin with a duration is a begin and an end."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from app.replay.forms import instant_of

_LONGEST = 100  # characters
_DURATION = re.compile(
    r"P(?=.)(?:(\d{1,6})Y)?(?:(\d{1,6})M)?(?:(\d{1,6})W)?(?:(\d{1,6})D)?"
    r"(?:T(?=.)(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:\.\d{1,9})?)S)?)?",
    re.ASCII,
)


class Duration(NamedTuple):
    """A day has no fixed number of seconds, and a month no fixed number of days."""

    months: int
    days: int
    seconds: Decimal


def duration_of(text: str) -> Duration | None:
    """Return the duration that a text is; None for other texts."""
    parts = _DURATION.fullmatch(text) if len(text) <= _LONGEST else None
    if not parts:
        return None
    years, months, weeks, days, hours, minutes, seconds = (Decimal(part or 0) for part in parts.groups())
    return Duration(int(12 * years + months), int(7 * weeks + days), 3600 * hours + 60 * minutes + seconds)


def same_duration(left: Any, right: Any) -> bool:
    """Return True if two texts are durations of the same months, days and seconds."""
    if not isinstance(left, str) or not isinstance(right, str):
        return False
    duration = duration_of(left)
    return duration is not None and duration == duration_of(right)


def interval_of(text: str) -> tuple[datetime, datetime] | None:
    """Return the begin and the end of an interval, such as `2026-12-01T09:00Z/PT1H`; None for other texts."""
    first, slash, last = text.strip().partition("/")
    if not slash or len(text) > _LONGEST:
        return None
    begin, end = instant_of(first), instant_of(last)
    try:
        if begin and (duration := duration_of(last)):
            end = begin + _fixed(duration)
        elif end and (duration := duration_of(first)):
            begin = end - _fixed(duration)
    except (OverflowError, ValueError):
        return None
    return (begin, end) if begin and end and (begin.tzinfo is None) == (end.tzinfo is None) else None


def _fixed(duration: Duration) -> timedelta:
    if duration.months:
        raise ValueError("months have no fixed length")
    return timedelta(duration.days, float(duration.seconds))
