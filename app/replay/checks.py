"""Checks the steps that a draft produced: what rules can decide, and what only a reader can."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.chat import ToolCall
from app.replay.answers import Answers
from app.replay.arguments import ArgumentsComparison, CallRules, OpenDifference, compare_arguments
from app.replay.compare import MOST_DIFFERENCES, ignored_paths
from app.replay.comparison import PASSED, TOO_LONG, Comparison, OpenTexts
from app.replay.effects import Tool
from app.replay.findings import ComparisonResult, Difference, ProducedStep
from app.replay.matchers import parse_matchers
from app.replay.places import RankedMatchers, ranked
from app.replay.reader import Reader
from app.replay.texts.sources import Sources
from app.replay.types import CaseStep, CheckedCall, Effect
from app.values.budget import OverBudget, WorkBudget
from app.values.json_pointer import PointerTree, parse_pointer
from app.values.unicode import nfc

MOST_KEPT = 1_000  # comparisons of a turn that are kept for the next time
_STEPS_OF_A_CALL = 20  # to compare arguments without values
_STEPS_OF_A_MATCHER = 5  # to parse it


@dataclass(frozen=True, slots=True)
class Checker:
    """Compares the steps of one turn within the budget of the replay's reader. Without budget, steps need review.

    `sources()` reads the texts and values from which a draft may take its own; it is called only if a comparison needs
    them.
    """

    tools: Mapping[str, Tool]
    sources: Callable[[], Sources]
    reader: Reader = field(default_factory=Reader)
    # By the ids of both steps, which are kept so that no other step gets them.
    _compared: dict[tuple[int, int], tuple[CaseStep, ProducedStep, Comparison]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _ranked: dict[int, tuple[CheckedCall, RankedMatchers]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def budget(self) -> WorkBudget:
        return self.reader.budget

    def is_plain(self, step: CheckedCall) -> bool:
        """Return True if a check without a reader accepts only equal arguments."""
        return step.check.arguments == "exact" and not step.check.ignore_paths and not self._matchers(step)

    def compare_call(self, step: CheckedCall, call: ToolCall) -> ComparisonResult:
        """Return whether the check of a step accepts a call; without evidence for a reader. Raises `OverBudget`."""
        return self._call(step, call.arguments, evidence=False).result

    def effect_of(self, step: CaseStep | ProducedStep) -> Effect | None:
        """Return the effect of a call; None for an answer."""
        if step.kind == "answer":
            return None
        tool = self.tools.get(step.name)
        return tool.called_with(step.arguments).effect if tool else "write"

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

    def _matchers(self, step: CheckedCall) -> Mapping[str, Any]:
        of_tool = self.tools[step.name].arguments if step.name in self.tools else {}
        return {**of_tool, **step.check.arguments} if isinstance(step.check.arguments, dict) else of_tool

    def _ranked_matchers(self, step: CheckedCall) -> RankedMatchers:
        if id(step) not in self._ranked:
            matchers = self._matchers(step)
            self.budget.spend(_STEPS_OF_A_MATCHER * len(matchers))
            self._ranked[id(step)] = step, ranked(parse_matchers(matchers))
        return self._ranked[id(step)][1]

    def _call_rules(self, step: CheckedCall, arguments: Any) -> CallRules:
        """Return the rules of a call; if one of the two calls writes, so do both."""
        tool = self.tools.get(step.name)
        if tool is None:
            return CallRules()
        effects = {tool.called_with(called_with).effect for called_with in (step.arguments, arguments)}
        kinds = {parse_pointer(nfc(pointer)): kind for pointer, kind in tool.kinds.items()}
        return CallRules("write" if "write" in effects else "read", tool.schema, PointerTree(kinds))

    def _call(self, step: CheckedCall, arguments: Any, *, evidence: bool = True) -> Comparison:
        if step.check.arguments == "ignore":
            return PASSED
        self.budget.spend(_STEPS_OF_A_CALL)
        compared = compare_arguments(
            step.arguments,
            arguments,
            self._ranked_matchers(step),
            self.sources,
            rules=self._call_rules(step, arguments),
            subset=step.check.arguments == "subset",
            ignored=ignored_paths(step.check.ignore_paths),
            reader=self.reader,
            evidence=evidence,
        )
        if compared.differences:
            diff = (*compared.differences, *map(_plain, compared.open))[:MOST_DIFFERENCES]
            reason = f"{step.name} was called with other arguments"
            return Comparison("failed", reason, diff, compared.facts, is_by_path=True)
        return self._open_call(step, arguments, compared) if compared.open else PASSED

    def _open_call(self, step: CheckedCall, arguments: Any, compared: ArgumentsComparison) -> Comparison:
        """Leave arguments to a reader: whole, or only those at the places for which there is an assertion."""
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
        diff = tuple(map(_plain, compared.open))
        reason = f"{step.name} was called with arguments in other words or another form, and no model may judge them"
        texts = OpenTexts("arguments", recorded, produced, assertion)
        return Comparison("needs_review", reason, diff, compared.facts, None, texts, form, is_by_path=True)


def _plain(difference: OpenDifference) -> Difference:
    return Difference(difference.path, difference.expected, difference.actual)
