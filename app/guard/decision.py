"""Decides which sentences of a prompt are guarded by tests, or returns the replays that are needed next.

Each mutant of a sentence is compared with the text by the sequential test of experiments (`app.experiments.decision`).
One test after another is given a part of the chance of an error, so the parts of a sentence add up to it.
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
    """The numbers of trials that a mutant and the text need on a test case; all three are counted from 0."""

    mutant: int
    case: int
    trials: int
    baseline: int


@dataclass(frozen=True, slots=True)
class SentenceDecision:
    """What the tests show about a sentence; `state` is None as long as trials are `wanted`.

    Of a guarded sentence, `mutant` is the index of the one that failed, `cases` has the indexes of the tests that
    failed, and `p_value` is the chance of such a difference between equal texts, at most. `cases` is empty if only all
    tests together show it. Of other sentences, `cases` are those in which an answer changed without the sentence.
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
    parts = len(mutants) * (1 if len(mutants[0].cases) <= FIRST_CASES else 2)
    each = replace(design, alpha=design.alpha / parts)
    for index, mutant in enumerate(mutants):
        seen = False
        for begin, decision in _decisions(each, mutant.cases):
            if decision.verdict is None:
                return SentenceDecision(None, wanted=list(_wanted(index, mutant, begin, decision)))
            if decision.verdict == "failed":
                cases = [begin + case for case in decision.regressed]
                return SentenceDecision("guarded", mutant=index, cases=cases, p_value=decision.p_value)
            undecided = undecided or decision.verdict == "inconclusive"
            seen = True
        if mutant.operator == "without" and seen:
            changed = mutant.changed
            if not changed and not undecided:
                return SentenceDecision("inert")
    return SentenceDecision("undecided" if undecided else "unguarded", cases=sorted(changed))


def _decisions(design: Design, cases: Sequence[CaseTrials]) -> Iterator[tuple[int, Decision]]:
    """Yield the decisions on the first test cases and on the others, each with the index of its first one.

    A test case that the text itself violates can't show anything by a violation.
    """
    for begin, part in ((0, cases[:FIRST_CASES]), (FIRST_CASES, cases[FIRST_CASES:])):
        if part:
            yield begin, decide(design, [_fair(case) for case in part])


def _fair(case: CaseTrials) -> CaseTrials:
    if not any(trial.violated for trial in case.baseline):
        return case
    return replace(case, candidate=[replace(trial, violated=False) for trial in case.candidate])


def _wanted(index: int, mutant: MutantTrials, begin: int, decision: Decision) -> Iterator[Want]:
    for offset, (trials, baseline) in enumerate(decision.targets):
        case = mutant.cases[begin + offset]
        if trials > len(case.candidate) or baseline > len(case.baseline):
            yield Want(index, begin + offset, trials, baseline)
