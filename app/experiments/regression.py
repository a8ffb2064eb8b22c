"""Tests whether a candidate passes less often than its baseline, over all test cases at once.

Two bets share the capital. One is on single test cases: the weighted mean of their wealth, which is valid however they
depend on each other (Vovk and Wang, "E-values: calibration, combination, and applications", Annals of Statistics 49,
2021). The other is on a small drop in all of them: the product of their wealth, which is valid as their trials are
independent.
The weights follow from the first round alone, and there from the number of failures of both sides together, which
does not tell who failed. So they leave the bets fair, and a test case in which nothing failed costs the others hardly
anything: Tarone, "A modified Bonferroni method for discrete data" (Biometrics 46, 1990), with e-values.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log

from app.experiments.sequential import ALONE, TOGETHER, Round, log_attainable, log_evidence, log_mean

RESERVE = 0.1  # the share of the weight for test cases whose first round cannot tell anything


def weights(first: Sequence[Round]) -> list[float]:
    """Return the share of each test case in the bets on single ones, from its first round; they sum to 1."""
    evident = [log_attainable(each.failures, each.pairs) for each in first]
    silent = evident.count(0)
    if silent == len(first):
        return [1 / silent] * silent
    total = sum(evident) / (1 - RESERVE if silent else 1)
    return [each / total if each else RESERVE / silent for each in evident]


def log_alone(rounds: Sequence[Round]) -> float:
    """Return the log wealth of the bets on one test case after its rounds."""
    return _mixture(rounds, ALONE)


def _mixture(rounds: Sequence[Round], bets: Sequence[tuple[float, float]]) -> float:
    logs = [sum(log_evidence(r.lost + r.failed, r.failures, r.pairs, odds) for r in rounds) for odds, _ in bets]
    return log_mean(logs, [share for _, share in bets])


def share_alone(first: Sequence[Round]) -> float:
    """Return the share of the capital that is bet on single test cases: all of it if only one can tell anything."""
    return 1.0 if sum(log_attainable(each.failures, each.pairs) > 0 for each in first) <= 1 else 0.5


def log_wealth(cases: Sequence[Sequence[Round]]) -> float:
    """Return the log wealth of all bets after the rounds of each test case, one at least."""
    first = [rounds[0] for rounds in cases]
    alone = log_mean([log_alone(rounds) for rounds in cases], weights(first))
    share = share_alone(first)
    together = _mixture([each for rounds in cases for each in rounds], TOGETHER)
    return log_mean([alone, together], [share, 1 - share])


def regressed(cases: Sequence[Sequence[Round]], alpha: float) -> tuple[int, ...]:
    """Return the indexes of the test cases that each fail more often with the candidate, all of them true but for α.

    A test case counts if every set of test cases that holds it is refuted by its weighted mean: the closure principle,
    Vovk and Wang (2021) §6. The set that refutes least holds those whose wealth is below its own mean.
    """
    first = [rounds[0] for rounds in cases]
    bar = -log(alpha * share_alone(first))
    ordered = sorted(zip(map(log_alone, cases), weights(first), range(len(cases)), strict=True))
    return tuple(sorted(i for wealth, share, i in ordered if wealth >= bar and _least(wealth, share, ordered) >= bar))


def _least(wealth: float, share: float, ordered: Sequence[tuple[float, float, int]]) -> float:
    """Return the least log of a mean wealth over a set that holds the test case of this wealth and share."""
    total, weight = share, share  # in units of the wealth
    for other, part, _ in ordered:
        relative = exp(other - wealth)
        if relative >= total / weight:
            break
        total, weight = total + part * relative, weight + part
    return wealth + log(total / weight)
