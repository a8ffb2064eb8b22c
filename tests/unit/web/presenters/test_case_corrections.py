"""The editor of a recording gives the corrections that its fields show, and none where nothing was changed."""

from __future__ import annotations

from typing import Any

import pytest

from app.errors import Invalid
from app.replay.case_types import TestCase
from app.replay.changes import change_case
from app.web.filters import pretty
from app.web.forms import Form
from app.web.presenters.case_corrections import DEMANDS_MAX, corrections_sent, demands
from tests.unit.replay.fakes import answer, call, turn

CASE = TestCase(turns=(turn("Refund A-1.", call("refund", {"id": "A-1"}, {"ok": True}), answer("Line 1\r\nLine 2")),))


def sent(**fields: str) -> list[dict[str, Any]]:
    return corrections_sent(Form({name.replace("__", "."): [text] for name, text in fields.items()}), CASE)


def test_fields_that_show_the_recording_are_no_correction() -> None:
    (refund, _) = CASE.turns[0].steps
    assert refund.kind == "tool_call"
    same = {
        "fix__0__0__arguments": pretty(refund.arguments),
        "fix__0__0__result": pretty(refund.result),
        "fix__0__1__text": "Line 1\nLine 2",
        "user__0": "Refund A-1.",
        "add__0__first__name": "",
        "add__0__1__text": " ",
    }

    assert sent(**same) == []


def test_each_field_of_the_editor_is_a_correction_that_a_test_case_accepts() -> None:
    corrections = sent(
        user__0="Refund A-2.",
        fix__0__1__text="Order A-1 is refunded.",
        fix__0__0__arguments='{"id": "A-2"}',
        fix__0__0__result="plain text",
        add__0__first__name="get_order",
        add__0__first__arguments='{"id": "A-2"}',
        add__0__first__result='{"total": 20}',
        add__0__1__text="Anything else?",
    )

    assert corrections == [
        {"turn": 0, "user": "Refund A-2."},
        {"turn": 0, "after": -1, "add": {"name": "get_order", "arguments": {"id": "A-2"}, "result": {"total": 20}}},
        {"turn": 0, "step": 0, "arguments": {"id": "A-2"}, "result": "plain text"},
        {"turn": 0, "step": 1, "text": "Order A-1 is refunded."},
        {"turn": 0, "after": 1, "add": {"text": "Anything else?"}},
    ]
    assert len(change_case(CASE, {"corrections": corrections}).turns[0].steps) == 4


def test_a_removed_call_needs_no_other_correction() -> None:
    assert sent(fix__0__0__remove="on", fix__0__0__arguments="{}") == [{"turn": 0, "step": 0, "remove": True}]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"fix__0__0__arguments": "{id}"}, "Turn 1, step 1: The arguments must be JSON."),
        ({"add__0__0__name": "f", "add__0__0__arguments": "{"}, "Turn 1, after step 1: The arguments must be JSON."),
        ({"add__0__0__result": "5"}, "Turn 1, after step 1: Name the tool of the added call."),
        ({"fix__4__0__remove": "on"}, "Turn 5, step 1: There is no such step."),
    ],
)
def test_a_field_that_can_be_no_correction_is_named(fields: dict[str, str], message: str) -> None:
    with pytest.raises(Invalid) as refused:
        sent(**fields)
    assert str(refused.value) == message


def test_what_a_recording_demands_is_listed_step_by_step_and_cut() -> None:
    off = call("refund", {"id": "A-2"}, enabled=False)
    long = TestCase(turns=(turn("Go.", *[call("f", {"text": "x" * 500})] * (DEMANDS_MAX + 2), off, answer("Done.")),))

    assert demands(CASE)[0] == 'Turn 1: calls refund {"id": "A-1"}'
    listed = demands(long)
    assert (len(listed), listed[-1]) == (DEMANDS_MAX + 1, "3 more steps")
    assert max(map(len, listed)) < 300
