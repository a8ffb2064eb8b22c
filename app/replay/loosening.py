"""Finds the strictest check of a step that accepts all that a good draft produced for it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from app.replay.case_types import AnswerCheck, CaseStep, CheckedAnswer, CheckedCall
from app.replay.checks import Checker
from app.replay.comparison import TOO_LONG
from app.replay.json_differences import MOST_DIFFERENCES
from app.replay.result_types import Difference, ProducedAnswer, ProducedStep
from app.replay.texts.scalars import distance
from app.values.json_pointer import format_pointer, is_index, parse_pointer

MOST_PATHS = 20  # of one call's arguments that get a matcher

# The checks that are tried in the place of one, from strict to loose. People chose the others for what they check.
_LOOSER: Mapping[AnswerCheck, Sequence[AnswerCheck]] = {
    "strict": ("meaning", "facts"),
    "meaning": ("facts",),
    "ai": ("facts",),
}


@dataclass(frozen=True, slots=True)
class Evidence:
    """The step that one replay produced for a recorded one, and what compares the steps of its turn."""

    produced: ProducedStep
    checker: Checker


class _TooDifferent(Exception):
    """The evidence has more differences than a comparison shows."""


class Loosening:
    """Looks for checks. It finds none once the budget of the checkers is used up: what they compare then is open."""

    def of(self, step: CaseStep, evidence: Sequence[Evidence]) -> dict[str, Any] | None:
        """Return the fields of a check that differ from the step's, so that it accepts all evidence.

        An answer's check still refuses the empty text. None when no looser check accepts all.
        """
        try:
            if step.kind == "answer":
                return self._of_answer(step, evidence)
            return self._of_arguments(step, evidence)
        except _TooDifferent:
            return None

    def _of_answer(self, step: CheckedAnswer, evidence: Sequence[Evidence]) -> dict[str, Any] | None:
        if step.check.answer == "ai" and step.check.value is not None:
            return None  # the value is the assertion that a judge reads, and no text to compare with
        for answer in _LOOSER.get(step.check.answer, ()):
            loosened = replace(step, check=replace(step.check, answer=answer))
            empty = (Evidence(ProducedAnswer(""), item.checker) for item in evidence)
            if self._may_accept(loosened, evidence) and not any(self._may_accept(loosened, [item]) for item in empty):
                return {"answer": answer}
        return None

    def _of_arguments(self, step: CheckedCall, evidence: Sequence[Evidence]) -> dict[str, Any] | None:
        """Give a matcher to each path that differs: the first one under which the path differs in no evidence."""
        recorded = step.check.arguments
        matchers: dict[str, Any] = dict(recorded) if isinstance(recorded, dict) else {}
        for _ in range(MOST_PATHS):
            differing = self._differing(_matched(step, matchers), evidence)
            if not differing:
                accepted = self._accepts(_matched(step, matchers), evidence)
                return {"arguments": matchers} if accepted else None
            path = next(iter(differing))
            loosened = self._matcher(step, matchers, path, differing[path], evidence)
            if loosened is None:
                return None
            matchers.update(loosened)
        return None

    def _matcher(
        self,
        step: CheckedCall,
        matchers: Mapping[str, Any],
        path: str,
        differences: Sequence[Difference],
        evidence: Sequence[Evidence],
    ) -> dict[str, Any] | None:
        for pointer, matcher in _candidates(step.arguments, path, differences):
            differing = self._differing(_matched(step, {**matchers, pointer: matcher}), evidence)
            if path not in differing and pointer not in differing:
                return {pointer: matcher}
        return None

    def _differing(self, step: CheckedCall, evidence: Sequence[Evidence]) -> dict[str, list[Difference]]:
        """Return the differences of all evidence by path; evidence that differs too much ends the search."""
        differing: dict[str, list[Difference]] = {}
        for item in evidence:
            diff = item.checker.compare(step, item.produced).diff
            if len(diff) >= MOST_DIFFERENCES:
                raise _TooDifferent
            for difference in diff:
                differing.setdefault(difference.path, []).append(difference)
        return differing

    def _may_accept(self, step: CheckedAnswer, evidence: Sequence[Evidence]) -> bool:
        """Return True if the check accepts all evidence: `facts` by values, and `meaning` unless a rule refuses it.

        What `meaning` leaves open, the judge of a replay decides.
        """
        compared = [item.checker.compare(step, item.produced) for item in evidence]
        if step.check.answer == "meaning":
            return all(comparison.result != "failed" and comparison is not TOO_LONG for comparison in compared)
        return all(
            comparison.result == "passed" and comparison.facts and comparison.facts.kept for comparison in compared
        )

    def _accepts(self, step: CaseStep, evidence: Sequence[Evidence]) -> bool:
        return all(item.checker.compare(step, item.produced).result == "passed" for item in evidence)


def _matched(step: CheckedCall, matchers: Mapping[str, Any]) -> CheckedCall:
    return replace(step, check=replace(step.check, arguments=dict(matchers))) if matchers else step


def _candidates(arguments: Any, path: str, differences: Sequence[Difference]) -> Iterator[tuple[str, Any]]:
    """Yield pointers with matchers that may accept the differences at a path, from strict to loose."""
    yield path, "text"
    if (of_list := _enclosing_list(arguments, path)) is not None:
        yield of_list, "unordered"
    if tolerance := _tolerance(differences):
        yield path, {"match": "number", "tolerance": tolerance}
    yield path, "facts"
    if path:  # at the root it would accept a call with any arguments at all
        yield path, "any"


def _enclosing_list(arguments: Any, path: str) -> str | None:
    """Return the pointer to the innermost list that a path leads to or through."""
    enclosing: int | None = None
    value, tokens = arguments, parse_pointer(path)
    for depth, token in enumerate(tokens):
        if isinstance(value, list):
            enclosing = depth
            value = value[int(token)] if is_index(token) and int(token) < len(value) else None
        else:
            value = value.get(token) if isinstance(value, dict) else None
    if isinstance(value, list):
        return path
    return None if enclosing is None else format_pointer(tokens[:enclosing])


def _tolerance(differences: Sequence[Difference]) -> float | None:
    """Return the largest distance between two numbers; None unless all sides are numbers."""
    sides = [side for difference in differences for side in (difference.expected, difference.actual)]
    if not all(isinstance(side, int | float) and not isinstance(side, bool) for side in sides):
        return None
    apart = [distance(difference.expected, difference.actual) for difference in differences]
    largest = max((gap for gap in apart if gap is not None), default=None)
    if largest is None:
        return None
    nearest = float(largest)
    tolerance = nearest if Decimal(repr(nearest)) >= largest else math.nextafter(nearest, math.inf)
    return tolerance if math.isfinite(tolerance) else None
