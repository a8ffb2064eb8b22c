from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from app.chat import Tokens
from app.errors import Invalid
from app.replay.case_types import TestCase
from app.replay.documents import dump, load
from app.replay.engine import replay
from app.replay.result_types import (
    Difference,
    Drift,
    ProducedAnswer,
    ProducedCall,
    ReplayResult,
    StepVerdict,
    TurnResult,
    Violation,
)
from app.replay.results import conclude, counts, with_verdict
from app.replay.texts.facts import Facts, compare_facts
from app.replay.texts.sources import Sources
from tests.unit.replay.fakes import answer, call, calls, ports, says, scripted, turn


def verdict(result: Any) -> StepVerdict:
    return StepVerdict("answer", result, "x", "y")


@pytest.mark.parametrize("order", ["any", "in_order"])
def test_two_steps_are_compared_once(order: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[str, str]] = []

    def noted(expected: str, actual: str, sources: Sources) -> Facts:
        compared.append((expected, actual))
        return compare_facts(expected, actual, sources)

    monkeypatch.setattr("app.replay.answers.compare_facts", noted)
    case = TestCase(
        turns=(turn("When?", answer("It opens at 9.", answer="meaning"), answer("On May 3.", answer="meaning")),),
        order=order,
    )
    result = replay(case, ports(scripted(says("It opens at 10."))))
    assert result.status == "failed"
    assert len(compared) == len(set(compared)) == 2


def reviewed(*steps: Any) -> ReplayResult:
    turns = tuple(TurnResult("?", tuple(map(verdict, each))) for each in steps)
    case = TestCase(turns=tuple(turn("?") for _ in turns))
    return conclude(case, dict(enumerate(turns)), {})


@pytest.mark.parametrize(
    ("steps", "status"),
    [
        (["passed", "ignored"], "passed"),
        (["passed", "needs_review"], "needs_review"),
        (["needs_review", "failed"], "failed"),
        (["passed", "not_run"], "passed"),
    ],
)
def test_the_status_is_that_of_the_worst_step(steps: list[str], status: str) -> None:
    assert reviewed(steps).status == status


def test_a_turn_that_never_came_back_fails_the_replay() -> None:
    case = TestCase(turns=(turn("a", answer("x")), turn("b", answer("y"))))

    result = conclude(case, {0: TurnResult("a", (verdict("passed"),))}, {})

    assert result.status == "failed"
    assert result.turns[1].steps[0].result == "not_run"
    assert result.turns[1].steps[0].reason == "the replay stopped before this turn"


def test_drift_and_tokens_are_those_of_all_turns() -> None:
    case = TestCase(turns=(turn("a"), turn("b")))
    first = TurnResult("a", (), drift=Drift({"tone": "x"}, ("f", "g")), tokens=Tokens(1, 2))
    second = TurnResult("b", (), drift=Drift({"size": "y"}, ("g",)), tokens=Tokens(3, 4))

    result = conclude(case, {0: first, 1: second}, {})

    assert result.drift == Drift({"tone": "x", "size": "y"}, ("f", "g"))
    assert result.tokens == Tokens(4, 6)


def test_counts_name_every_result() -> None:
    result = reviewed(["passed", "failed"], ["passed"])

    assert counts(result.turns) == {"passed": 2, "failed": 1, "ignored": 0, "not_run": 0, "needs_review": 0}


def test_a_person_s_verdicts_settle_the_replay() -> None:
    waiting = reviewed(["passed", "needs_review"], ["needs_review"])

    half = with_verdict(waiting, 1, "passed")

    assert half.status == "needs_review"
    assert with_verdict(half, 2, "passed").status == "passed"
    assert with_verdict(half, 2, "failed").status == "failed"


def test_a_person_s_verdict_does_not_mend_a_replay_that_was_cancelled() -> None:
    waiting = replace(reviewed(["needs_review"]), status="cancelled")

    assert with_verdict(waiting, 0, "passed").status == "cancelled"


VIOLATION = Violation("extra_write", "pay", 0, {}, "Turn 1: pay was called")
VENDOR_FAILED: dict[str, Any] = {"stop_reason": "provider_error", "error": "overloaded"}


def ended(*steps: Any, void: str | None = None, **values: Any) -> ReplayResult:
    """A replay of one turn with these steps."""
    return conclude(
        TestCase(turns=(turn("?"),)), {0: TurnResult("?", tuple(map(verdict, steps)), **values)}, {}, void=void
    )


