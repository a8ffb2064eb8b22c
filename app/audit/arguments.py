"""Operators on the structured arguments of a recorded call: errors that are planted, and forms of the same values."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from functools import cached_property
from typing import Any

from app.audit.changes import Change
from app.audit.draw import Draw
from app.audit.harmless import HARMLESS
from app.audit.languages import SYMBOLS, TURNED, language_of
from app.audit.planted import PLANTED, TextOperator, other_number
from app.audit.probed_text import Conversation, Leaf, ProbedText, is_name, leaves_of, spend_on
from app.audit.tokens import kind_of, same_value
from app.replay.tables import words
from app.timestamps import in_zone

_FLAG = re.compile(r" --?[A-Za-z][\w-]*(?==|\s|$)")
_TURNED = re.compile("|".join(re.escape(form) for form in sorted({form for form, _ in TURNED}, key=len, reverse=True)))
_CODE = re.compile(r"[;{}=<>|&$\\]|--?[a-z]|\w\(|SELECT |^\s*\w+ -")
_EAST = timezone(timedelta(hours=5, minutes=30))
_PROSE_WORDS = 4
_SIZE_KEYS = words("keys", "size")
_MOST_READ = 100  # the limit of a read that named none, once it is doubled
# Operators that are harmless in an answer, which a person reads, but change what a tool receives.
_HARMLESS_IN_ANSWERS = ("marks_stripped", "marks_added", "list_joined", "courtesy_added")


@dataclass(frozen=True)
class RecordedArguments:
    """The arguments of a call, the schema of its tool, and the conversation around it.

    `user` is the user's message of the turn, and `results` are those of the turn's calls before this one.
    """

    arguments: Mapping[str, Any]
    schema: Mapping[str, Any]
    user: str
    results: Sequence[Any]
    conversation: Conversation

    @cached_property
    def leaves(self) -> list[Leaf]:
        return list(leaves_of(self.arguments, self.conversation.budget))

    def property_of(self, key: str) -> Mapping[str, Any]:
        properties = self.schema.get("properties")
        entry = properties.get(key) if isinstance(properties, Mapping) else None
        return entry if isinstance(entry, Mapping) else {}

    def put(self, path: tuple[str | int, ...], value: Any) -> ArgumentsChange:
        """Return the arguments with another value at a path."""
        return ArgumentsChange(_put(self.arguments, path, value), path, _at(self.arguments, path), value)


@dataclass(frozen=True, slots=True)
class ArgumentsChange:
    """Changed arguments, and the value at `path` before and after; None for one that is not there."""

    arguments: Mapping[str, Any]
    path: tuple[str | int, ...]
    was: Any
    now: Any


ArgumentsOperator = Callable[[RecordedArguments, Draw], ArgumentsChange | None]
"""Returns the changed arguments, or None if they have nothing that it could change; the draw chooses among places."""


def value_exchanged(call: RecordedArguments, draw: Draw, excluded: Collection[str] = ()) -> ArgumentsChange | None:
    """Exchange a value for another one of the conversation, of the same kind, which is none of the `excluded` ones."""
    for leaf in draw.rotated(call.leaves):
        kind = kind_of(str(leaf.value)) if isinstance(leaf.value, str | int | float) and leaf.value != "" else None
        if kind is None or kind in excluded or isinstance(leaf.value, bool) or " " in str(leaf.value).strip():
            continue
        others = [value.text for value in call.conversation.values if value.kind == kind]
        call.conversation.budget.spend(len(call.conversation.values))
        for other in draw.of("other").rotated(others):
            if not same_value(kind, str(leaf.value), other) and (value := _typed(leaf.value, other)) is not None:
                return call.put(leaf.path, value)
    return None


def number_changed(call: RecordedArguments, draw: Draw) -> ArgumentsChange | None:
    """Change a digit of a number."""
    for leaf in draw.rotated(call.leaves):
        if not isinstance(leaf.value, bool) and kind_of(str(leaf.value)) == "number":
            value = _typed(leaf.value, other_number(str(leaf.value)))
            if value is not None:
                return call.put(leaf.path, value)
    return None


def unit_changed(call: RecordedArguments, draw: Draw) -> ArgumentsChange | None:
    """Change a unit or a currency that is a whole value."""
    for leaf in draw.rotated(call.leaves):
        for unit, other in SYMBOLS:
            if leaf.value == unit:
                return call.put(leaf.path, other)
    return None


def flag_turned(call: RecordedArguments, draw: Draw) -> ArgumentsChange | None:
    """Turn a truth value."""
    for leaf in draw.rotated(call.leaves):
        if isinstance(leaf.value, bool):
            return call.put(leaf.path, not leaf.value)
    return None


def name_exchanged(call: RecordedArguments, draw: Draw) -> ArgumentsChange | None:
    """Exchange a name for another one that the conversation's calls have under the same key."""
    for leaf in draw.rotated(call.leaves):
        if isinstance(leaf.value, str) and is_name(leaf.value):
            for other in draw.of("other").rotated(call.conversation.names.get(leaf.key, [])):
                if not set(other.casefold().split()) & set(leaf.value.casefold().split()):
                    return call.put(leaf.path, other)
    return None


