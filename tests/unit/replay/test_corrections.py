"""Corrections of recordings: what they change, what they switch off, and what they refuse."""

from __future__ import annotations

import re
from typing import Any

import pytest

from app.errors import Invalid
from app.replay.case_limits import STEPS_MAX
from app.replay.case_types import RemovedCall, TestCase, ToolRules
from app.replay.cases import load_case
from app.replay.changes import change_case
from app.replay.corrections import CORRECTIONS_MAX
from app.replay.documents import dump
from app.replay.engine import replay
from tests.unit.replay.fakes import answer, call, calls, ports, says, scripted, turn

ORDER = call("get_order", {"id": "A-1"}, {"total": 20})
REFUND = call("refund", {"id": "A-1"})
TWICE = turn("Refund A-1.", ORDER, REFUND, REFUND, answer("Refunded twice.", answer="meaning"))
CASE = TestCase(turns=(TWICE, turn("Why twice?", answer("I am sorry.", answer="meaning"))))
REMOVED = {"turn": 0, "step": 2, "remove": True}
WRITTEN = {"turn": 0, "step": 3, "text": "Order A-1 is refunded."}


def corrected(*corrections: dict[str, Any], case: TestCase = CASE, **changes: Any) -> TestCase:
    return change_case(case, {"corrections": list(corrections), **changes})


def enabled(case: TestCase) -> list[list[bool]]:
    return [[step.check.enabled for step in turn.steps] for turn in case.turns]


def test_a_removed_call_leaves_its_turn_and_is_remembered() -> None:
    case = corrected(REMOVED)

    assert [step.kind for step in case.turns[0].steps] == ["tool_call", "tool_call", "answer"]
    assert case.turns[0].removed == (RemovedCall(name="refund", arguments={"id": "A-1"}),)
    assert case.basis == "corrected"


def test_steps_after_a_mistake_are_off_until_a_person_writes_them_or_looks_at_them() -> None:
    assert enabled(corrected(REMOVED)) == [[True, True, False], [False]]
    assert enabled(corrected(REMOVED, WRITTEN)) == [[True, True, True], [False]]
    looked_at = [{"turn": 1, "step": 0, "check": {"enabled": True}}]
    assert enabled(corrected(REMOVED, steps=looked_at)) == [[True, True, False], [True]]


def test_a_later_correction_keeps_what_a_person_wrote_before() -> None:
    case = corrected({"turn": 0, "step": 0, "arguments": {"id": "A-2"}}, case=corrected(WRITTEN))

    assert enabled(case) == [[True, False, False, True], [False]]


def test_turns_after_the_last_corrected_one_are_not_played_unless_the_caller_wants_it() -> None:
    assert corrected(REMOVED).included_turns == 1
    assert corrected(REMOVED, includedTurns=2).included_turns == 2
    assert corrected({"turn": 1, "step": 0, "text": "It was an error."}).included_turns is None


def test_arguments_and_results_are_corrected_and_an_error_ends_with_a_new_result() -> None:
    failed = TestCase(turns=(turn("Refund A-1.", call("refund", {"id": "1"}, None, error="unknown id")),))

    case = corrected({"turn": 0, "step": 0, "arguments": {"id": "A-1"}, "result": "ok"}, case=failed)

    (step,) = case.turns[0].steps
    assert step.kind == "tool_call"
    assert (step.arguments, step.result, step.error, step.corrected) == ({"id": "A-1"}, "ok", None, True)


def test_calls_and_answers_are_added_in_the_order_of_the_request() -> None:
    def added(**step: Any) -> dict[str, Any]:
        return {"turn": 0, "after": -1, "add": step}

    case = corrected(
        added(name="get_policy", arguments={"topic": "refunds"}, result={"days": 30}),
        added(name="get_customer", arguments={}),
        {"turn": 0, "after": 3, "add": {"text": "Anything else?"}},
    )

    names = [step.name if step.kind == "tool_call" else step.text for step in case.turns[0].steps]
    assert names == ["get_policy", "get_customer", "get_order", "refund", "refund", "Refunded twice.", "Anything else?"]
    assert enabled(case)[0] == [True, True, False, False, False, False, True]


def test_a_corrected_answer_is_compared_by_its_meaning_where_a_pattern_compared_the_recorded_one() -> None:
    case = TestCase(turns=(turn("Hi", answer("Hello", answer="contains", value="Hello")),))

    (step,) = corrected({"turn": 0, "step": 0, "text": "Good day."}, case=case).turns[0].steps

    assert (step.check.answer, step.check.value) == ("meaning", None)


