"""Makes the verdicts on the steps of a turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import structs, to_builtins

from app.replay.answers import expected_answer
from app.replay.call_arguments import arguments_of
from app.replay.case_types import CaseStep
from app.replay.checks import Checker
from app.replay.comparison import Assertion, Comparison, OpenTexts
from app.replay.fingerprints import json_of
from app.replay.judge_types import OpenStep, OpenStepKind, StepEvidence, StepJudgement
from app.replay.matching import Pairs
from app.replay.recording import CallKey, arguments_key
from app.replay.result_types import ProducedCall, ProducedStep, StepVerdict
from app.replay.texts.facts import Facts
from app.replay.wording import shown_json
from app.values.budget import OverBudget

# Asks a judge about all open steps of a turn at once; None where no judge can be asked.
AskTurn = Callable[[Sequence[OpenStep]], Mapping[int, StepJudgement]] | None


@dataclass(frozen=True, slots=True)
class PairedTurn:
    """The steps of a turn, the steps that a draft produced, and which of these were paired with which.

    `optional` are the steps that may be left out, each with the reason. `not_reached` is the reason why the turn was
    not completed: an unpaired step has then not run. If it is None, an unpaired step has failed. A reader decides a
    call that is `asserted`, even if its arguments are the recorded ones. A call that is `excused` has other arguments,
    and a reader has passed it.
    """

    steps: Sequence[CaseStep]
    produced: Sequence[ProducedStep]
    pairs: Pairs
    optional: Mapping[int, str] = field(default_factory=dict)
    not_reached: str | None = None
    asserted: Mapping[int, Assertion] = field(default_factory=dict)
    excused: Mapping[int, StepJudgement] = field(default_factory=dict)

    @property
    def extra(self) -> tuple[ProducedStep, ...]:
        """The produced steps that are paired with none."""
        taken = set(self.pairs.values())
        return tuple(step for index, step in enumerate(self.produced) if index not in taken)


def verdicts(pairing: PairedTurn, checker: Checker, ask: AskTurn, assertion: str = "") -> tuple[StepVerdict, ...]:
    """Return the verdicts on the steps of a turn. `ask` is called at most once; `assertion` is the test case's."""
    steps, produced, pairs = pairing.steps, pairing.produced, pairing.pairs
    comparisons = {
        index: _asserted(checker.compare(steps[index], produced[right]), produced[right], pairing.asserted.get(index))
        for index, right in pairs.items()
        if steps[index].checked
    }
    open_steps = [
        opened
        for index, comparison in sorted(comparisons.items())
        if comparison.open and (opened := _open_step(index, steps[index], comparison, checker, assertion))
    ]
    judgements = {**(ask(open_steps) if ask and open_steps else {}), **pairing.excused}
    calls = Counter(step.name for step in produced if step.kind == "tool_call")
    unpaired_calls = {arguments_key(step) for step in pairing.extra if step.kind == "tool_call"}
    recorded = (steps[index] for index in pairs) if len(pairs) < len(steps) else ()
    paired_calls = {arguments_key(step) for step in recorded if step.kind == "tool_call"}
    return tuple(
        _paired(step, produced[pairs[index]], comparisons.get(index), judgements.get(index), index in pairing.optional)
        if index in pairs
        else _unpaired(index, pairing, calls, unpaired_calls, paired_calls)
        for index, step in enumerate(steps)
    )


def _asserted(comparison: Comparison, call: ProducedStep, assertion: Assertion | None) -> Comparison:
    """Return the comparison; a call that was accepted is open if there is an `assertion` about it."""
    if assertion is None or call.kind != "tool_call" or comparison.result == "failed":
        return comparison
    arguments = arguments_of(call.arguments)
    texts = comparison.open or OpenTexts("arguments", arguments, arguments)
    open_texts = replace(texts, assertion=f"{texts.assertion} {assertion.text}".strip())
    return Comparison("needs_review", assertion.reason, facts=comparison.facts, decided_by=None, open=open_texts)


