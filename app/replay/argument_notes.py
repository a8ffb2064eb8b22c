"""Notes on how two values of an argument differ that may mean the same, so that a judge has to compare them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from app.replay.arithmetic import arithmetic_form, has_dice
from app.replay.case_types import Effect, StringKind
from app.replay.code_forms import code_note, steps_of_code
from app.replay.json_differences import equal, part_of
from app.replay.measures import amount_of, seconds_of, with_plain_measures
from app.replay.ranges import contains_range
from app.replay.scalar_forms import instant_of, same_instant, scalar_form
from app.replay.schedules import schedule_form
from app.replay.tables import words
from app.replay.text_kinds import FIXED_BY_SCHEMA, SHELL_KEYS, is_language, key_of, schema_at
from app.replay.text_reader import TextReader
from app.replay.times_of_day import clock_of, is_day_and_midnight, meet_at_midnight
from app.replay.value_notes import list_note, text_note
from app.timestamps import in_zone, zone_names
from app.values.json_pointer import is_index

SCHEMA_STEPS = 10  # to find the schema of a place
_LONGEST_OF_VALUES = 100  # characters
_ZONE_KEYS = ("timeZone", "timezone", "time_zone", "tz", "timezone_id", "zone")
_START_KEYS = ("start", "dtstart", "start_time", "startTime", "starts_at", "start_at", "start_date", "startDate")
_DAY = re.compile(r"\d{4}-\d\d-\d\d(?!\d)")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_SAME_VALUE = "the same value in another form"
_WIDER_RANGE = "an end of a range that contains the recorded one"
_OTHER_WORDS = {"code": "other code", "prose": "other words", "search": "other words of a search"}
_SIZE_KEYS, _ABOUT_KEYS = words("keys", "size"), words("keys", "about")
_ONCE_KEYS = words("keys", "once")
_ARITHMETIC_KEYS = words("keys", "arithmetic")


class ArgumentNotes:
    """Notes on the values of one call; each is "" for values that are simply different.

    `schema` is that of all arguments, `calls` are those of the recorded call and of the produced one.
    """

    def __init__(self, schema: Mapping[str, Any], effect: Effect, calls: tuple[Any, Any], reader: TextReader) -> None:
        self._schema, self._effect, self._reader, self._calls = schema, effect, reader, calls
        keys = calls[0] if isinstance(calls[0], dict) else ()
        self._has_command = any(key.lower() in SHELL_KEYS for key in keys)

    def note_on_extra(self, path: Sequence[str], given: Any) -> str:
        """Return how a value that only one call has may mean the same as its absence, "" if it does not."""
        if given is None:
            return "null in one call, and left out of the other"
        if given is False and self._effect == "read":
            return "false in one call, and left out of the other"
        if given in ("", [], {}):
            return "empty in one call, and left out of the other"
        if isinstance(given, dict) and self._has_only_defaults(path, given):
            return "only defaults of the schema in one call, and left out of the other"
        if note := self._of_key(path, given):
            return f"{note}, which only one call has"
        if self._is_zone_of_offset(path, given):
            return "the time zone in one call, and its offset from UTC in the other"
        return self._of_optional(path, given)

    def note_on_values(self, path: Sequence[str], left: Any, right: Any) -> str:
        """Return how two values may mean the same, if they are not both texts."""
        self._spend_on(left, right)
        if not isinstance(left, dict | list) and scalar_form(left) == scalar_form(right):
            return _SAME_VALUE
        if note := list_note(left, right, self._reader.budget):
            return note
        is_number = all(isinstance(side, int | float) and not isinstance(side, bool) for side in (left, right))
        return (self._of_key(path, left) or self._of_range(path, left, right)) if is_number else ""

    def note_on_texts(self, path: Sequence[str], kind: StringKind, left: str, right: str) -> str:
        """Return how two texts may mean the same; `kind` is that of both."""
        self._spend_on(left, right)
        if self._is_same_schedule(path, left, right):
            return "the same schedule, written differently"
        if (form := arithmetic_form(left)) and (has_dice(form) or key_of(path).lower() in _ARITHMETIC_KEYS):
            is_same = form == arithmetic_form(right)
            return (
                "the same expression, written differently"
                if is_same
                else _OTHER_WORDS["code"] * (self._effect == "read")
            )
        if kind == "code":
            self._reader.budget.spend(steps_of_code(left, right))
            return code_note(left, right) or (_OTHER_WORDS[kind] if self._effect == "read" else "")
        if scalar_form(left) == scalar_form(right):
            return _SAME_VALUE
        if not left.strip() or not right.strip():
            return ""
        return _OTHER_WORDS[kind] if kind != "value" else self._of_plain_texts(path, left, right)

    def _of_plain_texts(self, path: Sequence[str], left: str, right: str) -> str:
        values = self._only_values(left)
        if values and values == self._only_values(right):
            return _SAME_VALUE
        if (numbers := _numbers(left)) and numbers == _numbers(right):
            return _SAME_VALUE
        if same_instant(left, right) or ((clock := clock_of(left)) and clock == clock_of(right)):
            return _SAME_VALUE
        if is_day_and_midnight(left, right):
            return "a day, and the midnight with which it begins"
        if meet_at_midnight(left, right):
            return "the end of a day, and the begin of the next one"
        if _is_same_amount(left, right):
            return "the same amount in another unit"
        if _is_same_time(left, right, self._zone(path)):
            return "the same time, with and without its offset from UTC"
        if note := self._of_range(path, left, right):
            return note
        is_fixed = any(keyword in schema_at(self._schema, path) for keyword in FIXED_BY_SCHEMA)
        return text_note(left, right, self._effect, is_fixed=is_fixed) or self._of_key(path, left)

    def _of_key(self, path: Sequence[str], value: Any) -> str:
        """Return what a key makes of a value: how much a read returns, or words of the agent about a call."""
        key = key_of(path)
        if self._effect == "read" and key in _SIZE_KEYS and isinstance(value, int | str):
            return "how much the call returns"
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if self._effect == "read" and is_number and self._may_be_left_out(path):
            return "a number that may be left out"
        if key.lower().replace("_", "").replace("-", "") in _ONCE_KEYS:
            return "an id that the caller makes for each call"
        if self._has_command and len(path) == 1 and key in _ABOUT_KEYS:
            return "words about the command, or its time limit"
        return ""

    def _of_range(self, path: Sequence[str], left: Any, right: Any) -> str:
        if self._effect != "read" or not path:
            return ""
        siblings = self._siblings(path, self._calls[0])
        self._reader.budget.spend(len(siblings))
        return _WIDER_RANGE if siblings and contains_range(path[-1], siblings, left, right) else ""

    def _is_same_schedule(self, path: Sequence[str], left: str, right: str) -> bool:
        if schedule_form(left) is None or schedule_form(right) is None:
            return False
        first, other = (self._start(path, call) for call in self._calls)
        return bool(schedule_form(left, first) == schedule_form(right, other))

    def _start(self, path: Sequence[str], call: Any) -> date | None:
        """Return the day of a call on which what it repeats begins, next to the rule; None without one."""
        while path and path[-1].isdecimal():
            path = path[:-1]
        siblings = self._siblings(path, call) if path else {}
        start = next((siblings[key] for key in _START_KEYS if key in siblings), None)
        if isinstance(start, dict):
            start = start.get("dateTime") or start.get("date")
        if not isinstance(start, str) or not _DAY.match(start):
            return None
        try:
            return date.fromisoformat(start[:10])
        except ValueError:
            return None

    def _zone(self, path: Sequence[str]) -> str:
        """Return the time zone next to a recorded value; "" without one."""
        siblings = self._siblings(path, self._calls[0]) if path else {}
        zones = (siblings.get(key) for key in _ZONE_KEYS)
        return next((zone for zone in zones if isinstance(zone, str)), "")

    def _is_zone_of_offset(self, path: Sequence[str], zone: Any) -> bool:
        """Return whether the call without this time zone has times next to its place, all with the zone's offset."""
        if key_of(path) not in _ZONE_KEYS or not isinstance(zone, str) or zone not in zone_names():
            return False
        without = [part for part in (self._siblings(path, call) for call in self._calls) if path[-1] not in part]
        texts = [text for part in without for text in part.values() if isinstance(text, str)]
        self._spend_on(*texts)
        times = [moment for text in texts if (moment := instant_of(text.strip()))]
        return bool(times) and all(
            moment.tzinfo is not None
            and (there := in_zone(moment, ZoneInfo(zone))) is not None
            and there.utcoffset() == moment.utcoffset()
            for moment in times
        )

    def _siblings(self, path: Sequence[str], arguments: Any) -> Mapping[str, Any]:
        """Return the object of a call that has the value at a path; an empty one if a list has it."""
        self._reader.budget.spend(SCHEMA_STEPS + len(path))
        siblings: Any = arguments
        for name in path[:-1]:
            siblings = part_of(siblings, int(name) if isinstance(siblings, list) and is_index(name) else name)
        return siblings if isinstance(siblings, dict) else {}

    def _may_be_left_out(self, path: Sequence[str]) -> bool:
        """Return whether the schema knows the value at a path and requires none: in any language, a limit is such."""
        if not path or not schema_at(self._schema, path):
            return False
        self._reader.budget.spend(SCHEMA_STEPS + len(path))
        required = schema_at(self._schema, path[:-1]).get("required")
        return path[-1] not in required if isinstance(required, list) else True

    def _of_optional(self, path: Sequence[str], given: Any) -> str:
        """Return how the other call may imply a value that it lacks: words, and what a read may leave out."""
        is_words = isinstance(given, str) and is_language(given)
        if is_words and self._effect == "read":
            return "words of a search that only one call has"
        if not is_words and self._effect == "write":
            return ""
        if not self._may_be_left_out(path):
            return ""
        return "words that may be left out" if is_words else "a value that may be left out"

    def _has_only_defaults(self, path: Sequence[str], given: Mapping[str, Any]) -> bool:
        pending: list[tuple[Sequence[str], Any]] = [(path, given)]
        while pending:
            where, value = pending.pop()
            self._reader.budget.spend(SCHEMA_STEPS + len(where))
            schema = schema_at(self._schema, where)
            if "default" in schema and equal(schema["default"], value, self._reader.budget):
                continue
            if not value or not isinstance(value, dict):
                return False
            self._reader.budget.spend(len(value))
            pending += [((*where, key), inner) for key, inner in value.items()]
        return True

    def _only_values(self, text: str) -> list[tuple[str, str, str]]:
        """Return the meanings of a text that has only dates, times, amounts and numbers; none for other texts."""
        if len(text) > _LONGEST_OF_VALUES:
            return []
        values, rest = self._reader.values(text), text
        for value in values:
            rest = rest.replace(value.spelling, "", 1)
        return [] if rest.strip(" ,T") else [(value.space, value.form, value.detail) for value in values]

    def _spend_on(self, *values: Any) -> None:
        for value in values:
            if isinstance(value, str):
                self._reader.budget.spend(1 + len(value))


