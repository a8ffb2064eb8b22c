"""Watches how often unchanged content passes its test cases, run after run, and shows a drop against a reference.

Of each test case this is a cumulative sum that begins again (Page, "Continuous inspection schemes", Biometrika 41,
1954). The sum is the logarithm of a likelihood ratio: two pass rates, of the reference and since then, against one rate
of both. So a small reference shows only large drops, and no rate has to be known. Ten replays a day can't show a drop
from 95 % to 80 % within three days with so few false alarms, so a suspected test case is played again in the same run.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import log
from typing import Literal, NamedTuple

DROP_EVIDENCE = 9.0  # the evidence that shows a drop in one of ten test cases; `drop_evidence` has it for more
SUSPECTED_EVIDENCE = 0.5  # the evidence from which on a test case is played again in the same run
SMALLEST_REFERENCE = 20
"""Replays of the reference from which on a test case is watched."""
LARGEST_REFERENCE = 300
"""Replays from which on the reference of a test case stays the same."""
ROUNDS_MAX = 20
"""Rounds of one run in which a suspected test case is played."""

DriftState = Literal["collecting", "steady", "suspected", "dropped"]


class Counts(NamedTuple):
    """Replays of a test case that have ended with a result. A replay that needs review or is void has not passed."""

    passed: int = 0
    failed: int = 0

    @classmethod
    def of(cls, passed: Sequence[bool]) -> Counts:
        return cls(sum(passed), len(passed) - sum(passed))

    @property
    def total(self) -> int:
        return self.passed + self.failed

    def plus(self, other: Counts) -> Counts:
        return Counts(self.passed + other.passed, self.failed + other.failed)


class Watched(NamedTuple):
    """The replays of a test case in its reference, and since the cumulative sum has begun again."""

    reference: Counts = Counts()
    since: Counts = Counts()

    def plus(self, played: Counts) -> Watched:
        return Watched(self.reference, self.since.plus(played))

    def begun_again(self) -> Watched:
        """Return what is kept at the end of a run: without evidence, the replays belong to the reference if it grows.

        All replays of a stretch join together, so the reference is not chosen by its outcome.
        """
        if evidence(self):
            return self
        grows = self.reference.total < LARGEST_REFERENCE
        return Watched(self.reference.plus(self.since) if grows else self.reference)

    def state(self, *, cases: int) -> DriftState:
        """Return what is shown of one of so many test cases that are watched together."""
        if self.reference.total < SMALLEST_REFERENCE:
            return "collecting"
        shown = evidence(self)
        if shown >= drop_evidence(cases):
            return "dropped"
        return "suspected" if shown >= SUSPECTED_EVIDENCE else "steady"


def drop_evidence(cases: int) -> float:
    """Return the evidence that shows a drop in one of so many test cases."""
    return DROP_EVIDENCE + max(0.0, log(cases / 10))


@lru_cache(1 << 14)
def evidence(watched: Watched) -> float:
    """Return the log likelihood ratio for a lower pass rate than in the reference; 0 for none, or while it is small."""
    reference, since = watched
    if reference.total < SMALLEST_REFERENCE or not since.failed:
        return 0.0
    # One more pass and failure keep a reference without failures from promising that there will be none.
    before = reference.plus(Counts(1, 1))
    if since.failed * before.total <= before.failed * since.total:
        return 0.0
    return max(0.0, _log_likelihood(before) + _log_likelihood(since) - _log_likelihood(before.plus(since)))


def _log_likelihood(counts: Counts) -> float:
    """Return the log likelihood of the counts at their own rate."""
    return sum(count * log(count / counts.total) for count in counts if count)
