"""Notes that two calls are written differently and do the same, though several of their arguments differ."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from app.replay.call_effects import PROGRAM_KEYS, program_of
from app.replay.code_forms import code_note, steps_of_code
from app.replay.graphql import is_graphql
from app.replay.graphql_forms import graphql_form
from app.replay.json_differences import equal
from app.replay.request_forms import request_form
from app.replay.tables import TABLES
from app.replay.text_kinds import SHELL_KEYS
from app.values.budget import WorkBudget
from app.values.json import MAX_DEPTH

_SECONDS: dict[str, Decimal | int] = {
    "weeks": 604_800,
    "days": 86_400,
    "hours": 3600,
    "minutes": 60,
    "seconds": 1,
    "milliseconds": Decimal("0.001"),
}
_EDITS = [tuple(pair.split()) for pair in TABLES["keys"]["edits"]]
_EDIT_ALL = ("replace_all", "replaceall", "all", "global", "count", "occurrence")  # other places are edited, too
_MOST_UNITS = 1_000_000_000
_STEPS_PER_CALL = 1_000  # to read a document, an address or a command of usual length
_STEPS_PER_MEMBER = 3  # to read a header or a parameter, sort it and write it
_OF_GRAPHQL = frozenset(("variables", "operationname", "operation_name"))


def call_note(name: str, recorded: Any, produced: Any, budget: WorkBudget) -> str:
    """Return how two calls of a tool are written differently; "" if they may do something else. Raises `OverBudget`."""
    if not isinstance(recorded, dict) or not isinstance(produced, dict):
        return ""
    for call in (recorded, produced):
        budget.spend(_STEPS_PER_CALL + sum(len(text) for text in call.values() if isinstance(text, str)))
        _spend_on_members(call, budget, levels=2)
    if _is_same(_operation(recorded, budget), _operation(produced, budget), budget):
        return "the same operation of GraphQL, written differently"
    if _is_same(_request(recorded, budget), _request(produced, budget), budget):
        return "the same request, written differently"
    if _is_same_edit(recorded, produced, budget):
        return "the same edit, with more of the text around it"
    if _is_same(_length_of_time(recorded), _length_of_time(produced), budget):
        return "the same length of time, in other units"
    return _note_of_words(name, recorded, produced, budget)


def _is_same_edit(recorded: Mapping[str, Any], produced: Mapping[str, Any], budget: WorkBudget) -> bool:
    """Return whether two calls replace a text by another one, where one call has the same text around both in addition.

    An editor refuses a text that occurs more than once, so that both edit the same place.
    """
    keys = next((pair for pair in _EDITS if all(key in recorded for key in pair)), None)
    if keys is None or any(
        key.lower() in _EDIT_ALL and value for call in (recorded, produced) for key, value in call.items()
    ):
        return False
    first, other = ({key: value for key, value in call.items() if key not in keys} for call in (recorded, produced))
    texts = [[text for key in keys if isinstance(text := call.get(key), str)] for call in (recorded, produced)]
    if not equal(first, other, budget) or not len(texts[0]) == len(texts[1]) == len(keys):
        return False
    (old, new), (longer_old, longer_new) = sorted(texts, key=lambda pair: len(pair[0]))
    before, found, after = longer_old.partition(old) if old else ("", "", "")
    return bool(found) and old not in after and f"{before}{new}{after}" == longer_new


def _length_of_time(call: Mapping[str, Any]) -> list[Any] | None:
    """Return the seconds of a call's hours, minutes and other units, with its other arguments; None without such."""
    given = {key: call[key] for key in _SECONDS if call.get(key) is not None}
    is_number = (isinstance(value, int | float) and not isinstance(value, bool) for value in given.values())
    if not given or not all(is_number) or not all(0 <= value <= _MOST_UNITS for value in given.values()):
        return None
    seconds = sum((Decimal(repr(value)) * _SECONDS[key] for key, value in given.items()), Decimal())
    return [str(seconds.normalize()), {key: value for key, value in call.items() if key not in _SECONDS}]


def _spend_on_members(value: Any, budget: WorkBudget, *, levels: int) -> None:
    """Count the steps of looking at the names, texts and other members of a value down to so many levels."""
    parts = [value]
    for _ in range(levels):
        inner = list[Any]()
        for part in parts:
            if isinstance(part, dict | list):
                budget.spend(_STEPS_PER_MEMBER * len(part))
                inner += (*part, *part.values()) if isinstance(part, dict) else part
        for text in inner:
            if isinstance(text, str):
                budget.read(text)
        parts = inner


def _is_same(left: Any, right: Any, budget: WorkBudget) -> bool:
    return left is not None and right is not None and equal(left, right, budget)


def _operation(call: Mapping[str, Any], budget: WorkBudget) -> list[Any] | None:
    """Return the form of a call's one document of GraphQL, with its other arguments."""
    documents = [key for key, text in call.items() if isinstance(text, str) and is_graphql(text)]
    if len(documents) != 1:
        return None
    variables = next((call[key] for key in call if key.lower() == "variables"), None)
    _spend_on_members([variables], budget, levels=MAX_DEPTH)
    form = graphql_form(call[documents[0]], variables)
    others = {key: value for key, value in call.items() if key != documents[0] and key.lower() not in _OF_GRAPHQL}
    return None if form is None else [repr(form), documents[0], others]


def _request(call: Mapping[str, Any], budget: WorkBudget) -> list[Any] | None:
    form = request_form(call)
    if form is None:
        return None
    method, address, headers, body, others = form
    operation = _operation(body, budget) if isinstance(body, dict) else None
    return [method, repr(address), repr(headers), body if operation is None else operation, others]


def _note_of_words(name: str, recorded: Mapping[str, Any], produced: Mapping[str, Any], budget: WorkBudget) -> str:
    """Return the note on the one command of two calls, which may be a list of words, or the arguments of a program."""
    program = program_of(name)
    keys = [key for key in recorded if key.lower() in (PROGRAM_KEYS if program else SHELL_KEYS)]
    if len(keys) != 1 or keys[0] not in produced:
        return ""
    first, other = ({key: value for key, value in call.items() if key != keys[0]} for call in (recorded, produced))
    left, right = (_command(program, call[keys[0]]) for call in (recorded, produced))
    if not (left and right and equal(first, other, budget)):
        return ""
    budget.spend(steps_of_code(left, right))
    return code_note(left, right)


def _command(program: str, words: Any) -> str:
    if isinstance(words, list) and words and all(isinstance(word, str) for word in words):
        words = shlex.join(words)
    if not isinstance(words, str) or not words.strip():
        return ""
    return f"{program} {words}" if program and words.split()[0] != program else words
