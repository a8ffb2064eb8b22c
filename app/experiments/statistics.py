"""Figures about one test case, and how many repeats show a given rate of failures."""

from collections.abc import Sequence
from math import ceil, comb, log, log1p, sqrt
from statistics import NormalDist

# The chance that a step with the failure rate `detect` never fails in the smallest number of repeats.
MISSED = 0.1
MOST_REPEATS = 100
DETECT = 0.25  # the failure rate that an experiment finds if no other is requested


def wilson_interval(passed: int, runs: int) -> tuple[float, float]:
    """Return the bounds of the pass rate with 95 % confidence, each from 0 to 1; (0, 1) without runs.

    Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927).
    """
    if not runs:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.975)
    rate, shrink = passed / runs, 1 + z * z / runs
    middle = (rate + z * z / (2 * runs)) / shrink
    half = z / shrink * sqrt(rate * (1 - rate) / runs + z * z / (4 * runs * runs))
    low = max(0.0, middle - half) if passed else 0.0
    return low, min(1.0, middle + half) if passed < runs else 1.0


def pass_k(passed: int, runs: int) -> tuple[float, ...]:
    """Return pass^1 to pass^runs: the chances that k replays in a row all pass, each estimated without bias.

    C(passed, k) / C(runs, k), from Yao et al., "τ-bench: A benchmark for tool-agent-user interaction in real-world
    domains" (2024).
    """
    return tuple(comb(passed, k) / comb(runs, k) for k in range(1, runs + 1))


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return the value below which `share` (0 to 1) of the values lie, interpolated linearly; None without values."""
    if not values:
        return None
    ordered = sorted(values)
    below, part = divmod(share * (len(ordered) - 1), 1)
    low, high = ordered[int(below)], ordered[min(int(below) + 1, len(ordered) - 1)]
    return low + (high - low) * part


def default_repeats(detect: float, candidates: int = 1) -> tuple[int, int]:
    """Return the smallest and the largest number of repeats: (9, 90) for 0.25, (4, 40) for 0.5.

    In the smallest number of repeats, a step with the failure rate `detect` passes each time with a chance of at most
    `MISSED`, shared by the candidates. There are never more than `MOST_REPEATS`.
    """
    least = ceil(min(MOST_REPEATS, log(MISSED / candidates) / log1p(-detect)))
    return least, default_most(least)


def default_most(least: int) -> int:
    """Return the largest number of repeats for the smallest one. Few test cases need as many."""
    return min(MOST_REPEATS, 10 * least)


def detectable(runs: int, missed: float = MISSED) -> float | None:
    """Return the failure rate that shows no failure in `runs` replays with the chance `missed`; None for 0 runs."""
    return 1 - missed ** (1 / runs) if runs else None
