"""Makes the result of a replay from its turns, and changes it by a person's verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import reduce
from hashlib import sha256
from itertools import islice
from operator import add
from typing import Literal, get_args

import msgspec
from msgspec import structs

from app.chat import Tokens
from app.errors import Invalid
from app.replay.case_types import CaseTurn, Fidelity, TestCase
from app.replay.effects import Tool
from app.replay.fidelity import void_reason
from app.replay.result_types import (
    Drift,
    ReplayResult,
    ReplayStatus,
    StepResult,
    StepVerdict,
    StopReason,
    ToolEffect,
    TurnResult,
    Violation,
)
from app.replay.verdicts import not_run
from app.replay.violations import first_of_each_tool

MOST_VIOLATIONS = 100  # that a result keeps
CUT_OFF = "its turn was cut off"
NOT_REACHED = "the replay stopped before this turn"


def unplayed(turn: CaseTurn, explanation: str, reason: StopReason | None = None) -> TurnResult:
    """Return the result of a turn that was not played at all."""
    return TurnResult(turn.user, tuple(not_run(step, explanation) for step in turn.steps), stop_reason=reason)


def conclude(
    case: TestCase, played: Mapping[int, TurnResult], tools: Mapping[str, Tool], *, void: str | None = None
) -> ReplayResult:
    """Return the replay's result from its turns by index; a turn that is missing was not reached.

    `void` is the reason for which a replay of the test case shows nothing, None if there is none.
    """
    count = len(case.played_turns)
    turns = tuple(
        played.get(index) or unplayed(turn, CUT_OFF if index >= count else NOT_REACHED)
        for index, turn in enumerate(case.turns)
    )
    violations = tuple(
        islice(first_of_each_tool(violation for turn in turns for violation in turn.violations), MOST_VIOLATIONS)
    )
    return ReplayResult(
        status=_status(turns, violations, void, complete=all(index in played for index in range(count))),
        turns=turns,
        stop_reason=next((turn.stop_reason for turn in turns if turn.stop_reason), None),
        drift=_drift(turns),
        tokens=reduce(add, (turn.tokens for turn in turns), Tokens()),
        judge_tokens=reduce(add, (turn.judge_tokens for turn in turns), Tokens()),
        error=next((turn.error for turn in turns if turn.error), None),
        violations=violations,
        tools={name: ToolEffect(tool.declared, tool.effect_from) for name, tool in tools.items()},
        void=void,
    )


def void_result(case: TestCase, tools: Mapping[str, Tool], fidelity: Fidelity) -> ReplayResult:
    """Return the result of a replay that can't show the model what the recorded one saw."""
    turns = {index: unplayed(turn, "the replay is void") for index, turn in enumerate(case.played_turns)}
    result = conclude(case, turns, tools, void=void_reason(fidelity))
    return structs.replace(result, stop_reason="void", fidelity=fidelity)


def counts(turns: Sequence[TurnResult]) -> dict[StepResult, int]:
    """Return the number of steps with each result, zeros included."""
    by_result = Counter(step.result for turn in turns for step in turn.steps)
    return {result: by_result[result] for result in get_args(StepResult)}


def agreement(turns: Sequence[TurnResult]) -> dict[str, int]:
    """Return the number of steps that both a judge and a person decided, and of those on which they agree."""
    both = [step for turn in turns for step in turn.steps if step.judged and step.decided_by == "person"]
    return {"judge_reviewed": len(both), "judge_agreed": sum(step.result == step.judged for step in both)}


def step_at(result: ReplayResult, n: int) -> StepVerdict:
    """Return the verdict on step `n`, counted over all turns from 0; it must exist."""
    return [step for turn in result.turns for step in turn.steps][n]


def with_verdict(result: ReplayResult, n: int, verdict: Literal["passed", "failed"]) -> ReplayResult:
    """Return the result with a person's verdict on step `n`, counted over all turns from 0, and the status updated.

    Raises `Invalid` when there is no such step, or when it neither needs review nor was decided by a judge.
    """
    first = 0
    for index, turn in enumerate(result.turns):
        if first <= n < first + len(turn.steps):
            turns = (*result.turns[:index], _decide(turn, n - first, verdict), *result.turns[index + 1 :])
            is_cancelled = result.status == "cancelled"
            status = result.status if is_cancelled else _status(turns, result.violations, result.void)
            return structs.replace(result, turns=turns, status=status)
        first += len(turn.steps)
    raise Invalid(f"n: there is no step {n}")


def _decide(turn: TurnResult, at: int, verdict: Literal["passed", "failed"]) -> TurnResult:
    """Let a person decide what needs review or a judge decided. A judge's verdict is kept with the person's."""
    step = turn.steps[at]
    if verdict not in ("passed", "failed"):
        raise Invalid("verdict: must be passed or failed")
    is_open = step.result == "needs_review" or step.digest is not None
    if not is_open and step.decided_by not in ("judge", "known") and step.judged is None:
        raise Invalid("n: this step does not need review")
    judged = step.judged
    if step.decided_by == "judge" and step.result in ("passed", "failed"):
        judged = step.result
    decided = structs.replace(step, result=verdict, decided_by="person", judged=judged)
    return structs.replace(turn, steps=(*turn.steps[:at], decided, *turn.steps[at + 1 :]))


def answers_digest(turns: Sequence[TurnResult]) -> str:
    """Return a digest, 32 hex digits, of what the candidate called and answered; equal answers have equal digests."""
    produced = [([step.actual for step in turn.steps], turn.extra) for turn in turns]
    return sha256(msgspec.json.encode(produced, order="sorted")).hexdigest()[:32]


def _status(
    turns: Sequence[TurnResult], violations: Sequence[Violation], void: str | None, *, complete: bool = True
) -> ReplayStatus:
    """Return the worst of failed, void, error, needs_review and passed.

    A vendor's failure shows nothing about the draft, so it does not hide a violation or a failed step that came before.
    """
    stops = {turn.stop_reason for turn in turns if turn.stop_reason}
    by_result = counts(turns)
    if "cancelled" in stops:
        return "cancelled"
    if violations or by_result["failed"] or stops - {"provider_error"}:
        return "failed"
    if void:
        return "void"
    if "provider_error" in stops:
        return "error"
    if not complete:
        return "failed"
    return "needs_review" if by_result["needs_review"] else "passed"


def _drift(turns: Sequence[TurnResult]) -> Drift:
    placeholders: dict[str, str] = {}
    for turn in turns:
        placeholders.update(turn.drift.placeholders)
    return Drift(placeholders, tuple(dict.fromkeys(name for turn in turns for name in turn.drift.tools)))
