"""The rows of faults in the form of a test case."""

from __future__ import annotations

import pytest

from app.errors import Invalid
from app.web.forms import Form
from app.web.presenters.case_faults import FaultFields, faults_body, faults_sent, single_faults_sent, variants_body


def test_rows_of_one_name_are_one_variant_and_calls_count_from_1() -> None:
    rows = [
        FaultFields("both", "refund", "1"),
        FaultFields("one", "mail", "2", "error", "full"),
        FaultFields("both", "mail"),
    ]

    assert variants_body(rows) == [
        {
            "name": "both",
            "faults": [
                {"tool": "refund", "call": 0, "kind": "timeout"},
                {"tool": "mail", "call": 0, "kind": "timeout"},
            ],
        },
        {"name": "one", "faults": [{"tool": "mail", "call": 1, "kind": "error", "message": "full"}]},
    ]


def test_rows_without_a_name_are_left_out_and_a_form_without_rows_changes_nothing() -> None:
    shown = (FaultFields("a", "refund"),)
    names = ("variant", "tool", "call", "kind", "message")
    sent = Form(
        {f"fault.{name}": [value, ""] for name, value in zip(names, ("b", "mail", "1", "empty", ""), strict=True)}
    )

    assert faults_sent(sent, shown) == (FaultFields("b", "mail", "1", "empty"),)
    assert faults_sent(Form({}), shown) == shown


@pytest.mark.parametrize("call", ["", "0", "-1", "x", "²", "1234567"])
def test_a_call_that_is_no_number_is_refused(call: str) -> None:
    with pytest.raises(Invalid, match="a: the number of the call must be at least 1"):
        variants_body([FaultFields("a", "refund", call)])


def test_rows_of_one_replay_need_a_tool_and_no_name() -> None:
    sent = Form(
        {
            "fault.tool": ["refund ", ""],
            "fault.call": ["2", "1"],
            "fault.kind": ["empty"] * 2,
            "fault.message": [""] * 2,
        }
    )

    assert single_faults_sent(Form({})) == ()
    assert faults_body(single_faults_sent(sent)) == [{"tool": "refund", "call": 1, "kind": "empty"}]


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([], "Name the tool of at least one call"),
        ([FaultFields("", "refund", "0")], "refund: the number of the call must be at least 1"),
    ],
)
def test_faults_of_one_replay_are_refused_in_words(rows: list[FaultFields], problem: str) -> None:
    with pytest.raises(Invalid, match=problem):
        faults_body(rows)
