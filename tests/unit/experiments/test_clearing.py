"""Clears test cases: excludes that the candidate is worse than the design allows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.experiments.clearing import is_below, is_open
from app.experiments.rounds import round_ends
from app.experiments.sequential import Round
from app.experiments.types import Design

DESIGN = Design(4, 20, 0.5, 0.05, min_pass_rate=None, max_slowdown=None, has_baseline=True)
RATE = replace(DESIGN, has_baseline=False, min_pass_rate=0.8)


@pytest.mark.parametrize(
    ("total", "left"),
    [
        (Round(passed=3), True),
        (Round(passed=4), False),
        (Round(failed=4), False),
        (Round(gained=4), False),
        (Round(lost=1, passed=3), True),
        (Round(lost=1, passed=9), False),
        (Round(lost=8, passed=12), True),
        (Round(lost=4, gained=4, failed=6, passed=6), False),
    ],
)
def test_a_test_case_is_open_until_a_drop_by_detect_is_excluded(total: Round, left: bool) -> None:
    assert is_open(DESIGN, total) is left


@given(st.tuples(*[st.integers(0, 9)] * 4))
def test_a_pair_more_that_the_candidate_wins_never_opens_a_test_case(counts: tuple[int, int, int, int]) -> None:
    total = Round(*counts)

    assert is_open(DESIGN, total) or not is_open(DESIGN, total.plus(Round(gained=1)))


@pytest.mark.parametrize("baseline", [0.0, 0.02, 0.1, 0.2, 0.3, 0.5])
@pytest.mark.parametrize("plan", [DESIGN, Design(6, 30, 0.33, 0.05, None, None, has_baseline=True)])
def test_a_drop_by_detect_is_cleared_one_time_in_ten_at_most_whatever_the_baseline(
    plan: Design, baseline: float
) -> None:
    assert _cleared(plan, min(1.0, baseline + plan.detect), baseline) <= 0.1


def _cleared(plan: Design, candidate: float, baseline: float) -> float:
    """Return the exact chance that a test case with these failure rates is cleared after any round."""
    lost, gained = candidate * (1 - baseline), baseline * (1 - candidate)
    chances, cleared, played = {(0, 0): 1.0}, 0.0, 0
    for end in round_ends(plan.repeats_min, plan.repeats_max):
        for _ in range(end - played):
            after: dict[tuple[int, int], float] = {}
            for (x, y), chance in chances.items():
                for state, weight in (((x + 1, y), lost), ((x, y + 1), gained), ((x, y), 1 - lost - gained)):
                    after[state] = after.get(state, 0.0) + chance * weight
            chances = after
        played = end
        for x, y in list(chances):
            if not is_open(plan, Round(lost=x, gained=y, passed=end - x - y)):
                cleared += chances.pop((x, y))
    return cleared


@pytest.mark.parametrize(
    ("total", "left"),
    [
        (Round(passed=4), False),
        (Round(lost=1, passed=3), True),  # 75 % of 80 %
        (Round(lost=1, passed=4), True),  # 80 %, but 40 % may be true as well
        (Round(lost=1, passed=7), False),
        (Round(lost=20, passed=79), True),
        (Round(lost=20, passed=80), False),
    ],
)
def test_a_test_case_is_open_while_it_passes_less_often_than_it_must(total: Round, left: bool) -> None:
    assert is_open(RATE, total) is left


def test_a_low_pass_rate_is_kept_only_if_half_of_it_is_excluded() -> None:
    half = replace(RATE, min_pass_rate=0.4)

    assert is_open(half, Round(lost=3, passed=2))
    assert not is_open(half, Round(lost=3, passed=9))


def test_a_pass_rate_that_is_missed_clearly_is_shown_and_one_that_is_kept_is_not() -> None:
    assert is_below(0.8, [(5, 1), (0, 4)], 0.05)
    assert not is_below(0.8, [(1, 3), (0, 4)], 0.05)
    assert not is_below(0.0, [(20, 0)], 0.05)
    assert is_below(1.0, [(0, 4), (1, 0)], 0.05)


def test_a_pass_rate_that_is_just_kept_is_shown_as_missed_at_most_with_probability_alpha() -> None:
    states, missed = {0: 1.0}, 0.0
    for trial in range(1, 41):
        after: dict[int, float] = {}
        for failed, chance in states.items():
            for state, weight in ((failed + 1, 0.2), (failed, 0.8)):
                after[state] = after.get(state, 0.0) + chance * weight
        shown = {failed for failed in after if is_below(0.8, [(failed, trial - failed)], 0.05)}
        missed += sum(after[failed] for failed in shown)
        states = {failed: chance for failed, chance in after.items() if failed not in shown}

    assert 0.005 < missed <= 0.05


@given(st.integers(1, 100), st.integers(1, 100))
def test_rounds_end_between_the_smallest_and_the_largest_number_of_repeats(one: int, other: int) -> None:
    least, most = sorted((one, other))

    ends = round_ends(least, most)

    assert (ends[0], ends[-1]) == (least, most)
    assert list(ends) == sorted(set(ends))
