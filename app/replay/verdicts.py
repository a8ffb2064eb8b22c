"""Makes a turn's verdicts, one for each recorded step, and lists the steps that the draft took beyond them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from app.replay.compare import compare, expected_answer
from app.replay.pairing import label, pair
from app.replay.ports import Judgement
from app.replay.types import CaseStep, CheckedAnswer, CheckedCall, Order, ProducedCall, ProducedStep, StepVerdict

Ask = Callable[[CheckedAnswer, str], Judgement]


def verdicts(
    steps: Sequence[CaseStep],
    produced: Sequence[ProducedStep],
    order: Order,
    ask: Ask,
    not_reached: str | None = None,
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
