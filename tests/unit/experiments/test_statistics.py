"""Figures about one test case."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.experiments.statistics import default_repeats, detectable, pass_k, percentile, wilson_interval

runs_and_passed = st.integers(1, 100).flatmap(lambda runs: st.tuples(st.just(runs), st.integers(0, runs)))


@given(runs_and_passed)
def test_an_interval_holds_the_pass_rate_and_stays_between_0_and_1(counts: tuple[int, int]) -> None:
    runs, passed = counts

    low, high = wilson_interval(passed, runs)

    assert 0 <= low <= passed / runs <= high <= 1
    assert low < high


@given(runs_and_passed)
def test_the_interval_of_failures_mirrors_that_of_passes(counts: tuple[int, int]) -> None:
    runs, passed = counts

    low, high = wilson_interval(passed, runs)

    assert wilson_interval(runs - passed, runs) == (pytest.approx(1 - high), pytest.approx(1 - low))


@pytest.mark.parametrize(
    ("passed", "runs", "interval"),
    [(0, 10, (0, 0.2775)), (5, 10, (0.2366, 0.7634)), (9, 10, (0.5958, 0.9821)), (0, 0, (0, 1))],
)
def test_intervals_are_those_of_the_published_tables(passed: int, runs: int, interval: tuple[float, float]) -> None:
    assert wilson_interval(passed, runs) == pytest.approx(interval, abs=5e-5)


@given(st.lists(st.booleans(), min_size=1, max_size=8))
def test_pass_k_is_the_share_of_draws_of_k_replays_that_all_pass(results: list[bool]) -> None:
    for k, estimate in enumerate(pass_k(sum(results), len(results)), 1):
        draws = [all(draw) for draw in combinations(results, k)]
        assert estimate == pytest.approx(sum(draws) / len(draws))


def test_percentiles_lie_between_the_values_next_to_them() -> None:
    assert percentile([300.0, 100.0, 200.0], 0.5) == 200
    assert percentile([100.0, 200.0], 0.5) == 150
    assert percentile([float(n) for n in range(101)], 0.95) == 95
    assert percentile([7.0], 0.95) == 7
    assert percentile([], 0.5) is None


@pytest.mark.parametrize(
    ("detect", "repeats"),
    [(0.5, (4, 40)), (0.33, (6, 60)), (0.25, (9, 90)), (0.9, (1, 10)), (0.999, (1, 10)), (1e-320, (100, 100))],
)
def test_repeats_follow_from_what_must_not_slip_through(detect: float, repeats: tuple[int, int]) -> None:
    assert default_repeats(detect) == repeats


@given(st.floats(0.03, 0.99))
def test_the_smallest_number_of_repeats_would_show_what_must_not_slip_through(detect: float) -> None:
    least, most = default_repeats(detect)

    assert detectable(least) <= detect + 1e-9
    assert least == 1 or detectable(least - 1) > detect - 1e-9
    assert least <= most <= 100


def test_four_replays_that_pass_would_have_shown_a_failure_rate_of_44_percent() -> None:
    assert detectable(4) == pytest.approx(0.4377, abs=1e-4)
    assert detectable(0) is None
