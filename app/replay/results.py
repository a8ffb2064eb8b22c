"""Makes the verdicts on a turn's steps and a replay's result, and changes the result by a person's verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any, Literal, get_args

from msgspec.structs import replace

from app.chat import Tokens
from app.errors import Invalid
from app.replay.compare import compare, expected_answer
from app.replay.pairing import label, pair
from app.replay.types import (
    CaseStep,
    CaseTurn,
    CheckedAnswer,
    CheckedCall,
    Drift,
    Judgement,
    Order,
    ProducedCall,
    ProducedStep,
    ReplayResult,
    ReplayStatus,
    StepResult,
    StepVerdict,
    StopReason,
    TestCase,
    TurnResult,
)

Ask = Callable[[CheckedAnswer, str], Judgement]


def verdicts(
    steps: Sequence[CaseStep], produced: Sequence[ProducedStep], order: Order, ask: Ask, not_reached: str | None = None
) -> tuple[tuple[StepVerdict, ...], tuple[ProducedStep, ...]]:
    """Return the verdicts in the order of `steps`, and the produced steps paired with none.

    `ask` is called once for each `ai` step that an answer is paired with. `not_reached` says why the turn did not
    get to its end: a step that nothing is paired with then has not run; it has failed where that is None.
    """
    pairs = pair(steps, produced, order)
    taken = set(pairs.values())
    extra = tuple(each for index, each in enumerate(produced) if index not in taken)
    return tuple(
        _paired(step, produced[pairs[index]], ask) if index in pairs else _unpaired(step, extra, not_reached)
        for index, step in enumerate(steps)
    ), extra


def not_run(step: CaseStep, reason: str) -> StepVerdict:
    """Return the verdict on a step that could not be reached; one that is not checked stays ignored."""
    if not step.checked:
        return StepVerdict(step.kind, "ignored", _expected(step), None)
    return StepVerdict(step.kind, "not_run", _expected(step), None, reason)


def _unpaired(step: CaseStep, extra: Sequence[ProducedStep], not_reached: str | None) -> StepVerdict:
    if not step.checked or not_reached:
        return not_run(step, not_reached or "")
    if any(label(each) == label(step) for each in extra):
        reason = "it came out of order"
    elif step.kind == "tool_call":
        reason = f"{step.name} was never called" if not extra else f"{step.name} was not called"
    else:
        reason = "no answer was given"
    return StepVerdict(step.kind, "failed", _expected(step), None, reason)


def _paired(step: CaseStep, produced: ProducedStep, ask: Ask) -> StepVerdict:
    actual = _shown_call(produced) if produced.kind == "tool_call" else produced.text
    if not step.checked:
        return StepVerdict(step.kind, "ignored", _expected(step), actual)
    if step.kind == "answer" and produced.kind == "answer" and step.check.answer == "ai":
        judgement = ask(step, produced.text)
        return StepVerdict(step.kind, judgement.verdict, _expected(step), actual, judgement.reasoning)
    comparison = compare(step, produced)
    return StepVerdict(step.kind, comparison.result, _expected(step), actual, comparison.reason, comparison.diff)


def _expected(step: CaseStep) -> Any:
    return _shown_call(step) if step.kind == "tool_call" else expected_answer(step)


def _shown_call(call: CheckedCall | ProducedCall) -> dict[str, Any]:
    return {"name": call.name, "arguments": call.arguments}


CUT_OFF = "its turn was cut off"
NOT_REACHED = "the replay stopped before this turn"


def unplayed(turn: CaseTurn, explanation: str, reason: StopReason | None = None) -> TurnResult:
    """Return the result of a turn that was not played at all."""
    return TurnResult(turn.user, tuple(not_run(step, explanation) for step in turn.steps), stop_reason=reason)


def conclude(case: TestCase, played: Mapping[int, TurnResult]) -> ReplayResult:
    """Return the replay's result from its turns by index; a turn that is missing was not reached."""
    count = len(case.played)
    turns = tuple(
        played.get(index) or unplayed(turn, CUT_OFF if index >= count else NOT_REACHED)
        for index, turn in enumerate(case.turns)
    )
    return ReplayResult(
        status=_status(turns, complete=all(index in played for index in range(count))),
        turns=turns,
        stop_reason=next((turn.stop_reason for turn in turns if turn.stop_reason), None),
        drift=_drift(turns),
        tokens=reduce(add, (turn.tokens for turn in turns), Tokens()),
        judge_tokens=reduce(add, (turn.judge_tokens for turn in turns), Tokens()),
        error=next((turn.error for turn in turns if turn.error), None),
    )


def counts(turns: Sequence[TurnResult]) -> dict[StepResult, int]:
    """Return the number of steps with each result, zeros included."""
    found = Counter(step.result for turn in turns for step in turn.steps)
    return {result: found[result] for result in get_args(StepResult)}


def with_verdict(result: ReplayResult, n: int, verdict: Literal["passed", "failed"]) -> ReplayResult:
    """Return the result with a person's verdict on step `n`, counted over all turns from 0, and the status updated.

    Raises `Invalid` when there is no such step, or when it does not need review.
    """
    first = 0
    for index, turn in enumerate(result.turns):
        if first <= n < first + len(turn.steps):
            turns = (*result.turns[:index], _decide(turn, n - first, verdict), *result.turns[index + 1 :])
            status = _status(turns) if result.status == "needs_review" else result.status
            return replace(result, turns=turns, status=status)
        first += len(turn.steps)
    raise Invalid(f"n: there is no step {n}")


def _decide(turn: TurnResult, at: int, verdict: Literal["passed", "failed"]) -> TurnResult:
    step = turn.steps[at]
    if verdict not in ("passed", "failed"):
        raise Invalid("verdict: must be passed or failed")
    if step.result != "needs_review":
        raise Invalid("n: this step does not need review")
    return replace(turn, steps=(*turn.steps[:at], replace(step, result=verdict), *turn.steps[at + 1 :]))


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
