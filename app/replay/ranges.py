"""Recognizes that the range of a read contains the recorded one, such as a log from an earlier time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, time
from typing import Any

from app.replay.measures import seconds_of
from app.replay.scalar_forms import instant_of
from app.replay.tables import words

_LOWER, _UPPER, _DURATIONS = (words("keys", name) for name in ("lower", "upper", "spans"))
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[-\s.]+")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_LAST_SECOND = time(23, 59, 59)


def contains_range(key: str, siblings: Mapping[str, Any], recorded: Any, produced: Any) -> bool:
    """Return whether a bound leaves all of the recorded range in: an earlier begin, or a later end.

    `siblings` are the recorded arguments by key, among them this one: two times are the ends of a range.
    """
    names = {*_HUMP.sub("_", key).lower().split("_")}
    if _is_number(recorded) and _is_number(produced):
        is_upper = not names.isdisjoint(_UPPER | _DURATIONS)
        is_lower = not names.isdisjoint(_LOWER)
        return is_upper != is_lower and (produced >= recorded if is_upper else produced <= recorded)
    if not isinstance(recorded, str) or not isinstance(produced, str):
        return False
    before, after = seconds_of(recorded), seconds_of(produced)
    if before is not None and after is not None:
        return not names.isdisjoint(_LOWER | _DURATIONS) and after >= before
    return _contains_time(key, names, siblings, recorded, produced)


def _contains_time(key: str, names: set[str], siblings: Mapping[str, Any], recorded: str, produced: str) -> bool:
    is_lower, is_upper = not names.isdisjoint(_LOWER), not names.isdisjoint(_UPPER)
    if is_lower == is_upper:
        times = {name: moment for name, value in siblings.items() if (moment := _moment(value)) is not None}
        if len(times) != 2 or key not in times:
            return False
        other = next(moment for name, moment in times.items() if name != key)
        if times[key] == other:
            return False
        is_lower = times[key] < other
    before, after = (_moment(text, is_end=not is_lower) for text in (recorded, produced))
    if before is None or after is None:
        return False
    return after <= before if is_lower else after >= before


def _moment(value: Any, *, is_end: bool = False) -> datetime | None:
    """Return the time of a text, without its zone; of a date its begin or its end."""
    text = value.strip() if isinstance(value, str) else ""
    if not _DATE.fullmatch(text):
        instant = instant_of(text)
        return instant.replace(tzinfo=None) if instant else None
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        return None
    return datetime.combine(date, _LAST_SECOND) if is_end else date


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
