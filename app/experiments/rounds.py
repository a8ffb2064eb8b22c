"""Splits the trials of a test case into rounds. An experiment is compared with its baseline only after a round.

The first round has the smallest number of repeats. A later one has as many, but at least two, which can run in
parallel. It is played only for the test cases that are still open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise, zip_longest
from typing import NamedTuple

from app.experiments.sequential import Round, TrialBounds
from app.experiments.types import CaseTrials, Design, Trial

_PASSED = Trial(passed=True)


@lru_cache(1024)
def round_ends(least: int, most: int) -> tuple[int, ...]:
    """Return the number of trials of one side after each round."""
    return (*range(least, most, max(2, least)), most)


class CaseRounds(NamedTuple):
    """The trials of one test case: the rounds that both sides have finished, and the candidate's trials after them.

    In `rest` a trial of the candidate may lack its partner, and counts as if the baseline had passed.
    """

    rounds: tuple[TrialBounds, ...]
    rest: TrialBounds

    def has(self, number: int) -> bool:
        """Return True if the round with this index, from 0, is there."""
        return number < len(self.rounds)


def rounds_of(design: Design, case: CaseTrials) -> CaseRounds:
    """Return the trials of one test case by rounds."""
    there = min(len(case.candidate), len(case.baseline)) if design.has_baseline else len(case.candidate)
    ends = [0, *(end for end in round_ends(design.repeats_min, design.repeats_max) if end <= there)]
    rounds = tuple(_count(case, start, end) for start, end in pairwise(ends))
    return CaseRounds(rounds, _count(case, ends[-1], len(case.candidate)))


def _count(case: CaseTrials, start: int, end: int) -> TrialBounds:
    pairs = [*zip_longest(case.candidate[start:end], case.baseline[start:end], fillvalue=_PASSED)]
    return TrialBounds(
        _round((candidate.passed or bool(candidate.undecided), baseline.passed) for candidate, baseline in pairs),
        _round((candidate.passed, baseline.passed or bool(baseline.undecided)) for candidate, baseline in pairs),
    )


def _round(pairs: Iterable[tuple[bool, bool]]) -> Round:
    """Count pairs of (the candidate passed, the baseline passed)."""
    counts = Counter(pairs)
    return Round(counts[False, True], counts[True, False], counts[False, False], counts[True, True])
