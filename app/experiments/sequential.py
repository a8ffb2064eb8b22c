"""Bets against a hypothesis, which stay fair when they are looked at after every round.

The wealth of a bet starts at 1 and is a nonnegative supermartingale if the hypothesis is true. So by Ville's inequality
it ever reaches 1/α with a chance of at most α: Shafer, "Testing by betting" (JRSS A 184, 2021); Ramdas, Grünwald, Vovk
and Shafer, "Game-theoretic statistics and safe anytime-valid inference" (Statistical Science 38, 2023). Wealth is
given as its natural logarithm, which no product overflows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import comb, exp, inf, log
from typing import NamedTuple

FRACTIONS = (0.8, 0.4)  # of the wealth, staked on every trial by `log_wealth`


class Round(NamedTuple):
    """The pairs of trials of one test case in one round, counted by their outcomes.

    A pair is a trial of the candidate and the trial of the baseline with the same ordinal.
    """

    lost: int = 0  # the candidate failed, the baseline passed
    gained: int = 0  # the candidate passed, the baseline failed
    failed: int = 0  # both failed
    passed: int = 0  # both passed

    @property
    def pairs(self) -> int:
        return sum(self)

    @property
    def candidate_failures(self) -> int:
        return self.lost + self.failed

    @property
    def failures(self) -> int:
        """Those of both sides."""
        return self.lost + self.gained + 2 * self.failed

    def plus(self, other: Round) -> Round:
        return Round(*map(sum, zip(self, other, strict=True)))

    def mirrored(self) -> Round:
        """Return the round with candidate and baseline exchanged."""
        return Round(self.gained, self.lost, self.failed, self.passed)


class TrialBounds(NamedTuple):
    """The pairs of trials of one test case, counted twice, because a trial may need review or be void.

    `best` is the best case for the candidate: its undecided trials pass, and undecided trials of the baseline fail.
    `worst` is the worst case for the candidate. A candidate fails only by what holds in the best case, and passes only
    by what holds in the worst case.
    """

    best: Round = Round()
    worst: Round = Round()

    @classmethod
    def decided(cls, counted: Round) -> TrialBounds:
        """Return pairs in which each trial has passed or failed."""
        return cls(counted, counted)

    @property
    def undecided(self) -> int:
        """The candidate's undecided trials."""
        return self.worst.candidate_failures - self.best.candidate_failures

    def plus(self, other: TrialBounds) -> TrialBounds:
        return TrialBounds(self.best.plus(other.best), self.worst.plus(other.worst))


@lru_cache(1 << 16)
def log_evidence(candidate: int, failures: int, pairs: int, odds: float) -> float:
    """Return the log wealth of a bet on the number of the candidate's failures among all `failures` of a round.

    If the candidate fails as often as the baseline, then each failure of the round is as likely to be the candidate's,
    whatever the failure rate is: their number is hypergeometric. If the candidate's odds of failing are `odds` times
    as high, it is Fisher's noncentral hypergeometric ("The logic of inductive inference", JRSS 98, 1935). The bet is
    their likelihood ratio. It grows with `candidate`, so it gains nothing either if the candidate fails less often.
    """
    every = comb(2 * pairs, failures)
    most = min(failures, pairs)
    if odds == inf:
        return log(every / _ways(most, failures, pairs)) if candidate == most else -inf
    weighted = sum(_ways(j, failures, pairs) * odds**j for j in range(max(0, failures - pairs), most + 1))
    return log(every / weighted) + candidate * log(odds)


def log_attainable(failures: int, pairs: int) -> float:
    """Return the greatest log wealth that a round with so many failures can bring; 0 if it can bring no evidence."""
    return log_evidence(min(failures, pairs), failures, pairs, inf)


def _ways(candidate: int, failures: int, pairs: int) -> int:
    return comb(pairs, candidate) * comb(pairs, failures - candidate)


@lru_cache(1 << 16)
def log_wealth(gains: tuple[tuple[float, int], ...]) -> float:
    """Return the log wealth of bets on payoffs with a mean of 0 or less if the hypothesis is true.

    `gains` are payoffs, each -1 or more, with the number of times that each was paid. The capital is split over fixed
    fractions of the wealth that each trial stakes: Waudby-Smith and Ramdas, "Estimating means of bounded random
    variables by betting" (JRSS B 86, 2024).
    """
    logs = [sum(times * log(1 + share * payoff) for payoff, times in gains) for share in FRACTIONS]
    return log_mean(logs, [1 / len(FRACTIONS)] * len(FRACTIONS))


def log_mean(logs: Sequence[float], weights: Sequence[float]) -> float:
    """Return the log of the weighted sum of the exponentials of `logs`."""
    top = max(logs)
    if top == -inf:
        return top
    total = sum(weight * exp(wealth - top) for wealth, weight in zip(logs, weights, strict=True))
    return top + log(total) if total else -inf