def _open_step(index: int, step: CaseStep, comparison: Comparison, checker: Checker, assertion: str) -> OpenStep | None:
    """Return the question about a step, None if its arguments are too long to be written within the budget."""
    texts, facts = comparison.open, comparison.facts or Facts()
    assert texts  # noqa: S101 - only then there is a question
    try:
        recorded, produced = (_text(side, texts.kind, checker) for side in (texts.recorded, texts.produced))
    except OverBudget:
        return None
    return OpenStep(
        index,
        texts.kind,
        step.name if step.kind == "tool_call" else None,
        recorded,
        produced,
        StepEvidence(facts.kept, facts.lost, facts.invented, comparison.form),
        assertion if texts.assertion is None else texts.assertion,
    )


def _text(side: Any, kind: OpenStepKind, checker: Checker) -> str:
    return str(side) if kind == "answer" else json_of(side, checker.budget, ensure_ascii=False)


def not_run(step: CaseStep, reason: str) -> StepVerdict:
    """Return the verdict on a step that could not be reached; one that is not checked stays ignored."""
    if not step.checked:
        return StepVerdict(step.kind, "ignored", _expected(step), None)
    return StepVerdict(step.kind, "not_run", _expected(step), None, reason)


def _unpaired(
    index: int,
    pairing: PairedTurn,
    calls: Mapping[str, int],
    unpaired_calls: Collection[CallKey],
    paired_calls: Collection[CallKey],
) -> StepVerdict:
    """Return the verdict on a step without a produced one.

    `unpaired_calls` are the produced calls without a step, `paired_calls` the recorded ones with a produced call.
    """
    step = pairing.steps[index]
    if not step.checked or pairing.not_reached:
        return not_run(step, pairing.not_reached or "")
    if index in pairing.optional:
        reason = f"It was left out, which is allowed: {pairing.optional[index]}."
        return StepVerdict(step.kind, "ignored", _expected(step), None, reason, required=False)
    if step.kind == "answer":
        is_given = any(produced.kind == "answer" for produced in pairing.produced)
        reason = "the answer came out of order" if is_given else "no answer was given"
    elif arguments_key(step) in unpaired_calls:
        reason = f"{step.name} was called out of order"
    elif count := calls[step.name]:
        times, arguments = ("once" if count == 1 else f"{count} times"), shown_json(arguments_of(step.arguments))
        if arguments_key(step) in paired_calls:
            reason = f"{step.name} was called with {arguments} fewer times than in the recording"
        else:
            reason = f"{step.name} was called {times}, but not with {arguments}"
    else:
        reason = f"{step.name} was never called"
    return StepVerdict(step.kind, "failed", _expected(step), None, reason)


def _paired(
    step: CaseStep,
    produced: ProducedStep,
    comparison: Comparison | None,
    judgement: StepJudgement | None,
    is_optional: bool,
) -> StepVerdict:
    actual = _shown_call(produced) if produced.kind == "tool_call" else produced.text
    if comparison is None:
        return StepVerdict(step.kind, "ignored", _expected(step), actual)
    verdict = StepVerdict(
        step.kind,
        comparison.result,
        _expected(step),
        actual,
        comparison.message,
        comparison.diff,
        comparison.facts,
        comparison.decided_by,
        form=comparison.form,
        required=not is_optional,
    )
    return verdict if judgement is None else _judged(verdict, judgement)


def _judged(verdict: StepVerdict, judgement: StepJudgement) -> StepVerdict:
    """Return the verdict on an open step with that of a judge, or of one who decided the same texts before."""
    if judgement.verdict == "needs_review":
        reason = judgement.reason or verdict.reason
        return structs.replace(verdict, reason=reason, findings=judgement.findings, digest=judgement.digest)
    return structs.replace(
        verdict,
        result=judgement.verdict,
        reason=judgement.reason or None,
        decided_by="known" if judgement.is_earlier else "judge",
        findings=judgement.findings,
        digest=judgement.digest,
        diff=() if judgement.verdict == "passed" else verdict.diff,
    )


def _expected(step: CaseStep) -> Any:
    return {"name": step.name, "arguments": step.arguments} if step.kind == "tool_call" else expected_answer(step)


def _shown_call(call: ProducedCall) -> dict[str, Any]:
    shown: dict[str, Any] = to_builtins(call)
    del shown["kind"]
    return shown