@pytest.mark.parametrize(
    ("correction", "message"),
    [
        ({"turn": 2, "step": 0, "remove": True}, "corrections.0.turn: there are 2, counted from 0"),
        ({"turn": 0, "step": 4, "remove": True}, "corrections.0.step: there are 4, counted from 0"),
        ({"turn": 0, "remove": True}, "corrections.0.step: is required"),
        ({"turn": 0, "step": 0}, "corrections.0: must have either remove, arguments, text or add"),
        ({"turn": 0, "step": 0, "remove": True, "arguments": {}}, "corrections.0: must have either"),
        ({"turn": 0, "step": 0, "text": "Hi"}, "corrections.0.text: the step is a call"),
        ({"turn": 0, "step": 3, "arguments": {}}, "corrections.0.arguments: the step is an answer"),
        ({"turn": 0, "step": 3, "text": " "}, "corrections.0.text: must not be empty"),
        ({"turn": 0, "after": 4, "add": {"text": "x"}}, "corrections.0.after: must be a step, -1 to 3"),
        ({"turn": 0, "add": {"text": "x"}}, "corrections.0.after: must be a step, -1 to 3"),
        ({"turn": 0, "after": 0, "step": 0, "add": {"text": "x"}}, "corrections.0.step: is not for a step"),
        ({"turn": 0, "after": 0, "add": {}}, "corrections.0.add: must have either a name"),
        ({"turn": 0, "after": 0, "add": {"name": "f", "text": "x"}}, "corrections.0.add: must have either a name"),
        ({"turn": 0, "after": 0, "add": {"text": "x", "result": 1}}, "corrections.0.add: an answer has only a text"),
        ({"turn": 0, "step": 0, "drop": True}, "corrections.0.drop: unknown field"),
        ({"step": 0, "remove": True}, "corrections.0.turn: is required"),
    ],
)
def test_a_correction_that_fits_no_step_is_refused_by_its_path(correction: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid) as refused:
        corrected(correction)
    assert str(refused.value).startswith(message)


def test_a_step_is_corrected_once_in_a_request() -> None:
    with pytest.raises(Invalid, match=r"corrections\.1\.step: is corrected twice"):
        corrected(REMOVED, REMOVED)


def test_a_test_case_that_would_check_nothing_is_refused() -> None:
    case = TestCase(turns=(turn("Refund A-1.", REFUND, answer("Done.")),))

    with pytest.raises(Invalid, match="at least one step"):
        corrected({"turn": 0, "step": 0, "remove": True}, case=case)


def test_corrections_are_limited() -> None:
    with pytest.raises(Invalid, match=rf"corrections: at most {CORRECTIONS_MAX}"):
        corrected(*[REMOVED] * (CORRECTIONS_MAX + 1))
    full = TestCase(turns=(turn("Go on.", *[ORDER] * STEPS_MAX),))
    with pytest.raises(Invalid, match=rf"turns: at most {STEPS_MAX} steps"):
        corrected({"turn": 0, "after": 0, "add": {"name": "f"}}, case=full)


def test_a_corrected_case_is_stored_and_read_and_others_are_written_as_before() -> None:
    case = corrected(REMOVED, WRITTEN)

    assert load_case(dump(case)) == case
    assert not {"basis"} & dump(CASE).keys()
    assert not {"removed"} & dump(CASE)["turns"][0].keys()


@pytest.mark.parametrize("rules", [ToolRules(), ToolRules(extra="allow")])
def test_a_removed_write_is_a_violation_and_the_mended_draft_passes(rules: ToolRules) -> None:
    recorded = TestCase(turns=CASE.turns, tools={"refund": rules})
    case = corrected(REMOVED, WRITTEN, case=recorded)
    look_up, refund = ("get_order", {"id": "A-1"}), ("refund", {"id": "A-1"})
    done = says("Order A-1 is refunded.")

    wrong = replay(case, ports(scripted(calls(look_up), calls(refund), calls(refund), done)))
    mended = replay(case, ports(scripted(calls(look_up), calls(refund), done)))

    assert (wrong.status, [each.kind for each in wrong.violations]) == ("failed", ["extra_write"])
    assert "a person removed the call" in wrong.violations[0].message
    assert mended.status == "passed"


def test_a_removed_read_may_come() -> None:
    case = corrected({"turn": 0, "step": 0, "remove": True}, WRITTEN, steps=[])
    look_up, refund = ("get_order", {"id": "A-1"}), ("refund", {"id": "A-1"})

    result = replay(case, ports(scripted(calls(look_up), calls(refund), says("Order A-1 is refunded."))))

    assert (result.status, result.violations) == ("passed", ())


def test_another_message_of_the_user_leaves_the_checks_and_the_turns_to_play() -> None:
    case = corrected({"turn": 0, "user": "Refund A-1, please."}, case=change_case(CASE, {"includedTurns": 1}))

    assert case.turns[0].user == "Refund A-1, please."
    assert enabled(case) == enabled(CASE)
    assert (case.included_turns, case.basis) == (1, "corrected")


def test_a_message_and_a_step_of_one_turn_are_corrected_together() -> None:
    case = corrected({"turn": 0, "user": "Refund A-1 once."}, REMOVED)

    assert case.turns[0].user == "Refund A-1 once."
    assert enabled(case) == [[True, True, False], [False]]


@pytest.mark.parametrize(
    ("corrections", "message"),
    [
        ([{"turn": 0, "user": " "}], "corrections.0.user: must not be empty"),
        ([{"turn": 0, "user": "a"}, {"turn": 0, "user": "b"}], "corrections.1.user: is corrected twice"),
        ([{"turn": 0, "step": 0, "user": "a"}], "corrections.0: must have only the user's message"),
        ([{"turn": 2, "user": "a"}], "corrections.0.turn: there are 2"),
        ([{"turn": 0, "user": 1}], "corrections.0.user: must be a string"),
    ],
)
def test_a_wrong_message_is_refused_by_its_path(corrections: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(Invalid, match=f"^{re.escape(message)}"):
        corrected(*corrections)
