"""Simulated experiments keep the promises of `alpha` and `detect`."""

from __future__ import annotations

import pytest

from tests.unit.experiments.simulation import ALPHA, Tally, design, exactly
from tests.unit.experiments.table import Change, Same, broken, dropped, of_page, rendered, same

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def equal() -> list[Same]:
    return same()


@pytest.fixture(scope="module")
def changes() -> list[Change]:
    return broken() + dropped()


def test_a_candidate_as_good_as_its_baseline_fails_at_most_with_probability_alpha(equal: list[Same]) -> None:
    for row in equal:
        assert row.bounds[1] <= ALPHA, f"pass rate {row.pass_rate}: {row.failed} failed"


def test_the_same_stable_prompt_on_both_sides_passes_after_the_smallest_number_of_repeats(equal: list[Same]) -> None:
    stable = next(row for row in equal if row.pass_rate == 1)

    assert all(
        tally == Tally({"failed": 0, "inconclusive": 0, "passed": pytest.approx(1)}, pytest.approx(9))
        for tally in stable.tallies.values()
    )


def test_a_step_broken_one_time_in_three_fails_nine_experiments_of_ten_among_any_number_of_test_cases() -> None:
    for row in broken():
        assert row.tally.chances["failed"] >= 0.9 or row.detect > 1 / 3


@pytest.mark.parametrize("detect", [n / 100 for n in range(5, 96, 3)])
def test_a_step_that_fails_with_probability_detect_slips_through_one_time_in_ten_at_most(detect: float) -> None:
    tally = exactly(design(detect), detect, 1)

    assert sum(tally.chances.values()) == pytest.approx(1)
    assert tally.chances["passed"] <= 0.1


def test_fewer_replays_are_needed_than_with_a_fixed_number_where_one_test_case_of_many_got_worse(
    changes: list[Change],
) -> None:
    for row in changes:
        if "1 of 20" in row.name:
            assert row.tally.replays < row.fixed


def test_the_page_shows_the_tables_that_the_simulations_give(equal: list[Same], changes: list[Change]) -> None:
    made = rendered(equal, changes)
    print(made)

    assert of_page() == made, "run python -m tests.unit.experiments.table"
