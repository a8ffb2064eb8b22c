"""Recognizes two ways to write when something repeats: five fields of cron, and rules of calendars (RFC 5545)."""

from __future__ import annotations

import re
from datetime import date
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
_RULE = re.compile(r"(?:RRULE:)?((?:[A-Z-]{2,20}=[A-Z0-9,+-]{1,200}(?:;|\Z)){1,20})")
_DEFAULTS = (("INTERVAL", "1"), ("WKST", "MO"))


def schedule_form(text: str, start: date | None = None) -> Any:
    """Return when a schedule repeats, equal for equal schedules; None for a text that is none.

    A weekly rule without a day repeats on that of its `start`, if that is known (RFC 5545, 3.3.10).
    """
    if len(text) > _LONGEST:
        return None
    plain = text.strip()
    fields = _NAMED.get(plain.lower(), plain.lower()).split()
    if len(fields) == len(_BOUNDS):
        times = [_field(field, *bounds) for field, bounds in zip(fields, _BOUNDS, strict=True)]
        return None if None in times else tuple(times)
    form = _rule_form(plain.upper())
    if (
        form
        and start
        and ("FREQ", frozenset({"WEEKLY"})) in form
        and not any(name.startswith("BY") for name, _ in form)
    ):
        return form | {("BYDAY", frozenset({_DAYS[start.isoweekday() % 7][:2].upper()}))}
    return form


def same_rule(left: Any, right: Any) -> bool:
    """Return True if two texts are one rule of RFC 5545 (3.3.10), of which the parts and their values have no order."""
    if not isinstance(left, str) or not isinstance(right, str) or max(len(left), len(right)) > _LONGEST:
        return False
    is_named = left.startswith("RRULE:")
    return (
        is_named == right.startswith("RRULE:") and (rule := _rule_form(left)) is not None and rule == _rule_form(right)
    )


def _rule_form(text: str) -> Any:
    """Return the parts of a rule but for the defaults; None for other texts."""
    rule = _RULE.fullmatch(text) if "FREQ=" in text else None
    parts = [part.partition("=") for part in rule[1].split(";") if part] if rule else []
    if len({name for name, _, _ in parts}) < len(parts) or not parts:
        return None
    return frozenset(
        (name, frozenset(values.split(","))) for name, _, values in parts if (name, values) not in _DEFAULTS
    )


def _field(text: str, least: int, most: int) -> tuple[bool, frozenset[int]] | None:
    """Return whether a field begins with an asterisk, and its numbers; None for another text.

    The asterisk counts because cron runs on a day that has either the day of the month or the day of the week if
    neither field begins with an asterisk, and otherwise only on a day that has both.
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
