"""The version that made a test case fail is found, also by replays that fail by chance."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import log2

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reprise_client.bisection import Found, NoChange, Play, Tally, best_guess, next_step, posterior

REPEATS = 6
few = settings(max_examples=50)
TALLIES = st.lists(st.builds(Tally, st.integers(0, 30), st.integers(0, 30)), min_size=2, max_size=20)


def search(versions: int, fails: Callable[[int], bool], most: int = 150) -> tuple[Found | NoChange | None, int]:
    """Return the version that was found, None if so many replays were too few, and the number of replays."""
    tallies, played = [Tally()] * versions, 0
    while played < most:
        step = next_step(tallies, REPEATS)
        if not isinstance(step, Play):
            return step, played
        for _ in range(step.times):
            failed = fails(step.index)
            tallies[step.index] = tallies[step.index].plus(Tally(int(not failed), int(failed)))
        played += step.times
    return None, played


@few
@given(st.integers(2, 300), st.data())
def test_with_reliable_replays_it_needs_a_few_more_than_a_binary_search(versions: int, data: st.DataObject) -> None:
    culprit = data.draw(st.integers(1, versions - 1))

    found, played = search(versions, lambda index: index >= culprit)

    assert isinstance(found, Found)
    assert found.index == culprit
    assert played <= 2 * REPEATS + 2 * log2(versions) + 6


@pytest.mark.parametrize(
    ("before", "after", "found_at_least", "wrong_at_most"),
    [(0.0, 0.9, 0.97, 0.03), (0.05, 0.9, 0.95, 0.05), (0.0, 0.5, 0.80, 0.08), (0.0, 1 / 3, 0.5, 0.10)],
)
def test_where_replays_fail_by_chance_it_is_seldom_wrong(
    before: float, after: float, found_at_least: float, wrong_at_most: float
) -> None:
    randoms, trials = random.Random(14), 60
    right = wrong = replays = 0
    for _ in range(trials):
        culprit = randoms.randrange(1, 16)
        found, played = search(16, lambda index, at=culprit: randoms.random() < (after if index >= at else before))
        right += isinstance(found, Found) and found.index == culprit
        wrong += isinstance(found, Found) and found.index != culprit
        replays += played
    shares = f"right {right / trials:.0%}, wrong {wrong / trials:.0%}"
    print(f"{before:.2f} → {after:.2f}: {shares}, {replays / trials:.0f} replays")

    assert right >= found_at_least * trials
    assert wrong <= wrong_at_most * trials


@pytest.mark.parametrize("rate", [0.0, 0.05, 0.2, 1.0])
def test_where_nothing_changed_hardly_a_version_is_blamed(rate: float) -> None:
    randoms = random.Random(3)
    blamed = sum(isinstance(search(16, lambda _: randoms.random() < rate)[0], Found) for _ in range(60))

    assert blamed <= 3


def test_a_bad_version_that_passes_ends_the_search_at_once() -> None:
    assert search(100, lambda _: False) == (NoChange(), REPEATS)


@few
@given(TALLIES)
def test_probabilities_are_those_of_all_places_and_of_none(tallies: list[Tally]) -> None:
    chances = posterior(tallies)

    assert len(chances) == len(tallies)
    assert abs(sum(chances) - 1) < 1e-9
    assert all(0 <= chance <= 1 for chance in chances)
    assert 1 <= best_guess(tallies).index < len(tallies)


@few
@given(TALLIES, st.integers(1, 10))
def test_what_is_played_next_is_a_version_that_is_there(tallies: list[Tally], repeats: int) -> None:
    step = next_step(tallies, repeats)

    if isinstance(step, Play):
        assert 0 <= step.index < len(tallies)
        assert step.times >= 1
