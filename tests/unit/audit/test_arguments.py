"""Operators on arguments change one value, or only the form of the same values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.audit.arguments import (
    HARMLESS_ARGUMENTS,
    HARMLESS_READS,
    PLANTED_ARGUMENTS,
    PLANTED_READS,
    RecordedArguments,
    is_prose,
)
from app.audit.draw import Draw
from app.audit.probed_text import Conversation, leaves_of
from app.values.budget import UNLIMITED

ARGUMENTS = {
    "order": "A-1042",
    "amount": 1299.5,
    "count": 3,
    "currency": "USD",
    "express": True,
    "customer": "Maria Silva",
    "lines": [{"sku": "LAP-15", "price": 1199}, {"sku": "BAG-02", "price": 100}],
    "note": "The order is ready and you can collect it within 14 days.",
    "query": "SELECT * FROM orders WHERE total > 100 AND paid = 1",
    "at": "2026-11-05T09:30:00Z",
}
SCHEMA = {
    "properties": {
        "at": {"type": "string", "format": "date-time"},
        "count": {"default": 3},
        "limit": {"default": 10},
    }
}
OTHERS = {"order": "B-77", "amount": 85.25, "customer": "Ada Lovelace", "at": "2026-12-01T10:00:00Z"}


def recorded(arguments: dict[str, Any] = ARGUMENTS, schema: dict[str, Any] = SCHEMA) -> RecordedArguments:
    texts, others = ("Where is B-77, of 85.25?",), ("It is 7 km to Rome.",)
    conversation = Conversation("Never name the margin of the shop to anybody.", texts, (OTHERS, arguments), others)
    return RecordedArguments(arguments, schema, "Where is it?", ({"note": "late payer"},), conversation)


def leaves(data: Any) -> dict[tuple[str | int, ...], Any]:
    return {leaf.path: leaf.value for leaf in leaves_of(data, UNLIMITED)}


@pytest.mark.parametrize("kind", PLANTED_ARGUMENTS)
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 999))
def test_a_planted_error_changes_the_value_at_its_path_and_no_other(kind: str, seed: int) -> None:
    change = PLANTED_ARGUMENTS[kind](recorded(), Draw(str(seed)))

    assert change == PLANTED_ARGUMENTS[kind](recorded(), Draw(str(seed)))
    if change is None:
        return
    before, after = leaves(ARGUMENTS), leaves(change.arguments)
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert changed
    assert all(path[: len(change.path)] == change.path for path in changed)


@pytest.mark.parametrize(
    "kind",
    [
        *("value_exchanged", "number_changed", "unit_changed", "flag_turned", "name_exchanged", "entries_exchanged"),
        *("field_dropped", "code_turned", "prose_negation_turned", "prose_number_changed", "prose_action_claimed"),
    ],
)
def test_each_operator_finds_its_value(kind: str) -> None:
    assert PLANTED_ARGUMENTS[kind](recorded(), Draw("1")) is not None


@pytest.mark.parametrize("kind", HARMLESS_ARGUMENTS)
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 99))
def test_a_form_keeps_every_value(kind: str, seed: int) -> None:
    change = HARMLESS_ARGUMENTS[kind](recorded(), Draw(str(seed)))

    assert change == HARMLESS_ARGUMENTS[kind](recorded(), Draw(str(seed)))
    if change is None:
        return
    before, after = leaves(ARGUMENTS), leaves(change.arguments)
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    if kind in ("keys_reordered", "number_as_float"):
        assert not changed
    else:
        assert changed == {change.path}


def test_the_default_of_the_schema_is_sent_or_left_out() -> None:
    changes = [HARMLESS_ARGUMENTS["default_sent"](recorded(), Draw(str(seed))) for seed in range(20)]

    assert {(change.path, change.was, change.now) for change in changes if change} == {
        (("count",), 3, None),
        (("limit",), None, 10),
    }
    dropped = [PLANTED_ARGUMENTS["field_dropped"](recorded({"count": 3}), Draw(str(seed))) for seed in range(5)]
    assert dropped == [None] * 5


def test_an_instant_is_the_same_in_another_time_zone() -> None:
    change = HARMLESS_ARGUMENTS["instant_rewritten"](recorded(), Draw("1"))

    assert change is not None
    assert change.now == "2026-11-05T15:00:00+05:30"
    assert HARMLESS_ARGUMENTS["instant_rewritten"](recorded(schema={}), Draw("1")) is None


def test_an_instant_at_the_end_of_the_calendar_stays() -> None:
    """Programs write it for "for ever", and elsewhere it is in the year 10000."""
    forever = recorded({"at": "9999-12-31T23:59:59Z"})

    assert HARMLESS_ARGUMENTS["instant_rewritten"](forever, Draw("1")) is None


@pytest.mark.parametrize("arguments", [{}, {"a": None}, {"a": ""}, {"a": [[], {}]}, {"a": "\ud800"}, {"a": [1, [2]]}])
@pytest.mark.parametrize("kind", [*PLANTED_ARGUMENTS, *HARMLESS_ARGUMENTS])
def test_odd_arguments_are_changed_or_left(arguments: dict[str, Any], kind: str) -> None:
    change = (PLANTED_ARGUMENTS | HARMLESS_ARGUMENTS)[kind](recorded(arguments), Draw("1"))

    assert change is None or change.arguments is not arguments


@pytest.mark.parametrize(
    ("value", "prose"),
    [
        ("The order is ready and you can collect it.", True),
        ("git commit -m 'The order is ready'", False),
        ("SELECT name FROM orders WHERE it is ready", False),
        ("A-1042", False),
        (7, False),
    ],
)
def test_prose_is_several_words_of_a_language(value: Any, prose: bool) -> None:
    assert is_prose(value) is prose


@given(seed=st.integers(0, 999))
def test_a_read_of_another_thing_exchanges_no_number_and_another_limit_is_larger(seed: int) -> None:
    exchanged = PLANTED_READS["read_exchanged"](recorded(), Draw(str(seed)))
    limited = HARMLESS_READS["read_limited"](recorded(), Draw(str(seed)))

    assert exchanged
    assert exchanged.path[0] in ("order", "customer", "at", "lines")
    assert limited
    assert (limited.path, limited.was, limited.now) == (("limit",), None, 100)
    assert HARMLESS_READS["read_limited"](recorded({"limit": 7}), Draw("1")).arguments == {"limit": 14}
    assert HARMLESS_READS["read_limited"](recorded({"limit": "all"}, {}), Draw("1")) is None
