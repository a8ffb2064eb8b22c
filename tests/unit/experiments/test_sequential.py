"""Bets that stay fair when they are looked at after every round."""

from __future__ import annotations

from math import comb, exp, inf, isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.experiments.sequential import Round, log_attainable, log_evidence, log_mean, log_wealth

pairs_and_failures = st.integers(1, 30).flatmap(lambda pairs: st.tuples(st.just(pairs), st.integers(0, 2 * pairs)))
odds_ratios = st.sampled_from([1.5, 2.0, 4.0, 9.0, inf])


def binomial(trials: int, rate: float) -> list[float]:
    return [comb(trials, k) * rate**k * (1 - rate) ** (trials - k) for k in range(trials + 1)]


def possible(pairs: int, failures: int) -> range:
    return range(max(0, failures - pairs), min(pairs, failures) + 1)


@given(pairs_and_failures, odds_ratios)
def test_the_bet_on_a_round_gains_nothing_on_average_whatever_the_number_of_failures(
    counts: tuple[int, int], odds: float
) -> None:
    pairs, failures = counts

    mean = sum(
        comb(pairs, x)
        * comb(pairs, failures - x)
        / comb(2 * pairs, failures)
        * exp(log_evidence(x, failures, pairs, odds))
        for x in possible(pairs, failures)
    )

    assert mean == pytest.approx(1)


@given(st.integers(1, 8), st.floats(0, 1), st.floats(0, 1), odds_ratios)
def test_the_bet_on_a_round_loses_on_average_if_the_candidate_fails_less_often(
    pairs: int, one: float, other: float, odds: float
) -> None:
    candidate, baseline = (binomial(pairs, rate) for rate in sorted((one, other)))

    mean = sum(
        candidate[x] * baseline[y] * exp(log_evidence(x, x + y, pairs, odds))
        for x in range(pairs + 1)
        for y in range(pairs + 1)
    )

    assert mean <= 1 + 1e-9


@given(pairs_and_failures, odds_ratios)
def test_each_failure_more_of_the_candidate_raises_the_evidence(counts: tuple[int, int], odds: float) -> None:
    pairs, failures = counts

    found = [log_evidence(x, failures, pairs, odds) for x in possible(pairs, failures)]

    assert found == sorted(found)
    assert found[-1] <= log_attainable(failures, pairs) + 1e-9


def test_no_failure_and_nothing_but_failures_show_nothing() -> None:
    assert [log_attainable(failures, 4) for failures in (0, 8)] == [0, 0]
    assert exp(log_attainable(4, 4)) == pytest.approx(70)


@given(st.floats(0.01, 0.99), st.floats(0, 1))
def test_bets_against_a_rate_gain_nothing_on_average_if_it_is_kept(rate: float, share: float) -> None:
    kept = rate + (1 - rate) * share
    gains = {True: -1.0, False: rate / (1 - rate)}

    mean = sum(
        chance * exp(log_wealth(((gains[True], passed), (gains[False], 5 - passed))))
        for passed, chance in enumerate(binomial(5, kept))
    )

    assert mean <= 1 + 1e-9


@given(st.lists(st.floats(-700, 700) | st.just(-inf), min_size=1, max_size=5))
def test_means_of_logs_lie_between_the_lowest_and_the_highest(logs: list[float]) -> None:
    mean = log_mean(logs, [1 / len(logs)] * len(logs))

    assert min(logs) <= mean or isclose(min(logs), mean, abs_tol=1e-9)
    assert mean <= max(logs) or isclose(max(logs), mean, abs_tol=1e-9)


@given(st.tuples(*[st.integers(0, 9)] * 4))
def test_a_mirrored_round_has_the_same_failures_in_all(counts: tuple[int, int, int, int]) -> None:
    each = Round(*counts)

    assert each.mirrored().failures == each.failures == each.candidate_failures + each.mirrored().candidate_failures
    assert each.mirrored().mirrored() == each
    assert each.plus(each).pairs == 2 * each.pairs
