"""Checks the steps that a draft produced: rules decide where they can, and leave the rest to a judge."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.chat import ToolCall
from app.replay.answers import Answers
from app.replay.arguments import ArgumentsComparison, OpenDifference, compare_arguments
from app.replay.case_types import CaseStep, CheckedCall, Effect
from app.replay.comparison import PASSED, TOO_LONG, Comparison, OpenTexts
from app.replay.effects import Tool
from app.replay.json_differences import MOST_DIFFERENCES
from app.replay.result_types import ComparisonResult, Difference, ProducedStep
from app.replay.step_rules import StepRules
from app.replay.text_reader import TextReader
from app.replay.texts.sources import Sources
from app.replay.tool_names import is_thought
from app.values.budget import OverBudget, WorkBudget

MOST_KEPT = 1_000  # comparisons of a turn that are kept for the next time
_STEPS_PER_CALL = 20  # to compare arguments without values


@dataclass(frozen=True, slots=True)
class Checker:
    """Compares the steps of one turn within the budget of the replay's reader. Without budget, steps need review.

    `sources()` reads the texts and values that a draft may use; it is called only if a comparison needs
    them.
    """

    tools: Mapping[str, Tool]
    sources: Callable[[], Sources]
    reader: TextReader = field(default_factory=TextReader)
    # By the ids of both steps, which are kept so that no other step gets them.
    _compared: dict[tuple[int, int], tuple[CaseStep, ProducedStep, Comparison]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _rules: StepRules = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rules", StepRules(self.tools, self.budget))

    @property
    def budget(self) -> WorkBudget:
        return self.reader.budget

    def is_plain(self, step: CheckedCall) -> bool:
        """Return True if a check accepts only equal arguments unless a judge or a person accepts others."""
        return step.check.arguments == "exact" and not step.check.ignore_paths and not self._rules.matchers(step)

    def compare_call(self, step: CheckedCall, call: ToolCall) -> ComparisonResult:
        """Return whether the check of a step accepts a call; without evidence for a reader. Raises `OverBudget`."""
        return self._call(step, call.arguments, evidence=False).result

    def effect_of(self, step: CaseStep | ProducedStep) -> Effect | None:
        """Return the effect of a call; None for an answer."""
        if step.kind == "answer":
            return None
        return self._rules.effect(step.name, step.arguments)

    def compare(self, step: CaseStep, produced: ProducedStep) -> Comparison:
        """Compare two steps of the same kind and, for tool calls, the same name."""
        key = id(step), id(produced)
        if key in self._compared:
            return self._compared[key][2]
        try:
            self.budget.spend(1)
            comparison = self._comparison(step, produced)
        except OverBudget:
            return TOO_LONG
        if len(self._compared) < MOST_KEPT:
            self._compared[key] = step, produced, comparison
        return comparison

    def _comparison(self, step: CaseStep, produced: ProducedStep) -> Comparison:
        if step.kind == "tool_call" and produced.kind == "tool_call":
            return self._call(step, produced.arguments)
        if step.kind == "answer" and produced.kind == "answer":
            return Answers(self.sources, self.reader).compare(step, produced)
        raise TypeError(f"can't compare steps of the kinds {step.kind} and {produced.kind}")

    def _call(self, step: CheckedCall, arguments: Any, *, evidence: bool = True) -> Comparison:
        if step.check.arguments == "ignore" or (is_thought(step.name) and self.effect_of(step) == "read"):
            return PASSED
        self.budget.spend(_STEPS_PER_CALL)
        matchers, ignored = self._rules.check(step)
        rules = self._rules.of_call(step, arguments)
        compared = compare_arguments(
            step.arguments,
            arguments,
            matchers,
            self.sources,
            rules=rules,
            subset=step.check.arguments == "subset",
            ignored=ignored,
            reader=self.reader,
            evidence=evidence,
        )
        if compared.differences:
            diff = (*compared.differences, *map(_plain, compared.open))[:MOST_DIFFERENCES]
            reason = f"{step.name} was called with other arguments"
            is_excusable = rules.effect == "read" and not compared.by_matcher
            return Comparison("failed", reason, diff, compared.facts, is_by_path=True, is_excusable=is_excusable)
        return self._open_call(step, arguments, compared) if compared.open else PASSED

    def _open_call(self, step: CheckedCall, arguments: Any, compared: ArgumentsComparison) -> Comparison:
        """Leave arguments to a judge: all of them, or only those at the places for which there is an assertion."""
        recorded, produced = self.reader.composed(step.arguments), self.reader.composed(arguments)
        asserted = {difference.path: difference for difference in compared.open if difference.assertion}
        assertion = "; ".join(f"{path}: {difference.assertion}" for path, difference in asserted.items())
        if len(asserted) == len(compared.open):
            recorded = {path: difference.expected for path, difference in asserted.items()}
            produced = {path: difference.actual for path, difference in asserted.items()}
        form = tuple(
            f"{difference.path or 'the arguments'}: {difference.note}"
            for difference in compared.open
            if difference.note
        )
        diff = tuple(map(_plain, compared.open[:MOST_DIFFERENCES]))
        reason = f"{step.name} was called with arguments in other words or another form, and no model may judge them"
        texts = OpenTexts("arguments", recorded, produced, assertion)
        return Comparison("needs_review", reason, diff, compared.facts, None, texts, form, is_by_path=True)


def _plain(difference: OpenDifference) -> Difference:
    return Difference(difference.path, difference.expected, difference.actual)
