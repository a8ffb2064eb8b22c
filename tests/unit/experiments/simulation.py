"""Simulated experiments, in which the true failure rates are known: how often each verdict is reached."""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from math import comb

from app.experiments.rounds import round_ends
from app.experiments.sequential import Round, TrialBounds
from app.experiments.sequential_test import SequentialTest
from app.experiments.statistics import default_repeats
from app.experiments.types import Design, Verdict

ALPHA = 0.05
MIN_SIGHTED = 0.5
Rates = tuple[float, float]  # the chances that a replay of the candidate, and of the baseline, fails


def design(detect: float) -> Design:
    least, most = default_repeats(detect)
    return Design(least, most, detect, ALPHA, min_pass_rate=None, max_slowdown=None, has_baseline=True)


@dataclass
class Tally:
    """The chances of the verdicts, and the mean number of replays of one test case and side."""

    chances: dict[Verdict, float] = field(default_factory=lambda: {"failed": 0.0, "inconclusive": 0.0, "passed": 0.0})
    replays: float = 0.0

    def add(self, verdict: Verdict, replays: float, chance: float) -> None:
        self.chances[verdict] += chance
        self.replays += replays * chance


def simulate(plan: Design, rates: Sequence[Rates], experiments: int) -> Tally:
    """Play so many experiments with test cases of these failure rates; the same arguments give the same tally."""
    draw, tally = random.Random(f"{plan} {rates}").random, Tally()
    for _ in range(experiments):
        tally.add(*_play(plan, rates, draw), 1 / experiments)
    return tally


def _play(plan: Design, rates: Sequence[Rates], draw: Callable[[], float]) -> tuple[Verdict, float]:
    test, played, end = SequentialTest(plan, len(rates)), 0, 0
    while (verdict := test.verdict) is None:
        pairs, end = (test.next_end or 0) - end, test.next_end or 0
        rounds = {index: TrialBounds.decided(_draw(pairs, rates[index], draw)) for index in test.open}
        played += pairs * len(rounds)
        test.add_round(rounds)
    too_blind = verdict == "passed" and test.states.count("blind") > len(rates) * (1 - MIN_SIGHTED)
    return "inconclusive" if too_blind else verdict, played / len(rates)


def _draw(pairs: int, rates: Rates, draw: Callable[[], float]) -> Round:
    rounds, sums = _distribution(pairs, rates)
    return rounds[min(bisect(sums, draw()), len(rounds) - 1)]


@lru_cache(1024)
def _distribution(pairs: int, rates: Rates) -> tuple[list[Round], list[float]]:
    """Return the rounds that so many pairs may become, and the cumulated chances of each."""
    candidate, baseline = rates
    chances = (candidate * (1 - baseline), (1 - candidate) * baseline, candidate * baseline)
    passed = (1 - candidate) * (1 - baseline)
    rounds = [
        Round(lost, gained, failed, pairs - lost - gained - failed)
        for lost in range(pairs + 1)
        for gained in range(pairs - lost + 1)
        for failed in range(pairs - lost - gained + 1)
    ]
    possible = [(_multinomial(each, (*chances, passed)), each) for each in rounds]
    likely = sorted((pair for pair in possible if pair[0]), reverse=True)
    return [each for _, each in likely], list(accumulate(chance for chance, _ in likely))


def _multinomial(counts: Round, chances: Sequence[float]) -> float:
    result, left = 1.0, counts.pairs
    for count, chance in zip(counts, chances, strict=True):
        result *= comb(left, count) * chance**count
        left -= count
    return result


def exactly(plan: Design, failure_rate: float, cases: int) -> Tally:
    """Return the exact chances of the verdicts if one test case fails with this chance and everything else passes.

    Only the failures of the candidate in that test case vary, and rounds of the same size may be exchanged.
    """
    tally, level, start = Tally(), {(): 1.0}, 0
    for end in round_ends(plan.repeats_min, plan.repeats_max):
        after = dict[tuple[int, ...], float]()
        for failures, chance in level.items():
            for more, weight in enumerate(_binomial(end - start, failure_rate)):
                state = (*failures[:1], *sorted((*failures[1:], more)))
                after[state] = after.get(state, 0.0) + chance * weight
        level = {}
        for failures, chance in after.items():
            if verdict := _replayed(plan, failures, cases).verdict:
                tally.add(verdict, (plan.repeats_min * (cases - 1) + end) / cases, chance)
            else:
                level[failures] = chance
        start = end
    return tally


def _replayed(plan: Design, failures: Sequence[int], cases: int) -> SequentialTest:
    test, start = SequentialTest(plan, cases), 0
    for failed in failures:
        pairs, start = (test.next_end or 0) - start, test.next_end or 0
        others = range(1, cases) if test.number == 0 else ()
        rounds = {0: Round(lost=failed, passed=pairs - failed), **{i: Round(passed=pairs) for i in others}}
        test.add_round({index: TrialBounds.decided(counted) for index, counted in rounds.items()})
    return test


def _binomial(trials: int, rate: float) -> list[float]:
    return [comb(trials, k) * rate**k * (1 - rate) ** (trials - k) for k in range(trials + 1)]


def fixed_repeats(rates: Rates, alpha: float, power: float, pooled: int = 1) -> int:
    """Return the smallest number of repeats by which Fisher's exact test finds the change with this power.

    It is looked at once, after that many repeats of each test case and side, `pooled` of which are counted together.
    """
    low, high = 1, 2
    while _power(high * pooled, rates, alpha) < power:
        low, high = high, 2 * high
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _power(middle * pooled, rates, alpha) >= power else (middle + 1, high)
    return low


def _power(trials: int, rates: Rates, alpha: float) -> float:
    candidate, baseline = (_binomial(trials, rate) for rate in rates)
    power = 0.0
    for failures in range(2 * trials + 1):
        most = min(trials, failures)
        chance = comb(trials, most) * comb(trials, failures - most) / comb(2 * trials, failures)
        p_value = chance
        for x in range(most, -1, -1):
            if p_value > alpha or failures - x > trials:
                break
            power += candidate[x] * baseline[failures - x]
            chance *= x * (trials - failures + x) / ((trials - x + 1) * (failures - x + 1))
            p_value += chance
    return power
