"""Tests the hypothesis that the candidate passes as often as its baseline in every test case.

Two bets share the capital. One is on single test cases: the weighted mean of their wealth, which is fair however they
depend on each other. The other is on a drop in all of them: the product of their wealth, which is fair as each replay
is independent of the others. Both merge as in Vovk and Wang, "E-values: calibration, combination and applications"
(Annals of Statistics 49, 2021). The weights depend on the number of failures in the first round, both sides together.
This number does not reveal the side that failed, so the bets stay fair. A test case without failures costs the others
hardly anything: that is Tarone, "A modified Bonferroni method for discrete data" (Biometrics 46, 1990), for bets.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from math import exp, inf, log

from app.experiments.sequential import Round, log_attainable, log_evidence, log_mean

# The odds ratios that are bet on, with their shares of the capital. A step that broke makes the candidate fail where
# the baseline never does; the finite ratios survive a failure of the baseline. A drop in all test cases is smaller.
ALONE = ((inf, 0.5), (9.0, 0.25), (4.0, 0.25))
TOGETHER = ((2.0, 0.5), (4.0, 0.5))
RESERVE = 0.1  # the weight of all test cases without evidence in their first round
_DIGITS = 9  # kept of a log wealth, as the order of the test cases decides on the last ones of a sum
_SHARES_ALONE, _SHARES_TOGETHER = ([share for _, share in bets] for bets in (ALONE, TOGETHER))


def log_threshold(alpha: float) -> float:
    """Return the log wealth that refutes the hypothesis, wrongly with the chance `alpha` at most."""
    return round(-log(alpha), _DIGITS)


class Regression:
    """The bets after the rounds so far, from the first round of each test case on."""

    def __init__(self, first: Sequence[Round]) -> None:
        self._weights, self._share_alone = _weights(first)
        self._alone = [[0.0] * len(ALONE) for _ in first]
        self._together = [0.0] * len(TOGETHER)
        self._wealth = [0.0] * len(first)
        for index, round_ in enumerate(first):
            self.add(index, round_)

    def add(self, index: int, played: Round) -> None:
        """Pay the bets on one more round of a test case."""
        alone, together = _evidence(played.candidate_failures, played.failures, played.pairs)
        self._alone[index] = [sum(pair) for pair in zip(self._alone[index], alone, strict=True)]
        self._together = [sum(pair) for pair in zip(self._together, together, strict=True)]
        self._wealth[index] = log_mean(self._alone[index], _SHARES_ALONE)

    def log_wealth(self) -> float:
        """Return the log wealth of all bets."""
        parts = log_mean(self._wealth, self._weights), log_mean(self._together, _SHARES_TOGETHER)
        return round(log_mean(parts, (self._share_alone, 1 - self._share_alone)), _DIGITS)

    def regressed(self, alpha: float) -> tuple[int, ...]:
        """Return the indexes of the test cases that got worse; the chance that any did not is at most `alpha`.

        A test case is shown if the weighted mean over every set of test cases that contains it is high enough: the
        closure principle, Vovk and Wang (2021), section 6. The lowest mean is that with all test cases of a wealth
        below the mean.
        """
        bar = log_threshold(alpha * self._share_alone)
        ordered = sorted(zip(self._wealth, self._weights, range(len(self._wealth)), strict=True))
        sums = list(accumulate(ordered, _added, initial=(-inf, 0.0)))
        return tuple(sorted(i for wealth, share, i in ordered if _lowest_mean(wealth, share, ordered, sums) >= bar))


@lru_cache(1 << 16)
def _evidence(candidate: int, failures: int, pairs: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    alone, together = (
        tuple(log_evidence(candidate, failures, pairs, odds) for odds, _ in bets) for bets in (ALONE, TOGETHER)
    )
    return alone, together


def _weights(first: Sequence[Round]) -> tuple[list[float], float]:
    """Return the weight of each test case, 1 in total, and the share of the capital for the bets on single ones.

    Weights grow with the possible evidence of the first round. If only one test case can give evidence, no drop in all
    of them is bet on.
    """
    attainable = [log_attainable(round_.failures, round_.pairs) for round_ in first]
    silent = attainable.count(0)
    if silent == len(first):
        return [1 / silent] * silent, 1.0
    total = sum(attainable) / (1 - RESERVE if silent else 1)
    weights = [evidence / total if evidence else RESERVE / silent for evidence in attainable]
    return weights, 1.0 if silent == len(first) - 1 else 0.5


def _added(sums: tuple[float, float], case: tuple[float, float, int]) -> tuple[float, float]:
    """Return the log of the weighted sum of wealth, and the sum of weights, with one more test case."""
    (log_sum, weight), (wealth, part, _) = sums, case
    return log_mean((log_sum, wealth), (1, part)), weight + part


def _lowest_mean(
    wealth: float, share: float, ordered: Sequence[tuple[float, float, int]], sums: Sequence[tuple[float, float]]
) -> float:
    """Return the lowest log mean over a set that contains the test case of this wealth and share.

    The others of the set are the first ones in order of wealth, up to the first with a wealth above their mean: one
    below the mean lowers it, and no later one does. So the count of the others is found by bisection.
    """
    if wealth <= 0:
        return wealth

    def mean(count: int) -> float:  # with the first `count` others; divided by the wealth, as `exp` would overflow
        log_sum, weight = sums[count]
        return (share + exp(log_sum - wealth)) / (share + weight)

    def is_above(count: int) -> bool:
        other = ordered[count][0]
        return other >= wealth or exp(other - wealth) >= mean(count)

    return round(wealth + log(mean(bisect_left(range(len(ordered)), True, key=is_above))), _DIGITS)
