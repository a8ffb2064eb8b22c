"""The greedy cover against the best choice of the same size, found by trying all."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from math import e
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from app.suites.cover import LEAST, UNITS, Choice, greedy_cover, in_units, running_shares
from tests.support.operations import work_of

VALUES = st.dictionaries(st.integers(0, 9), st.floats(0.0, 100.0), min_size=1)
CANDIDATES = st.lists(st.frozensets(st.integers(0, 11), max_size=6), max_size=8)


def value_of(values: dict[int, float], candidates: list[frozenset[int]], chosen: tuple[int, ...]) -> float:
    covered = frozenset[int]().union(*(candidates[index] for index in chosen))
    return sum(values.get(feature, 0.0) for feature in covered)


@given(VALUES, CANDIDATES, st.integers(1, 4))
def test_the_choice_reaches_its_share_of_the_best_one(
    values: dict[int, float], candidates: list[frozenset[int]], size: int
) -> None:
    choices = greedy_cover(values, candidates, size=size)
    best = max(
        (value_of(values, candidates, chosen) for chosen in combinations(range(len(candidates)), size)), default=0
    )
    reached = value_of(values, candidates, tuple(choice.candidate for choice in choices))
    assert reached >= (1 - 1 / e) * best - 1e-6


@given(VALUES, CANDIDATES)
def test_each_choice_is_the_best_next_one_and_the_first_of_equals(
    values: dict[int, float], candidates: list[frozenset[int]]
) -> None:
    covered: set[int] = set()
    for choice in greedy_cover(values, candidates, size=len(candidates)):
        gains = [sum(values.get(feature, 0.0) for feature in features - covered) for features in candidates]
        assert abs(choice.gain - max(gains)) < 1e-6
        assert choice.new == {feature for feature in candidates[choice.candidate] - covered if feature in values}
        covered |= candidates[choice.candidate]


def plain_greedy(
    values: Mapping[int, float], candidates: Sequence[Collection[int]], size: int, covered: Collection[int]
) -> list[int]:
    """Return the choices by looking at all candidates again before each one."""
    units, done, chosen = in_units(values), set(covered), list[int]()
    for _ in range(size):
        gains = [sum(units.get(feature, 0) for feature in {*features} - done) for features in candidates]
        if max(gains, default=0) <= LEAST * UNITS:
            break
        chosen.append(gains.index(max(gains)))
        done.update(candidates[chosen[-1]])
    return chosen


@given(VALUES, CANDIDATES, st.integers(0, 8), st.frozensets(st.integers(0, 11), max_size=4))
def test_the_choices_are_those_of_the_plain_form(
    values: dict[int, float], candidates: list[frozenset[int]], size: int, covered: frozenset[int]
) -> None:
    choices = greedy_cover(values, candidates, size=size, covered=covered)
    assert [choice.candidate for choice in choices] == plain_greedy(values, candidates, size, covered)


def work_of_choosing(count: int, size: int) -> int:
    """Return the work for candidates with 30 of 900 features each, of which hardly two have the same."""
    random = Random(7)
    values = {feature: 1 + random.random() for feature in range(900)}
    candidates = [frozenset(random.sample(range(900), 30)) for _ in range(count)]
    return work_of(lambda: greedy_cover(values, candidates, size=size))


def test_the_work_grows_with_the_candidates() -> None:
    assert work_of_choosing(1_000, 20) <= 2.1 * work_of_choosing(500, 20)


def test_more_choices_do_not_look_at_the_candidates_again() -> None:
    assert work_of_choosing(1_000, 80) <= 1.3 * work_of_choosing(1_000, 20)


def test_of_equal_candidates_the_first_is_chosen() -> None:
    assert [choice.candidate for choice in greedy_cover({1: 1.0, 2: 1.0}, [{2}, {1}, {2}], size=3)] == [0, 1]


def test_a_candidate_that_adds_nothing_is_not_chosen() -> None:
    assert greedy_cover({1: 1.0}, [{1, 2}, {2}], size=2) == [Choice(0, 1.0, frozenset({1}))]


def test_what_is_covered_before_is_worth_nothing() -> None:
    assert [choice.candidate for choice in greedy_cover({1: 5.0, 2: 1.0}, [{1}, {2}], size=2, covered={1})] == [1]


def test_shares_grow_to_the_whole() -> None:
    choices = greedy_cover({1: 3.0, 2: 1.0}, [{1}, {2}], size=2)
    assert list(running_shares(choices, 4.0)) == [0.75, 1.0]
    assert list(running_shares(choices, 8.0, before=4.0)) == [0.875, 1.0]


def test_no_values_give_no_shares() -> None:
    assert list(running_shares([Choice(0, 0.0, frozenset[int]())], 0.0)) == [0.0]
