"""Makes what a replay produced the expectation of its test case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from msgspec.structs import replace

from app.errors import Invalid
from app.replay.case_types import CaseStep, CheckedAnswer, CheckedCall, TestCase
from app.replay.edited_steps import EditedSteps


class StepOutcome(NamedTuple):
    """The outcome of a step in a replay: `{name, arguments}`, a text, or None for a call that was never made."""

    turn: int
    step: int
    actual: Any


def is_acceptable(verdict: Mapping[str, Any]) -> bool:
    """Return True if the verdict, the JSON of a `StepVerdict`, has what the draft did: a call never made counts."""
    never_called = verdict["kind"] == "tool_call" and verdict["result"] == "failed"
    return verdict["actual"] is not None or never_called


def accept_step(case: TestCase, outcome: StepOutcome) -> TestCase:
    """Return the case which expects the outcome of a step.

    An answer is then compared with that text, unless the check sets another way. A call that was never made is then not
    checked. Raises `Invalid` if the case has another step there, or if it would check nothing.
    """
    steps = EditedSteps(case)
    _accept(steps, outcome)
    return steps.case()


def accept_steps(case: TestCase, outcomes: Iterable[StepOutcome]) -> tuple[TestCase, int]:
    """Return the case which expects the outcomes of steps, and the number of steps that changed.

    Steps that can't be accepted stay unchanged; without any change it is the same case.
    """
    steps, changed = EditedSteps(case), 0
    for outcome in outcomes:
        changed += _accept_if_possible(steps, outcome)
    return steps.case() if changed else case, changed


def acceptable_steps(case: TestCase, result: Mapping[str, Any]) -> Iterator[tuple[int, int, Any]]:
    """Yield turn, step and verdict of each failed step that a person can accept, so that it changes the test case.

    Each step is checked as if those before it were accepted. Turns and steps count from 0. `result` is the JSON of a
    `ReplayResult`, or empty; it may have steps that are no longer in the test case, which are left out.
    """
    steps = EditedSteps(case)
    for turn, played in enumerate(result.get("turns", ())):
        for n, verdict in enumerate(played["steps"]):
            failed = verdict["result"] == "failed" and is_acceptable(verdict)
            if failed and _accept_if_possible(steps, StepOutcome(turn, n, verdict["actual"])):
                yield turn, n, verdict


def is_expected(steps: EditedSteps, outcome: StepOutcome) -> bool | None:
    """Return True if accepting the outcome would change nothing, None if it can't be accepted."""
    try:
        before, accepted = _accepted(steps, outcome)
    except Invalid:
        return None
    return before == accepted


def _accept_if_possible(steps: EditedSteps, outcome: StepOutcome) -> bool:
    try:
        return _accept(steps, outcome)
    except Invalid:
        return False


def _accept(steps: EditedSteps, outcome: StepOutcome) -> bool:
    """Make the outcome the expectation of its step; returns True if that changes the step."""
    before, accepted = _accepted(steps, outcome)
    if before == accepted:
        return False
    steps.put(outcome.turn, outcome.step, accepted)
    return True


def _accepted(steps: EditedSteps, outcome: StepOutcome) -> tuple[CaseStep, CaseStep]:
    """Return the step unchanged, and the step that expects the outcome."""
    recorded, actual = steps.get(outcome.turn, outcome.step), outcome.actual
    if isinstance(recorded, CheckedCall) and actual is None:
        if steps.is_last_checked(outcome.turn, recorded):
            raise Invalid("step: at least one step of the included turns must be checked")
        return recorded, replace(recorded, check=replace(recorded.check, enabled=False))
    if isinstance(recorded, CheckedCall) and isinstance(actual, dict) and recorded.name == actual["name"]:
        return recorded, replace(recorded, arguments=actual["arguments"])
    if isinstance(recorded, CheckedAnswer) and isinstance(actual, str):
        answer = "strict" if recorded.check.answer in ("contains", "regex") else recorded.check.answer
        check = replace(recorded.check, answer=answer, value=None)
        return recorded, replace(recorded, text=actual, check=check)
    raise Invalid("step: the test case has changed since this replay")
