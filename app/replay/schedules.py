"""Recognizes two ways to write when something repeats: five fields of cron, and rules of calendars (RFC 5545)."""

from __future__ import annotations

import re
from typing import Any

_LONGEST = 500  # characters
_NAMED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_NUMBERS = {**{name: n for n, name in enumerate(_MONTHS, start=1)}, **{name: n for n, name in enumerate(_DAYS)}}
_PART = re.compile(r"(?:(\*|\?)|([a-z]{3}|\d{1,2})(?:-([a-z]{3}|\d{1,2}))?)(?:/([1-9]\d?))?")
_RULE = re.compile(r"(?:RRULE:)?((?:[A-Z-]{2,20}=[\w,+-]{1,200};?){1,20})")


def schedule_form(text: str) -> Any:
    """Return when a schedule repeats, equal for equal schedules; None for a text that is none."""
    if len(text) > _LONGEST:
        return None
    plain = text.strip()
    fields = _NAMED.get(plain.lower(), plain.lower()).split()
    if len(fields) == len(_BOUNDS):
        times = [_field(field, *bounds) for field, bounds in zip(fields, _BOUNDS, strict=True)]
        return None if None in times else tuple(times)
    if "FREQ=" in plain.upper() and (rule := _RULE.fullmatch(plain.upper())):
        return frozenset((name, frozenset(values.split(","))) for name, _, values in _parts(rule[1]))
    return None


def _parts(rule: str) -> list[tuple[str, str, str]]:
    return [part.partition("=") for part in rule.split(";") if part]


def _field(text: str, least: int, most: int) -> tuple[bool, frozenset[int]] | None:
    """Return whether a field begins with an asterisk, and its numbers; None for another text.

    Of a day of the month and a day of the week without an asterisk one is enough, so that it counts.
    """
    numbers = set[int]()
    for part in text.split(","):
        parsed = _PART.fullmatch(part)
        if not parsed:
            return None
        every, first, last, step = parsed.groups()
        begin, end = (least, most) if every else (_number(first), _number(last or (str(most) if step else first)))
        if not least <= begin <= end <= most:
            return None
        numbers.update(range(begin, end + 1, int(step or 1)))
    if most == 7:  # both 0 and 7 are Sunday
        numbers = {number % 7 for number in numbers}
    return most in (31, 7) and text[0] in "*?", frozenset(numbers)


def _number(name: str) -> int:
    return _NUMBERS.get(name, -1) if name.isalpha() else int(name)
