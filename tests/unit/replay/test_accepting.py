"""A replay's steps are accepted as expected steps."""

from __future__ import annotations

import pytest

from app.errors import Invalid
from app.replay.accepting import StepOutcome, accept_step, accept_steps, acceptable_steps
from app.replay.case_types import AnswerCheck, CaseStep, CaseTurn, Check, CheckedAnswer, CheckedCall, TestCase

CALL = CheckedCall(name="look", arguments={"at": 1}, result="seen")


def case(*steps: CaseStep) -> TestCase:
    return TestCase(turns=(CaseTurn(user="first", steps=()), CaseTurn(user="second", steps=steps)))


def test_a_call_keeps_its_recorded_result_and_its_check() -> None:
    (step,) = accept_step(case(CALL), StepOutcome(1, 0, {"name": "look", "arguments": {"at": 2}})).turns[1].steps

    assert (step.arguments, step.result, step.check) == ({"at": 2}, "seen", CALL.check)


@pytest.mark.parametrize(
    ("check", "after"),
    [("strict", "strict"), ("ai", "ai"), ("json_subset", "json_subset"), ("contains", "strict"), ("regex", "strict")],
)
def test_an_answer_is_held_against_the_new_text(check: AnswerCheck, after: str) -> None:
    step = CheckedAnswer(text="old", check=Check(answer=check, value="1"))

    accepted = accept_step(case(CALL, step), StepOutcome(1, 1, "new")).turns[1].steps[1]

    assert (accepted.text, accepted.check.answer, accepted.check.value) == ("new", after, None)


@pytest.mark.parametrize(
    ("turn", "step", "actual"),
    [(1, 0, "a text"), (1, 0, {"name": "other", "arguments": {}}), (1, 7, "x"), (9, 0, "x"), (0, 0, "x")],
)
def test_a_case_that_has_changed_since_is_not_touched(turn: int, step: int, actual: object) -> None:
    with pytest.raises(Invalid, match="has changed since"):
        accept_step(case(CALL), StepOutcome(turn, step, actual))


class Counted:
    """Arguments of a call that count how often they are compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return self is other

    __hash__ = None  # type: ignore[assignment]


def comparisons(steps: int) -> int:
    """Return how often steps are compared while all outcomes of a replay are listed and accepted."""
    recorded = case(*(CheckedCall(name="look", arguments=Counted()) for _ in range(steps)))
    verdicts = [failed({"name": "look", "arguments": {"at": n}}) for n in range(steps)]
    Counted.compared = 0

    listed = list(acceptable_steps(recorded, {"turns": [{"steps": []}, {"steps": verdicts}]}))
    accepted, changed = accept_steps(recorded, [StepOutcome(turn, n, v["actual"]) for turn, n, v in listed])

    assert changed == len(listed) == steps
    assert [step.arguments["at"] for step in calls_in(accepted)] == [*range(steps)]
    return Counted.compared


def failed(actual: object) -> dict[str, object]:
    return {"kind": "tool_call", "result": "failed", "expected": {"name": "look", "arguments": {}}, "actual": actual}


def calls_in(accepted: TestCase) -> list[CheckedCall]:
    return [step for step in accepted.turns[1].steps if isinstance(step, CheckedCall)]


def test_each_step_is_compared_only_with_itself() -> None:
    assert comparisons(200) <= 2 * comparisons(100) <= 4 * 100 * 2


def test_calls_that_were_never_made_are_accepted_until_one_checked_step_is_left() -> None:
    recorded = case(CALL, CALL, CALL)
    verdicts = {"turns": [{"steps": []}, {"steps": [failed(None)] * 3}]}

    listed = [(turn, n) for turn, n, _ in acceptable_steps(recorded, verdicts)]
    accepted, changed = accept_steps(recorded, [StepOutcome(1, n, None) for n in range(3)])

    assert listed == [(1, 0), (1, 1)]
    assert changed == 2
    assert [step.check.enabled for step in calls_in(accepted)] == [False, False, True]


def test_steps_that_the_case_has_no_more_are_left_out() -> None:
    changed = accept_steps(case(CALL), [StepOutcome(1, 9, "x"), StepOutcome(7, 0, "x"), StepOutcome(1, 0, "x")])
    assert changed == (case(CALL), 0)
