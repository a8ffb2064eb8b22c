"""Tests of a test case that stay valid when they are looked at after every round.

Each test bets against the hypothesis that it would refute. Its wealth is a nonnegative supermartingale that starts at
1 if the hypothesis is true, so by Ville's inequality it ever reaches 1/α with a chance of at most α: Shafer, "Testing
by betting" (JRSS A 184, 2021); Ramdas, Grünwald, Vovk and Shafer, "Game-theoretic statistics and safe anytime-valid
inference" (Statistical Science 38, 2023). All wealth is given as its natural logarithm, which no product overflows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from math import comb, exp, inf, log
from typing import NamedTuple

# Shares of the capital by the odds ratio that they bet on. A step that broke makes the candidate fail where the
# baseline never does; the finite ratios survive a failure of the baseline.
ALONE = ((inf, 0.5), (9.0, 0.25), (4.0, 0.25))
TOGETHER = ((2.0, 0.5), (4.0, 0.5))
FRACTIONS = (1.0, 0.75, 0.5, 0.25)  # of the wealth, staked on each trial by `log_wealth`


class Round(NamedTuple):
    """The pairs of trials of one test case in one round, counted; a pair shares its ordinal."""

    lost: int  # the candidate failed, the baseline passed
    gained: int  # the candidate passed, the baseline failed
    failed: int  # both failed
    passed: int  # both passed

    @property
    def failures(self) -> int:
        return self.lost + self.gained + 2 * self.failed

    @property
    def pairs(self) -> int:
        return sum(self)

    def mirrored(self) -> Round:
        return Round(self.gained, self.lost, self.failed, self.passed)


@cache
def log_evidence(candidate: int, failures: int, pairs: int, odds: float) -> float:
    """Return the log likelihood ratio of `candidate` failures among all `failures` of a round, for the odds ratio.

    If the candidate fails as often as the baseline, then each failure of the round is as likely to be the candidate's:
    their number is hypergeometric, whatever the failure rate. If the candidate's odds of failing are `odds` times the
    baseline's, it is Fisher's noncentral hypergeometric. The ratio grows with `candidate`, so its mean is at most 1
    too when the candidate fails less often. Fisher, "The logic of inductive inference" (JRSS 98, 1935).
    """
    all_ways = comb(2 * pairs, failures)
    most = min(failures, pairs)
    if odds == inf:
        return log(all_ways / _ways(most, failures, pairs)) if candidate == most else -inf
    weighted = sum(_ways(j, failures, pairs) * odds**j for j in range(max(0, failures - pairs), most + 1))
    return log(all_ways / weighted) + candidate * log(odds)


@cache
def log_attainable(failures: int, pairs: int) -> float:
    """Return the greatest `log_evidence` that a round with so many failures can hold; 0 if it cannot tell anything."""
    return log_evidence(min(failures, pairs), failures, pairs, inf)


def _ways(candidate: int, failures: int, pairs: int) -> int:
    return comb(pairs, candidate) * comb(pairs, failures - candidate)


def log_wealth(gains: Iterable[tuple[float, int]]) -> float:
    """Return the log wealth of bets on payoffs that are 0 on average, or less, if the hypothesis is true.

    `gains` are payoffs, each -1 or more, with the number of times that each was paid. The capital is split over fixed
    fractions of the wealth that each trial stakes: Waudby-Smith and Ramdas, "Estimating means of bounded random
    variables by betting" (JRSS B 86, 2024).
    """
    paid = [(payoff, times) for payoff, times in gains if times]
    logs = [sum(times * _log(1 + share * payoff) for payoff, times in paid) for share in FRACTIONS]
    return log_mean(logs, [1 / len(FRACTIONS)] * len(FRACTIONS))


def _log(value: float) -> float:
    return log(value) if value > 0 else -inf


def log_mean(logs: Sequence[float], weights: Sequence[float]) -> float:
    """Return the log of the weighted sum of what the logs stand for."""
    top = max(logs, default=-inf)
    if top == -inf:
        return -inf
    return top + _log(sum(weight * exp(each - top) for each, weight in zip(logs, weights, strict=True)))
