"""The watch for drops of unchanged content: what it finds, how often it is wrong, and what it plays."""

from __future__ import annotations

from bisect import bisect
from functools import lru_cache
from itertools import accumulate
from math import comb
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.experiments.drift import (
    LARGEST_REFERENCE,
    ROUNDS_MAX,
    SMALLEST_REFERENCE,
    Counts,
    Watched,
    drop_evidence,
    evidence,
)

CASES, DAYS, ROUND = 10, 30, 10
counts = st.builds(Counts, st.integers(0, 400), st.integers(0, 100))
watched = st.builds(Watched, counts, counts)


@lru_cache
def _cumulated(rate: float) -> list[float]:
    return [*accumulate(comb(ROUND, k) * rate**k * (1 - rate) ** (ROUND - k) for k in range(ROUND + 1))]


def a_round(random: Random, rate: float) -> Counts:
    failed = min(ROUND, bisect(_cumulated(rate), random.random()))
    return Counts(ROUND - failed, failed)


def reference_of(random: Random, replays: int, rate: float) -> Watched:
    failed = sum(random.random() < rate for _ in range(replays))
    return Watched(Counts(replays - failed, failed))


def first_alarm(random: Random, case: Watched, days: int, rate: float) -> tuple[int | None, int]:
    """Play one of `CASES` test cases that fails at this rate; returns the day of the drop, and the replays."""
    replays = 0
    for day in range(1, days + 1):
        for _ in range(ROUNDS_MAX):
            case, replays = case.plus(a_round(random, rate)), replays + ROUND
            if case.state(cases=CASES) != "suspected":
                break
        if case.state(cases=CASES) == "dropped":
            return day, replays
        case = case.begun_again()
    return None, replays


@pytest.mark.slow
def test_a_drop_from_95_to_80_percent_in_one_of_ten_test_cases_is_found_within_three_days() -> None:
    random, series = Random(48), 1000
    rates = {}
    for size in (100, 200, 300):
        played = [first_alarm(random, reference_of(random, size, 0.05), 3, 0.2) for _ in range(series)]
        rates[size] = sum(day is not None for day, _ in played) / series
        replays = sum(replays for _, replays in played) / series
        print(
            f"reference {size}: found in {rates[size]:.1%} of {series} series, {replays:.0f} replays of the test case"
        )
    assert rates[LARGEST_REFERENCE] >= 0.9


@pytest.mark.slow
def test_false_alarms_of_ten_test_cases_are_below_one_percent_a_month() -> None:
    random, series, wrong, months = Random(48), 1000, 0, 0
    for size in (0, LARGEST_REFERENCE):
        for rate in (0.0, 0.01, 0.05, 0.1, 0.2, 0.4):
            played = [first_alarm(random, reference_of(random, size, rate), DAYS, rate) for _ in range(series)]
            false = sum(day is not None for day, _ in played)
            daily = CASES * sum(replays for _, replays in played) / series / DAYS
            print(f"reference {size}, failing {rate:.0%}: {false} false alarms in {series} months of one test case")
            print(f"  ten test cases have {daily:.0f} replays a day")
            wrong, months = wrong + false, months + series
    monthly = 1 - (1 - wrong / months) ** CASES
    print(f"ten test cases: {monthly:.2%} of months have a false alarm")
    assert monthly < 0.01


@given(watched)
def test_passes_never_add_evidence_and_failures_never_remove_it(case: Watched) -> None:
    shown = evidence(case)
    assert shown >= 0
    assert evidence(case.plus(Counts(passed=1))) <= shown + 1e-9
    assert evidence(case.plus(Counts(failed=1))) >= shown - 1e-9


@given(watched, counts, counts)
def test_the_order_of_a_runs_rounds_does_not_matter(case: Watched, first: Counts, second: Counts) -> None:
    assert case.plus(first).plus(second) == case.plus(second).plus(first)


@given(watched)
def test_no_replay_is_lost_or_counted_twice_while_the_reference_grows(case: Watched) -> None:
    after = case.begun_again()
    is_kept = case.reference.total < LARGEST_REFERENCE or evidence(case) > 0
    if is_kept:
        assert after.reference.plus(after.since) == case.reference.plus(case.since)
    else:
        assert after == Watched(case.reference)
    assert after.begun_again() == after


@given(counts)
def test_a_small_reference_shows_no_drop(since: Counts) -> None:
    case = Watched(Counts(SMALLEST_REFERENCE - 1, 0), since)
    assert case.state(cases=1) == "collecting"
    assert not case.begun_again().since.total


def test_a_large_drop_is_shown_by_the_first_rounds() -> None:
    case = Watched(Counts(SMALLEST_REFERENCE, 0))
    assert case.plus(Counts(0, 10)).state(cases=CASES) == "dropped"
    assert case.plus(Counts(10, 0)).state(cases=CASES) == "steady"


def test_more_test_cases_need_more_evidence() -> None:
    assert drop_evidence(1) == drop_evidence(10) < drop_evidence(20) < drop_evidence(1000)
