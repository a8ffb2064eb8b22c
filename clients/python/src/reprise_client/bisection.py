"""Finds the version with which a test case began to fail more often, from replays that may fail by chance.

Either the test case fails equally often with all versions, or more often from one version on; how often is not known.
Both hypotheses have the prior probability of one half, and all places of the change are equally probable. Shares of
failures have Jeffreys' prior, so the evidence of a run of replays is the estimate of Krichevsky and Trofimov (1981).
The version that is played next is the median of the change, as in the probabilistic bisection of Horstein (1963):
where replays of a version disagree, the median stays near it, and it is played again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import exp, inf, lgamma, log

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Tally:
    """The replays of one version, or of several."""

    passed: int = 0
    failed: int = 0

    @property
    def runs(self) -> int:
        return self.passed + self.failed

    @property
    def failure_rate(self) -> float:
        return self.failed / self.runs if self.runs else 0.0

    def plus(self, other: Tally) -> Tally:
        return Tally(self.passed + other.passed, self.failed + other.failed)

    def minus(self, other: Tally) -> Tally:
        return Tally(self.passed - other.passed, self.failed - other.failed)


@dataclass(frozen=True, slots=True)
class Play:
    """So many replays of the version with this index are wanted next."""

    index: int
    times: int


@dataclass(frozen=True, slots=True)
class Found:
    """The test case fails more often from the version with this index on. `chance` is its probability."""

    index: int
    chance: float


@dataclass(frozen=True, slots=True)
class NoChange:
    """The test case does not fail more often with the last version than with the first."""


def next_step(tallies: Sequence[Tally], repeats: int) -> Play | Found | NoChange:
    """Return what follows from the replays of the versions, oldest first; there are two versions at least.

    The last and the first are played `repeats` times before anything is concluded.
    """
    first, last = tallies[0], tallies[-1]
    if last.runs < repeats:
        return Play(len(tallies) - 1, repeats - last.runs)
    if last.failed and first.runs < repeats:
        return Play(0, repeats - first.runs)
    chances = posterior(tallies)
    if last.failure_rate <= first.failure_rate or chances[0] >= CONFIDENCE:
        return NoChange()
    likeliest = max(range(1, len(chances)), key=chances.__getitem__)
    if chances[likeliest] >= CONFIDENCE:
        return Found(likeliest, chances[likeliest])
    return Play(_most_telling(tallies, chances, likeliest), 1)


def best_guess(tallies: Sequence[Tally]) -> Found:
    """Return the likeliest place of a change, however improbable."""
    chances = posterior(tallies)
    likeliest = max(range(1, len(chances)), key=chances.__getitem__)
    return Found(likeliest, chances[likeliest])


def posterior(tallies: Sequence[Tally]) -> list[float]:
    """Return the probability that nothing changed, at index 0, and that each later version is the change."""
    places = len(tallies) - 1
    before = list(accumulate(tallies, Tally.plus))
    total = before[-1]
    logs = [_log_evidence(total)]
    logs += [_log_change(tally, total.minus(tally)) - log(places) for tally in before[:-1]]
    most = max(logs)
    weights = [exp(log_weight - most) for log_weight in logs]
    return [weight / sum(weights) for weight in weights]


def _log_change(before: Tally, after: Tally) -> float:
    """Return the logarithm of the evidence of two shares of failures, impossible where the later one is no greater."""
    if before.runs and after.runs and after.failure_rate <= before.failure_rate:
        return -inf
    return _log_evidence(before) + _log_evidence(after)


def _log_evidence(tally: Tally) -> float:
    """Return the logarithm of the probability of these results in their order, whatever the share of failures is."""
    half = lgamma(tally.passed + 0.5) + lgamma(tally.failed + 0.5) - 2 * lgamma(0.5)
    return half - lgamma(tally.runs + 1)


def _most_telling(tallies: Sequence[Tally], chances: Sequence[float], likeliest: int) -> int:
    """Return the version to play: the median of the change, or where that is clear, the neighbor with fewer replays."""
    changed = sum(chances[1:])
    if chances[likeliest] >= CONFIDENCE * changed:
        return min(likeliest - 1, likeliest, key=lambda index: tallies[index].runs)
    return min(_cumulated(chances), key=lambda cumulated: abs(cumulated[1] - changed / 2))[0]


def _cumulated(chances: Sequence[float]) -> Iterator[tuple[int, float]]:
    """Yield each version with the probability that it has the change in it."""
    return enumerate(accumulate(chances[1:]), 1)
