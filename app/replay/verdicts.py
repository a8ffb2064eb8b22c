"""A turn's verdicts: one for each recorded step, and what the draft did beyond them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from app.replay.compare import compare, expected_answer
from app.replay.pairing import label, pair
from app.replay.ports import Judgement
from app.replay.types import CaseStep, Order, Produced, StepVerdict

Ask = Callable[[CaseStep, str], Judgement]


def verdicts(
    steps: Sequence[CaseStep],
    produced: Sequence[Produced],
    order: Order,
    ask: Ask,
    not_reached: str | None = None,
) -> tuple[tuple[StepVerdict, ...], tuple[Produced, ...]]:
    """The verdicts in the order of `steps`, and the produced steps paired with none.

    `ask` is called once for each `ai` step that an answer is paired with. `not_reached` says why the turn
    did not get to its end: then a step that nothing is paired with has not run, else it has failed.
    """
    pairs = pair(steps, produced, order)
    taken = set(pairs.values())
    extra = tuple(each for place, each in enumerate(produced) if place not in taken)
    return tuple(
        _paired(step, produced[pairs[place]], ask) if place in pairs else _unpaired(step, extra, not_reached)
        for place, step in enumerate(steps)
    ), extra


def not_run(step: CaseStep, reason: str) -> StepVerdict:
    """The verdict on a step that could not be reached; one that is not checked stays ignored."""
    if not step.checked:
        return StepVerdict(step.kind, "ignored", _expected(step))
    return StepVerdict(step.kind, "not_run", _expected(step), reason=reason)


def _unpaired(step: CaseStep, extra: Sequence[Produced], not_reached: str | None) -> StepVerdict:
    if not step.checked or not_reached:
        return not_run(step, not_reached or "")
    if any(label(each) == label(step) for each in extra):
        reason = "it came out of order"
    elif step.kind == "tool_call":
        reason = f"{step.name} was never called" if not extra else f"{step.name} was not called"
    else:
        reason = "no answer was given"
    return StepVerdict(step.kind, "failed", _expected(step), reason=reason)


def _paired(step: CaseStep, produced: Produced, ask: Ask) -> StepVerdict:
    actual = _shown_call(produced) if produced.kind == "tool_call" else produced.text
    if not step.checked:
        return StepVerdict(step.kind, "ignored", _expected(step), actual)
    outcome = compare(step, produced)
    if outcome.result != "open":
        return StepVerdict(step.kind, outcome.result, _expected(step), actual, outcome.reason, outcome.diff)
    if step.check.answer == "manual":
        return StepVerdict(step.kind, "needs_review", _expected(step), actual, "a person decides")
    judgement = ask(step, produced.text)
    return StepVerdict(step.kind, judgement.verdict, _expected(step), actual, judgement.reasoning)


def _expected(step: CaseStep) -> Any:
    return _shown_call(step) if step.kind == "tool_call" else expected_answer(step)


def _shown_call(call: CaseStep | Produced) -> dict[str, Any]:
    return {"name": call.name, "arguments": call.arguments}
