"""From turns to a whole replay: its status, its sums, and a person's later verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Literal, get_args

from app.chat import Tokens
from app.errors import Invalid
from app.replay.types import (
    CaseTurn,
    Drift,
    ReplayResult,
    ReplayStatus,
    StepResult,
    StopReason,
    TestCase,
    TurnResult,
)
from app.replay.verdicts import not_run

CUT_OFF = "its turn was cut off"
NOT_REACHED = "the replay stopped before this turn"


def included(case: TestCase) -> int:
    """How many of its turns a replay of the case plays."""
    return len(case.turns) if case.included_turns is None else min(case.included_turns, len(case.turns))


def unplayed(turn: CaseTurn, words: str, reason: StopReason | None = None) -> TurnResult:
    """The result of a turn that was not played at all."""
    return TurnResult(turn.user, tuple(not_run(step, words) for step in turn.steps), stop_reason=reason)


def conclude(case: TestCase, played: Mapping[int, TurnResult]) -> ReplayResult:
    """The replay's result from its turns by place; a turn that is missing was not reached."""
    last = included(case)
    turns = tuple(
        played.get(place) or unplayed(turn, CUT_OFF if place >= last else NOT_REACHED)
        for place, turn in enumerate(case.turns)
    )
    return ReplayResult(
        status=_status(turns, complete=all(place in played for place in range(last))),
        turns=turns,
        stop_reason=next((turn.stop_reason for turn in turns if turn.stop_reason), None),
        drift=_drift(turns),
        tokens=reduce(add, (turn.tokens for turn in turns), Tokens()),
        judge_tokens=reduce(add, (turn.judge_tokens for turn in turns), Tokens()),
        error=next((turn.error for turn in turns if turn.error), None),
    )


def counts(turns: Sequence[TurnResult]) -> dict[StepResult, int]:
    """How many steps of all turns have each result, zeros included."""
    found = Counter(step.result for turn in turns for step in turn.steps)
    return {result: found[result] for result in get_args(StepResult)}


def with_verdict(result: ReplayResult, n: int, verdict: Literal["passed", "failed"]) -> ReplayResult:
    """A person's verdict on step `n`, counted over all turns from 0; the status follows.

    Raises `Invalid` when there is no such step, or when it does not need review.
    """
    first = 0
    for place, turn in enumerate(result.turns):
        if first <= n < first + len(turn.steps):
            decided = _decide(turn, n - first, verdict)
            turns = (*result.turns[:place], decided, *result.turns[place + 1 :])
            return replace(result, turns=turns, status=_revised(result.status, turns))
        first += len(turn.steps)
    raise Invalid(f"n: there is no step {n}")


def _decide(turn: TurnResult, at: int, verdict: Literal["passed", "failed"]) -> TurnResult:
    step = turn.steps[at]
    if verdict not in ("passed", "failed"):
        raise Invalid("verdict: must be passed or failed")
    if step.result != "needs_review":
        raise Invalid("n: this step does not need review")
    return replace(turn, steps=(*turn.steps[:at], replace(step, result=verdict), *turn.steps[at + 1 :]))


def _revised(before: ReplayStatus, turns: Sequence[TurnResult]) -> ReplayStatus:
    return _status(turns) if before == "needs_review" else before


def _status(turns: Sequence[TurnResult], *, complete: bool = True) -> ReplayStatus:
    stops = {turn.stop_reason for turn in turns if turn.stop_reason}
    found = counts(turns)
    if "cancelled" in stops:
        return "cancelled"
    if "provider_error" in stops:
        return "error"
    if stops or found["failed"] or not complete:
        return "failed"
    return "needs_review" if found["needs_review"] else "passed"


def _drift(turns: Sequence[TurnResult]) -> Drift:
    placeholders: dict[str, str] = {}
    for turn in turns:
        placeholders.update(turn.drift.placeholders)
    return Drift(placeholders, tuple(dict.fromkeys(name for turn in turns for name in turn.drift.tools)))