def entries_exchanged(call: RecordedArguments, draw: Draw) -> ArgumentsChange | None:
    """Exchange one field of two objects of a list."""
    for path, objects in _lists_of_objects(call):
        first, second = objects[0], objects[1]
        for key in draw.rotated([key for key in first if key in second and first[key] != second[key]]):
            rests = [{name: value for name, value in entry.items() if name != key} for entry in (first, second)]
            if rests[0] != rests[1]:
                entries = [{**first, key: second[key]}, {**second, key: first[key]}, *objects[2:]]
                return call.put(path, entries)
    return None


def field_dropped(call: RecordedArguments, draw: Draw) -> ArgumentsChange | None:
    """Leave out an argument that is not the default."""
    for key in draw.rotated(list(call.arguments)):
        value = call.arguments[key]
        if value not in (None, "", [], {}, False) and call.property_of(key).get("default", _MISSING) != value:
            return ArgumentsChange(
                {name: call.arguments[name] for name in call.arguments if name != key}, (key,), value, None
            )
    return None


def code_turned(call: RecordedArguments, draw: Draw) -> ArgumentsChange | None:
    """Turn an operator of a command, query or program, or leave out a flag."""
    for leaf in draw.rotated(call.leaves):
        if not isinstance(leaf.value, str) or not _CODE.search(leaf.value):
            continue
        call.conversation.budget.read(leaf.value)
        places = [*_TURNED.finditer(leaf.value), *_FLAG.finditer(leaf.value)]
        if places:
            place = draw.of("place").rotated(places)[0]
            by = dict(TURNED).get(place[0], "")
            return call.put(leaf.path, leaf.value[: place.start()] + by + leaf.value[place.end() :])
    return None


def read_exchanged(call: RecordedArguments, draw: Draw) -> ArgumentsChange | None:
    """Let a read ask for another thing of the conversation. A number is none: it may be how much is read."""
    return value_exchanged(call, draw, ("number",)) or name_exchanged(call, draw)


