"""A replay's steps are accepted as expected steps."""

from __future__ import annotations

import pytest

from app.errors import Invalid
from app.replay.cases import accept_step
from app.replay.types import AnswerCheck, CaseStep, CaseTurn, Check, CheckedAnswer, CheckedCall, TestCase

CALL = CheckedCall(name="look", arguments={"at": 1}, result="seen")


def case(*steps: CaseStep) -> TestCase:
    return TestCase(turns=(CaseTurn(user="first", steps=()), CaseTurn(user="second", steps=steps)))


def test_a_call_keeps_its_recorded_result_and_its_check() -> None:
    (step,) = accept_step(case(CALL), 1, 0, {"name": "look", "arguments": {"at": 2}}).turns[1].steps

    assert (step.arguments, step.result, step.check) == ({"at": 2}, "seen", CALL.check)


@pytest.mark.parametrize(
    ("check", "after"),
    [("strict", "strict"), ("ai", "ai"), ("json_subset", "json_subset"), ("contains", "strict"), ("regex", "strict")],
)
def test_an_answer_is_held_against_the_new_text(check: AnswerCheck, after: str) -> None:
    step = CheckedAnswer(text="old", check=Check(answer=check, value="1"))

    accepted = accept_step(case(CALL, step), 1, 1, "new").turns[1].steps[1]

    assert (accepted.text, accepted.check.answer, accepted.check.value) == ("new", after, None)


@pytest.mark.parametrize(
    ("turn", "step", "actual"),
    [(1, 0, "a text"), (1, 0, {"name": "other", "arguments": {}}), (1, 7, "x"), (9, 0, "x"), (0, 0, "x")],
)
def test_a_case_that_has_changed_since_is_left_alone(turn: int, step: int, actual: object) -> None:
    with pytest.raises(Invalid, match="has changed since"):
        accept_step(case(CALL), turn, step, actual)
