"""Recognizes times of a day that are written differently: `23:30`, `23:30:00` and `11:30 PM`."""

from __future__ import annotations

import re
from datetime import time, timedelta

from app.replay.scalar_forms import instant_of

_LONGEST = 40  # characters
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d)(?:\.0{1,9})?)?")
_BY_HALF = re.compile(r"(?<![\w:.-])(1[0-2]|0?[1-9])(?::([0-5]\d))?\s?([ap])\.?m\b\.?", re.IGNORECASE)
_MINUTE = timedelta(minutes=1)


def in_24_hours(text: str) -> str:
    """Return a text with its times of a 12-hour clock, such as `6:05 am`, in the form of a 24-hour clock, `06:05`."""
    return _BY_HALF.sub(lambda half: f"{int(half[1]) % 12 + 12 * (half[3] in 'pP'):02}:{half[2] or '00'}", text)


def clock_of(text: str) -> tuple[int, int, int] | None:
    """Return the hour, minute and second of a text that has only a time of a day; None for other texts."""
    clock = _CLOCK.fullmatch(in_24_hours(text.strip())) if len(text) <= _LONGEST else None
    return (int(clock[1]), int(clock[2]), int(clock[3] or 0)) if clock else None


def meet_at_midnight(left: str, right: str) -> bool:
    """Return whether one of two times is the last minute or second of a day, and the other one is the next midnight."""
    first, other = instant_of(left.strip()), instant_of(right.strip())
    if first is None or other is None or (first.tzinfo is None) != (other.tzinfo is None):
        return False
    before, after = sorted((first, other))
    is_last = (before.hour, before.minute) == (23, 59) and before.second in (0, 59)
    return is_last and after.time() == time() and timedelta() < after - before <= _MINUTE


def is_day_and_midnight(left: str, right: str) -> bool:
    """Return whether one of two texts is a day, and the other one the midnight with which it begins."""
    day, time_of_day = sorted((left.strip(), right.strip()), key=len)
    moment = instant_of(time_of_day)
    return moment is not None and moment.time() == time() and moment.date().isoformat() == day
