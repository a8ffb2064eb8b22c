"""Decides which sentences of a prompt are guarded by tests, or returns the replays that are needed next.

Each mutant of a sentence is compared with the text by the sequential test of experiments (`app.experiments.decision`).
A mutant is tested on the first test cases, and then on the others. Each of these tests gets an equal part of the chance
`alpha` of a mistake, so that all tests of a sentence together have that chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from app.experiments.decision import decide
from app.experiments.types import CaseTrials, Decision, Design
from app.guard.mutants import Operator

State = Literal["guarded", "unguarded", "inert", "undecided"]
FIRST_CASES = 3
"""The test cases that a mutant is played on first. Only a mutant that passes them is played on the others."""


@dataclass(frozen=True, slots=True)
class MutantTrials:
    """The trials of a mutant: its test cases in playing order, with the trials of the text as their baselines.

    `changed` has the indexes of the test cases in which a passing answer differs from all those of the text.
    """

    operator: Operator
    cases: Sequence[CaseTrials]
    changed: frozenset[int] = frozenset()


class Want(NamedTuple):
    """How many trials a mutant and the text itself (`baseline`) need in all on a test case.

    `mutant` is the index of the mutant, and `case` the index of the test case in the mutant's playing order.
    """

    mutant: int
    case: int
    trials: int
    baseline: int


@dataclass(frozen=True, slots=True)
class SentenceDecision:
    """What the tests show about a sentence; `state` is None as long as trials are `wanted`.

    For a guarded sentence, `mutant` is the index of the mutant that failed, `cases` has the indexes of the test cases
    that failed, and `p_value` is at most the chance of such a difference between equal texts. `cases` is empty if only
    all test cases together show the failure. For other sentences, `cases` has the indexes of the test cases in which an
    answer changed without the sentence.
    """

    state: State | None
    wanted: Sequence[Want] = ()
    mutant: int | None = None
    cases: Sequence[int] = ()
    p_value: float | None = None


def decide_sentence(design: Design, mutants: Sequence[MutantTrials]) -> SentenceDecision:
    """Return what the trials of a sentence's mutants show. `design.alpha` holds for the sentence.

    The mutants are played in their order, until a test fails one of them. If the answers stay the same without the
    sentence, its other mutants are not needed.
    """
    undecided = False
    changed: frozenset[int] = frozenset()
    tests = len(mutants) * (1 if len(mutants[0].cases) <= FIRST_CASES else 2)
    design_of_test = replace(design, alpha=design.alpha / tests)
    for index, mutant in enumerate(mutants):
        is_tested = False
        for begin, decision in _decisions(design_of_test, mutant.cases):
            if decision.verdict is None:
                return SentenceDecision(None, wanted=list(_wanted(index, mutant, begin, decision)))
            if decision.verdict == "failed":
                cases = [begin + case for case in decision.regressed]
                return SentenceDecision("guarded", mutant=index, cases=cases, p_value=decision.p_value)
            undecided = undecided or decision.verdict == "inconclusive"
            is_tested = True
        if mutant.operator == "without" and is_tested:
            changed = mutant.changed
            if not changed and not undecided:
                return SentenceDecision("inert")
    return SentenceDecision("undecided" if undecided else "unguarded", cases=sorted(changed))


def _decisions(design: Design, cases: Sequence[CaseTrials]) -> Iterator[tuple[int, Decision]]:
    """Yield the decision on the first test cases and that on the others, each with the index of its first test case."""
    for begin, part in ((0, cases[:FIRST_CASES]), (FIRST_CASES, cases[FIRST_CASES:])):
        if part:
            yield begin, decide(design, [_without_known_violations(case) for case in part])


def _without_known_violations(case: CaseTrials) -> CaseTrials:
    """Return the trials without violations of the mutant if the text itself has violations in this test case."""
    if not any(trial.violated for trial in case.baseline):
        return case
    return replace(case, candidate=[replace(trial, violated=False) for trial in case.candidate])


def _wanted(index: int, mutant: MutantTrials, begin: int, decision: Decision) -> Iterator[Want]:
    for offset, (trials, baseline) in enumerate(decision.targets):
        case = mutant.cases[begin + offset]
        if trials > len(case.candidate) or baseline > len(case.baseline):
            yield Want(index, begin + offset, trials, baseline)
