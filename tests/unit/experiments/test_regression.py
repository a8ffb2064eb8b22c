"""Tests whether any of many test cases got worse."""

from __future__ import annotations

import random
from itertools import combinations, product
from math import comb, exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.experiments.regression import Regression
from app.experiments.sequential import Round

PAIRS = 3
rounds = st.builds(
    lambda letters: Round(*(letters.count(each) for each in "lgfp")),
    st.text("lgfp", min_size=PAIRS, max_size=PAIRS),
)
cases = st.lists(rounds, min_size=1, max_size=6)
KEPT, BROKEN = Round(passed=PAIRS), Round(lost=PAIRS)


def rounds_of(failed: float) -> list[tuple[Round, float]]:
    """Return all rounds of two pairs with their chances, if both sides fail with the same chance."""
    chances = failed * (1 - failed), failed * (1 - failed), failed**2, (1 - failed) ** 2
    found = []
    for lost, gained, both in product(range(3), repeat=3):
        if (passed := 2 - lost - gained - both) >= 0:
            ways = comb(2, lost) * comb(2 - lost, gained) * comb(2 - lost - gained, both)
            counts = Round(lost, gained, both, passed)
            chance = ways * chances[0] ** lost * chances[1] ** gained * chances[2] ** both * chances[3] ** passed
            found.append((counts, chance))
    return found


@pytest.mark.parametrize("failed", [(0.05, 0.05), (0.1, 0.5), (0.5, 0.5), (0, 0.3), (1, 0.2)])
def test_all_bets_together_gain_nothing_on_average_whatever_the_failure_rates(failed: tuple[float, float]) -> None:
    mean = 0.0
    for (one, chance), (other, another) in product(*map(rounds_of, failed)):
        mean += chance * another * exp(Regression([one, other]).log_wealth())

    assert mean == pytest.approx(1)


@given(cases, rounds)
def test_a_later_round_of_a_test_case_gains_nothing_on_average(first: list[Round], later: Round) -> None:
    """Given the failures of both sides together, each is as likely to be the candidate's."""
    before, mean = Regression(first).log_wealth(), 0.0
    most = min(PAIRS, later.failures)
    for x in range(max(0, later.failures - PAIRS), most + 1):
        bets = Regression(first)
        y = later.failures - x
        bets.add(0, Round(lost=x, gained=y, passed=PAIRS - x - y) if x + y <= PAIRS else _overlapping(x, y))
        mean += comb(PAIRS, x) * comb(PAIRS, y) / comb(2 * PAIRS, x + y) * exp(bets.log_wealth())

    assert mean == pytest.approx(exp(before))


def _overlapping(x: int, y: int) -> Round:
    both = x + y - PAIRS
    return Round(lost=x - both, gained=y - both, failed=both)


@given(cases, st.randoms(use_true_random=False))
def test_the_order_of_the_test_cases_changes_nothing(first: list[Round], shuffled: random.Random) -> None:
    order = list(range(len(first)))
    shuffled.shuffle(order)

    bets, moved = Regression(first), Regression([first[i] for i in order])

    assert moved.log_wealth() == pytest.approx(bets.log_wealth(), abs=1e-9)
    assert {order[i] for i in moved.regressed(0.3)} == set(bets.regressed(0.3))


@given(cases)
def test_test_cases_that_are_shown_to_be_worse_fail_the_whole(first: list[Round]) -> None:
    bets = Regression(first)

    assert not bets.regressed(0.3) or bets.log_wealth() >= -log(0.3) - 1e-9


@given(cases)
def test_a_test_case_is_shown_only_if_every_set_that_holds_it_refutes(first: list[Round]) -> None:
    bets = Regression(first)
    bar = 1 / (0.3 * bets._share_alone)

    shown = bets.regressed(0.3)

    for i in range(len(first)):
        sets = [s for size in range(len(first)) for s in combinations(range(len(first)), size + 1) if i in s]
        least = min(
            sum(bets._weights[j] * exp(bets._wealth[j]) for j in s) / sum(bets._weights[j] for j in s) for s in sets
        )
        assert (i in shown) == (least >= bar) or least == pytest.approx(bar)


def test_test_cases_in_which_nothing_failed_cost_a_broken_one_a_tenth_at_most() -> None:
    alone, among = Regression([BROKEN]), Regression([BROKEN, *[KEPT] * 49])

    assert among.log_wealth() >= alone.log_wealth() + log(0.9)


def test_a_test_case_that_always_fails_on_both_sides_costs_no_more_than_one_that_always_passes() -> None:
    failing = Regression([BROKEN, *[Round(failed=PAIRS)] * 9])

    assert failing.log_wealth() == pytest.approx(Regression([BROKEN, *[KEPT] * 9]).log_wealth())


def test_a_small_drop_everywhere_is_found_though_no_single_test_case_shows_it() -> None:
    bets = Regression([Round(lost=1, passed=3)] * 9)

    assert bets.log_wealth() >= -log(0.05)
    assert bets.regressed(0.05) == ()
