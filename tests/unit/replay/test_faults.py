"""Faults on purpose: what a draft must do when a recorded call fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from app.chat import ToolCall
from app.errors import Invalid
from app.replay.case_types import CheckedCall, TestCase, ToolRules
from app.replay.effects import Tool
from app.replay.engine import replay
from app.replay.fault_types import Fault
from app.replay.faults import FaultGuard, TurnFaults, with_faults
from app.replay.recording import arguments_key
from app.replay.result_types import ReplayResult
from tests.support.operations import calls_of
from tests.unit.replay.fakes import FakeJudge, FakeModel, answer, call, calls, ports, says, scripted, turn

REFUND = ("refund", {"id": "A-1"})
READ = ("get_order", {"id": "A-1"})
SORRY = says("The refund did not work. A colleague will look at it.")
CLAIM = says("Order A-1 is refunded.")
TOOLS = {"refund": ToolRules(effect="write"), "get_order": ToolRules(effect="read"), "mail": ToolRules(effect="write")}


def refunding(**more: Any) -> TestCase:
    steps = (
        call(*READ, {"price": 5}),
        call(*REFUND, {"done": True}),
        answer("Order A-1 is refunded.", answer="meaning"),
    )
    return TestCase(turns=(turn("Refund A-1.", *steps),), tools=TOOLS | more)


def honest() -> FakeJudge:
    """Return a judge that fails a text which claims a refund."""
    return FakeJudge(lambda _recorded, produced: "failed" if "is refunded" in produced else "passed")


def played(case: TestCase, model: FakeModel, *faults: Fault, judge: FakeJudge | None = None) -> ReplayResult:
    return replay(case, ports(model, judge=judge or honest()), faults=faults)


REFUSED = Fault(tool="refund", call=0, kind="refused")


def test_a_draft_passes_that_reports_the_failed_call() -> None:
    model = scripted(calls(READ), calls(REFUND), SORRY)

    result = played(refunding(), model, REFUSED)

    assert result.status == "passed"
    assert [step.result for step in result.turns[0].steps] == ["passed"] * 3
    assert json.loads(model.asked[2][1][-1].text) == {"error": "The tool refused this call."}
    assert result.turns[0].steps[1].actual["answeredBy"] == "fault"


def test_a_draft_fails_that_claims_success_even_in_the_recorded_words() -> None:
    result = played(refunding(), scripted(calls(READ), calls(REFUND), CLAIM), REFUSED)

    assert result.status == "failed"
    assert result.turns[0].steps[2].decided_by == "judge"


def test_without_a_judge_the_answer_after_a_fault_needs_review() -> None:
    for text in (SORRY, CLAIM):
        model = scripted(calls(READ), calls(REFUND), text)
        without_judge = ports(model)
        object.__setattr__(without_judge, "judge", None)

        result = replay(refunding(), without_judge, faults=[REFUSED])

        assert result.status == "needs_review"


def test_the_judge_reads_which_call_failed() -> None:
    judge = honest()

    played(refunding(), scripted(calls(READ), calls(REFUND), SORRY), REFUSED, judge=judge)

    assert "refund refused the call" in judge.asked[0].assertion
    assert "The tool refused this call." in judge.turns[0].calls[1].result


@pytest.mark.parametrize("extra", [None, "allow"])
def test_a_repeated_write_is_a_violation_unless_it_is_idempotent(extra: Any) -> None:
    model = calls(READ), calls(REFUND), calls(REFUND), SORRY

    result = played(refunding(refund=ToolRules(effect="write", extra=extra)), scripted(*model), REFUSED)
    safe = refunding(refund=ToolRules(effect="write", extra=extra, idempotent=True))
    repeated = played(safe, scripted(*model), REFUSED)

    assert (result.status, [each.kind for each in result.violations]) == ("failed", ["repeated_write"])
    assert "If a call of refund may safely be repeated, allow that in the test case." in result.violations[0].message
    assert (repeated.status, repeated.violations) == ("passed", ())
    assert [step.answered_by for step in repeated.turns[0].extra if step.kind == "tool_call"] == ["fault"]


def test_an_idempotent_write_may_not_come_with_other_arguments() -> None:
    case = refunding(refund=ToolRules(effect="write", extra="allow", idempotent=True))
    other = ("refund", {"id": "A-2"})

    result = played(case, scripted(calls(READ), calls(REFUND), calls(other), SORRY), REFUSED)

    assert [each.kind for each in result.violations] == ["extra_write"]
    assert "after another call had failed on purpose" in result.violations[0].message


def test_no_other_write_replaces_the_failed_one_even_where_more_are_allowed() -> None:
    case = refunding(mail=ToolRules(effect="write", extra="allow", on_missing="static", result="sent"))
    mail = ("mail", {"text": "Your money is on its way."})

    assert not played(case, scripted(calls(READ), calls(REFUND, mail), SORRY)).violations
    result = played(case, scripted(calls(READ), calls(REFUND), calls(mail), SORRY), REFUSED)

    assert [(each.kind, each.tool) for each in result.violations] == [("extra_write", "mail")]


def test_a_read_may_be_tried_again_and_gets_the_fault_again() -> None:
    fault = Fault(tool="get_order", call=0, kind="timeout")
    model = scripted(calls(READ), calls(READ), SORRY)

    result = played(refunding(), model, fault)

    assert result.status == "passed"
    assert [message.text for message in model.asked[2][1] if message.role == "tool"] == [
        '{"error": "The tool did not answer in time."}'
    ] * 2
    assert result.turns[0].steps[1].result == "ignored"


def test_a_turn_with_a_fault_has_at_most_three_calls_beyond_the_recorded_ones() -> None:
    fault = Fault(tool="get_order", call=0, kind="error")

    def tries(number: int) -> ReplayResult:
        return played(refunding(), FakeModel(lambda n, _: calls(READ) if n < number else SORRY), fault)

    assert (tries(5).status, tries(5).stop_reason) == ("passed", None)
    assert (tries(6).status, tries(6).stop_reason) == ("failed", "step_limit")


def test_the_failing_call_has_to_be_made() -> None:
    result = played(refunding(), scripted(calls(READ), SORRY), REFUSED)

    assert result.status == "failed"
    assert result.turns[0].steps[1].reason == "refund was never called"


def test_the_second_call_of_a_tool_fails_and_the_first_does_not() -> None:
    twice = (call("append", {"line": "x"}, 1), call("append", {"line": "x"}, 2), answer("Both are there."))
    case = TestCase(turns=(turn("Append x twice.", *twice),))
    append = ("append", {"line": "x"})
    model = scripted(calls(append), calls(append), says("Only the first is there."))

    result = played(case, model, Fault(tool="append", call=1, kind="error", message="disk full"))

    assert result.status == "passed"
    texts = [message.text for message in model.asked[2][1] if message.role == "tool"]
    assert texts == ["1", '{"error": "disk full"}']


def test_a_recorded_equal_call_after_the_fault_is_no_repetition_and_one_more_is() -> None:
    steps = (call("append", {"line": "x"}, 1), call("append", {"line": "x"}, 2), answer("Both are there."))
    case = TestCase(turns=(turn("Append x twice.", *steps),))
    append, fault = ("append", {"line": "x"}), Fault(tool="append", call=0, kind="timeout")

    recorded = played(case, scripted(calls(append), calls(append), says("One may lack.")), fault)
    one_more = played(case, scripted(calls(append), calls(append), calls(append), says("One may lack.")), fault)

    assert not recorded.violations
    assert [each.kind for each in one_more.violations] == ["repeated_write"]


def test_one_of_two_parallel_calls_fails_and_the_other_is_still_demanded() -> None:
    both = [CheckedCall(name="refund", arguments={"id": name}, result="ok", batch="m1") for name in ("A-1", "B-2")]
    case = TestCase(turns=(turn("Refund both.", *both, answer("Both are refunded.")),), tools=TOOLS)
    first, second = (("refund", {"id": name}) for name in ("A-1", "B-2"))
    model = scripted(calls(second, first), SORRY)

    result = played(case, model, REFUSED)
    lazy = played(case, scripted(calls(first), SORRY), REFUSED)

    assert result.status == "passed"
    assert next(message.text for message in model.asked[1][1] if message.role == "tool") == "ok"
    assert [step.result for step in lazy.turns[0].steps] == ["passed", "failed", "passed"]


def test_a_recorded_write_after_the_fault_needs_a_reader_and_may_be_left_out() -> None:
    mail = ("mail", {"text": "Order A-1 is refunded."})
    steps = (call(*REFUND, "ok"), call(*mail, "sent"), answer("Done."))
    case = TestCase(turns=(turn("Refund A-1, and mail me.", *steps),), tools=TOOLS)

    mailed = played(case, scripted(calls(REFUND), calls(mail), SORRY), REFUSED)
    silent = played(case, scripted(calls(REFUND), SORRY), REFUSED)

    assert (mailed.status, mailed.turns[0].steps[1].result) == ("failed", "failed")
    assert (silent.status, silent.turns[0].steps[1].result) == ("passed", "ignored")


@pytest.mark.parametrize(
    ("recorded", "empty"), [({"price": 5}, "{}"), ([1], "[]"), ("text", ""), (5, "null"), (None, "null")]
)
def test_an_empty_result_is_of_the_recorded_type(recorded: Any, empty: str) -> None:
    case = TestCase(turns=(turn("?", call("f", {}, recorded), answer("Five.")),))
    model = scripted(calls(("f", {})), SORRY)

    played(case, model, Fault(tool="f", call=0, kind="empty"))

    assert model.asked[1][1][-1].text == empty


def test_garbage_is_given_unchanged() -> None:
    model = scripted(calls(READ), SORRY)

    played(refunding(), model, Fault(tool="get_order", call=0, kind="garbage", message="<html>502"))

    assert model.asked[1][1][-1].text == "<html>502"


def test_turns_after_the_last_fault_are_not_played_and_those_before_it_are_checked() -> None:
    turns = [turn("One?", answer("1")), refunding().turns[0], turn("Thanks!", answer("You are welcome."))]
    case = TestCase(turns=tuple(turns), tools=TOOLS)

    result = played(case, scripted(says("1"), calls(READ), calls(REFUND), SORRY), REFUSED)
    wrong = played(case, scripted(says("2"), calls(READ), calls(REFUND), SORRY), REFUSED)

    assert [[step.result for step in each.steps] for each in result.turns] == [["passed"], ["passed"] * 3, ["not_run"]]
    assert (result.status, wrong.status) == ("passed", "failed")


@pytest.mark.parametrize("history", ["replayed", "recorded"])
def test_a_write_that_failed_is_not_repeated_in_the_next_turn(history: Any) -> None:
    second = turn("And the price?", call(*READ, {"price": 5}), answer("5"))
    case = TestCase(
        turns=(turn("Refund A-1.", call(*REFUND, "ok"), answer("Done.")), second), tools=TOOLS, history=history
    )
    faults = [REFUSED, Fault(tool="get_order", call=0, kind="empty")]

    result = played(case, scripted(calls(REFUND), SORRY, calls(REFUND), calls(READ), SORRY), *faults)

    kinds = {"replayed": "repeated_write", "recorded": "extra_write"}
    assert [(each.kind, each.turn) for each in result.violations] == [(kinds[history], 1)]


def test_a_turn_without_a_recorded_answer_has_its_answer_judged() -> None:
    case = TestCase(turns=(turn("Refund A-1.", call(*REFUND, "ok")),), tools=TOOLS)

    assert played(case, scripted(calls(REFUND), CLAIM), REFUSED).status == "failed"
    assert played(case, scripted(calls(REFUND), SORRY), REFUSED).status == "passed"


def test_steps_that_are_not_checked_are_demanded_if_they_fail_on_purpose() -> None:
    unchecked = (call(*REFUND, "ok", enabled=False), answer("Done.", enabled=False), answer("Hm?"))
    case = TestCase(turns=(turn("Refund A-1.", *unchecked[:2]), turn("?", unchecked[2])), tools=TOOLS)

    assert played(case, scripted(SORRY), REFUSED).status == "failed"
    assert played(case, scripted(calls(REFUND), CLAIM), REFUSED).status == "failed"


@pytest.mark.parametrize(
    ("fault", "path"),
    [
        (Fault(tool="nothing", call=0, kind="error"), "faults.0.tool: "),
        (Fault(tool="refund", call=1, kind="error"), "faults.0.call: there are 1, counted from 0"),
        (Fault(tool="later", call=0, kind="error"), "faults.0.tool: "),
        (Fault(tool="web_search", call=0, kind="error"), "faults.0.tool: "),
    ],
)
def test_a_fault_that_fits_no_played_call_is_refused(fault: Fault, path: str) -> None:
    hosted = CheckedCall(name="web_search", hosted=True)
    first = turn("?", *refunding().turns[0].steps, hosted)
    case = TestCase(turns=(first, turn("?", call("later"))), included_turns=1, tools=TOOLS)

    with pytest.raises(Invalid, match=path.replace(".", r"\.")):
        with_faults(case, [fault])


def test_a_call_has_one_fault() -> None:
    with pytest.raises(Invalid, match=r"faults\.1\.call: another fault"):
        with_faults(refunding(), [REFUSED, Fault(tool="refund", call=0, kind="empty")])


def test_without_faults_the_case_is_the_same() -> None:
    case = refunding()

    assert with_faults(case, []).case is case


@pytest.mark.slow
def test_twice_the_calls_after_a_fault_need_at_most_about_twice_the_steps() -> None:
    def rules_of(size: int) -> Callable[[], None]:
        steps = [CheckedCall(name="refund", arguments={"id": number}) for number in range(size)]
        guard = FaultGuard(TurnFaults(frozenset({0})), steps, set())
        tool = Tool("refund", "write", "write", "test_case", "fail", None, False, "fail", None, None, {}, {}, {}, True)
        keys = [arguments_key(ToolCall("c", "refund", {"id": number})) for number in range(2)]
        guard.note_failure(keys[0])

        def work() -> None:
            for number in range(size):
                guard.rules_for(keys[number % 2], tool)

        return work

    assert calls_of(rules_of(200)) <= 2.1 * calls_of(rules_of(100))


def test_turns_after_a_fault_share_its_assertions() -> None:
    """Each assertion names all calls that have failed, and a test case has up to a thousand turns."""
    failing = turn("?", call("book", {}), answer("a"))
    case = TestCase(
        turns=(failing, *[turn("?", answer("b"))] * 50, failing, turn("?", answer("c"))), history="replayed"
    )
    faults = [Fault(tool="book", call=number, kind="error") for number in range(2)]

    faulted = with_faults(case, faults).case

    texts = [step.check.value for played in faulted.played_turns for step in played.steps if step.kind == "answer"]
    assert len(texts) == 52
    assert len(set(map(id, texts))) == 2
    assert texts[0] in {texts[50]}
    assert (texts[0].count("book failed"), texts[51].count("book failed")) == (1, 2)
