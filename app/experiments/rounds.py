"""Cuts the trials of a test case into rounds, after which alone an experiment is decided.

The first round has the smallest number of repeats. A later one has half as many, so that its replays can run side by
side, and is played only for the test cases that are still open.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise, zip_longest
from typing import NamedTuple

from app.experiments.sequential import Round
from app.experiments.types import CaseTrials, Design, Trial

_PASSED = Trial(passed=True)


@cache
def round_ends(least: int, most: int) -> tuple[int, ...]:
    """Return the number of trials of one side after each round."""
    return (*range(least, most, max(1, least // 2)), most)


class Played(NamedTuple):
    """The trials of one test case: the rounds that are complete, and the rest.

    A trial of the candidate that has no partner is counted as if its partner had passed.
    """

    rounds: tuple[Round, ...]
    rest: Round

    def total(self, rounds: int) -> Round:
        """Return the counts after the first rounds, with the rest if these are all."""
        parts = self.rounds[:rounds] if rounds < len(self.rounds) else (*self.rounds, self.rest)
        return Round(*map(sum, zip(*parts, strict=True))) if parts else Round(0, 0, 0, 0)


def played(design: Design, case: CaseTrials) -> Played:
    """Return the trials of one test case by rounds."""
    both = min(len(case.candidate), len(case.baseline)) if design.has_baseline else len(case.candidate)
    ends = [0, *(end for end in round_ends(design.repeats_min, design.repeats_max) if end <= both)]
    return Played(tuple(_count(case, start, end) for start, end in pairwise(ends)), _count(case, ends[-1], None))


def _count(case: CaseTrials, start: int, end: int | None) -> Round:
    counts = {(False, True): 0, (True, False): 0, (False, False): 0, (True, True): 0}
    for candidate, baseline in zip_longest(case.candidate[start:end], case.baseline[start:end], fillvalue=_PASSED):
        counts[candidate.passed, baseline.passed] += 1
    return Round(*counts.values())