def _numbers(text: str) -> list[Decimal]:
    """Return the numbers of a text that has only two or more, with commas between them, such as a position."""
    parts = text.split(",") if len(text) <= _LONGEST_OF_VALUES else []
    is_list = len(parts) > 1 and all(_NUMBER.fullmatch(part.strip()) for part in parts)
    return [Decimal(part.strip()) for part in parts] if is_list else []


def _is_same_time(left: str, right: str, zone: str) -> bool:
    """Return whether one of two texts is a time with its offset, and the other one the same without it.

    `zone` is the time zone of the one without it, "" if that is not known: a judge may find it in the conversation.
    """
    first, other = instant_of(left.strip()), instant_of(right.strip())
    if first is None or other is None or (first.tzinfo is None) == (other.tzinfo is None):
        return False
    local, instant = (first, other) if first.tzinfo is None else (other, first)
    if not zone:
        return local == instant.replace(tzinfo=None)
    return zone in zone_names() and local.replace(tzinfo=ZoneInfo(zone)) == instant


def _is_same_amount(left: str, right: str) -> bool:
    amount = amount_of(left)
    is_plain = with_plain_measures(left) == with_plain_measures(right)
    return is_plain or (amount is not None and amount == amount_of(right)) or _same_time(left, right)


def _same_time(left: str, right: str) -> bool:
    seconds = seconds_of(left.strip())
    return seconds is not None and seconds == seconds_of(right.strip()) and (left[:1] == "-") == (right[:1] == "-")