@pytest.mark.parametrize(
    ("result", "status"),
    [
        (ended("passed", "failed", **VENDOR_FAILED), "failed"),
        (ended("not_run", **VENDOR_FAILED, violations=(VIOLATION,)), "failed"),
        (ended("failed", void="An image is missing."), "failed"),
        (ended("passed", violations=(VIOLATION,), void="An image is missing."), "failed"),
        (ended("passed", stop_reason="step_limit", void="An image is missing."), "failed"),
        (ended("passed", void="An image is missing.", **VENDOR_FAILED), "void"),
        (ended("needs_review", void="An image is missing."), "void"),
        (ended("passed", void="An image is missing."), "void"),
        (ended("passed", "not_run", **VENDOR_FAILED), "error"),
        (ended("needs_review", **VENDOR_FAILED), "error"),
        (ended("needs_review", "passed"), "needs_review"),
        (ended("failed", stop_reason="cancelled"), "cancelled"),
    ],
)
def test_a_failure_outweighs_void_and_void_a_vendor_s_failure_and_that_a_review(
    result: ReplayResult, status: str
) -> None:
    assert result.status == status


def test_a_vendor_s_failure_in_a_later_turn_does_not_hide_the_failed_step_of_an_earlier_one() -> None:
    case = TestCase(turns=(turn("a"), turn("b"), turn("c")))
    played = {0: TurnResult("a", (verdict("failed"),)), 1: TurnResult("b", (verdict("not_run"),), **VENDOR_FAILED)}

    result = conclude(case, played, {})

    assert (result.status, result.stop_reason, result.error) == ("failed", "provider_error", "overloaded")


def test_a_person_s_verdict_leaves_a_replay_void_or_ended_by_the_vendor_unless_the_step_fails() -> None:
    for waiting, status in (
        (ended("needs_review", void="An image is missing."), "void"),
        (ended("needs_review", **VENDOR_FAILED), "error"),
    ):
        assert with_verdict(waiting, 0, "passed").status == status
        assert with_verdict(waiting, 0, "failed").status == "failed"


def test_a_person_may_overrule_a_judge_and_both_verdicts_are_kept() -> None:
    step = replace(verdict("failed"), decided_by="judge")
    case = TestCase(turns=(turn("?"),))
    judged = conclude(case, {0: TurnResult("?", (step,))}, {})

    once = with_verdict(judged, 0, "passed")
    twice = with_verdict(once, 0, "failed")

    assert (judged.status, once.status, twice.status) == ("failed", "passed", "failed")
    assert once.turns[0].steps[0] == replace(step, result="passed", decided_by="person", judged="failed")
    assert twice.turns[0].steps[0] == replace(step, decided_by="person", judged="failed")


def test_a_violation_fails_whatever_needs_review() -> None:
    violation = Violation("extra_write", "pay", 0, {}, "Turn 1: pay was called")
    turns = {0: TurnResult("?", (verdict("needs_review"),), violations=(violation,))}

    result = conclude(TestCase(turns=(turn("?"),)), turns, {})

    assert (result.status, result.violations) == ("failed", (violation,))
    assert with_verdict(result, 0, "passed").status == "failed"


@pytest.mark.parametrize(("n", "given"), [(0, "passed"), (2, "passed"), (-1, "passed"), (1, "ignored")])
def test_only_a_step_that_needs_review_accepts_a_verdict(n: int, given: Any) -> None:
    with pytest.raises(Invalid):
        with_verdict(reviewed(["passed", "needs_review"]), n, given)


def test_a_result_comes_back_from_json_as_it_was() -> None:
    case = TestCase(
        turns=(
            turn("Hi", call("f", {"a": 1, "b": None}), answer("x", answer="manual"), placeholders={"tone": "x"}),
            turn("Bye", answer("y"), offered_tools=("gone",)),
        )
    )
    script = calls(("f", {"a": 2}), ("f", {"a": 3})), says("é\x00"), says("z")

    result = replay(case, ports(scripted(*script)))

    assert load(json.loads(json.dumps(dump(result))), ReplayResult) == result


def test_the_written_form_is_the_contract_s() -> None:
    steps = (StepVerdict("answer", "failed", "x", "y", "the answer differs", (Difference("/a", 1),)),)
    extra = ProducedCall("f", {"a": 1}, "ok", "write", "recording"), ProducedAnswer("z")
    written = dump(ReplayResult("failed", (TurnResult("?", steps, extra, "step_limit"),)))

    assert written["turns"][0]["steps"] == [
        {
            "kind": "answer",
            "result": "failed",
            "expected": "x",
            "actual": "y",
            "reason": "the answer differs",
            "diff": [{"path": "/a", "expected": 1}],
        }
    ]
    assert written["turns"][0]["extra"] == [
        {
            "kind": "tool_call",
            "name": "f",
            "arguments": {"a": 1},
            "result": "ok",
            "effect": "write",
            "answeredBy": "recording",
        },
        {"kind": "answer", "text": "z"},
    ]
    assert written["tokens"] == {"prompt": 0, "completion": 0, "total": 0}