def read_limited(call: RecordedArguments, draw: Draw) -> ArgumentsChange | None:
    """Let a read return up to twice as much, or name a limit that was left out."""
    properties = call.schema.get("properties")
    keys = [*call.arguments, *(properties if isinstance(properties, Mapping) else ())]
    call.conversation.budget.spend(len(keys))
    for key in draw.rotated([key for key in keys if key in _SIZE_KEYS]):
        given = call.arguments.get(key, _MOST_READ // 2)
        if type(given) is int and given > 0:
            return ArgumentsChange({**call.arguments, key: 2 * given}, (key,), call.arguments.get(key), 2 * given)
    return None


def keys_reordered(call: RecordedArguments, draw: Draw) -> ArgumentsChange | None:
    """Send the arguments in another order."""
    if len(call.arguments) < 2:
        return None
    return ArgumentsChange(
        dict(reversed(list(call.arguments.items()))), (), list(call.arguments), list(call.arguments)[::-1]
    )


def number_as_float(call: RecordedArguments, draw: Draw) -> ArgumentsChange | None:
    """Send a whole number as 1.0."""
    for leaf in draw.rotated(call.leaves):
        if type(leaf.value) is int and abs(leaf.value) < 2**53:
            return call.put(leaf.path, float(leaf.value))
    return None


def default_sent(call: RecordedArguments, draw: Draw) -> ArgumentsChange | None:
    """Send the schema's default of an argument that was left out, or leave out one that has it."""
    properties = call.schema.get("properties")
    for key in draw.rotated(list(properties) if isinstance(properties, Mapping) else []):
        default = call.property_of(key).get("default", _MISSING)
        if default is _MISSING:
            continue
        if key not in call.arguments:
            return ArgumentsChange({**call.arguments, key: default}, (key,), None, default)
        if call.arguments[key] == default and key not in (call.schema.get("required") or ()):
            rest = {name: value for name, value in call.arguments.items() if name != key}
            return ArgumentsChange(rest, (key,), default, None)
    return None


def instant_rewritten(call: RecordedArguments, draw: Draw) -> ArgumentsChange | None:
    """Send the same instant in another time zone, where the schema's format is `date-time`."""
    for key in draw.rotated(list(call.arguments)):
        instant = _instant(call.arguments[key]) if call.property_of(key).get("format") == "date-time" else None
        zone = _EAST if instant and instant.utcoffset() == timedelta() else UTC
        if instant and (elsewhere := in_zone(instant, zone)):
            return call.put((key,), elsewhere.isoformat())
    return None


_MISSING = object()


def _in_prose(operators: Iterable[tuple[str, TextOperator]]) -> dict[str, ArgumentsOperator]:
    """Return operators on the prose in arguments, of operators on texts."""

    def on_prose(operator: TextOperator) -> ArgumentsOperator:
        def in_prose(call: RecordedArguments, draw: Draw) -> ArgumentsChange | None:
            for leaf in draw.rotated([leaf for leaf in call.leaves if is_prose(leaf.value)]):
                spend_on(call.conversation.budget, leaf.value)
                change: Change | None = operator(
                    ProbedText(str(leaf.value), call.user, call.results, call.conversation), draw.of("prose")
                )
                if change:
                    changed = call.put(leaf.path, change.text)
                    return replace(changed, was=change.was, now=change.now)
            return None

        return in_prose

    return {f"prose_{name}": on_prose(operator) for name, operator in operators}


def is_prose(value: Any) -> bool:
    """Return True for a text of several words of a known language, which is no code."""
    return (
        isinstance(value, str)
        and len(value[:200].split()) >= _PROSE_WORDS
        and not _CODE.search(value)
        and language_of(value) is not None
    )


PLANTED_ARGUMENTS: dict[str, ArgumentsOperator] = {
    operator.__name__: operator
    for operator in (
        value_exchanged, number_changed, unit_changed, flag_turned, name_exchanged, entries_exchanged, field_dropped,
        code_turned,
    )
} | _in_prose((name, operator) for name, operator in PLANTED.items() if name != "refused")  # fmt: skip
HARMLESS_ARGUMENTS: dict[str, ArgumentsOperator] = {
    operator.__name__: operator for operator in (keys_reordered, number_as_float, default_sent, instant_rewritten)
} | _in_prose((name, operator) for name, operator in HARMLESS.items() if name not in _HARMLESS_IN_ANSWERS)


PLANTED_READS: dict[str, ArgumentsOperator] = {"read_exchanged": read_exchanged}
HARMLESS_READS: dict[str, ArgumentsOperator] = {"read_limited": read_limited}
"""Operators on calls that only read: a judge decides whether the recorded result answers them."""


def _typed(like: Any, text: str) -> Any:
    """Return a value of the type of another one; None if the text has none."""
    if isinstance(like, str):
        return text
    try:
        return type(like)(text.replace(",", ""))
    except ValueError:
        return None


def _at(data: Any, path: tuple[str | int, ...]) -> Any:
    for part in path:
        data = data[part]
    return data


def _put(data: Any, path: tuple[str | int, ...], value: Any) -> Any:
    if not path:
        return value
    changed: Any = dict(data) if isinstance(data, Mapping) else list(data)
    changed[path[0]] = _put(data[path[0]], path[1:], value)
    return changed


def _lists_of_objects(call: RecordedArguments) -> list[tuple[tuple[str | int, ...], list[dict[str, Any]]]]:
    """Return the lists of at least two objects among the arguments, with their paths."""
    lists: dict[tuple[str | int, ...], list[dict[str, Any]]] = {}
    for leaf in call.leaves:
        for end, part in enumerate(leaf.path):
            if isinstance(part, int) and leaf.path[:end] not in lists:
                entries = _at(call.arguments, leaf.path[:end])
                if len(entries) > 1 and all(isinstance(entry, dict) for entry in entries[:2]):
                    lists[leaf.path[:end]] = entries
    return list(lists.items())


def _instant(text: Any) -> datetime | None:
    try:
        instant = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return instant if instant and instant.tzinfo else None
