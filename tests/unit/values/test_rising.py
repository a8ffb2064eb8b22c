"""The longest rising subsequence."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.values.rising import longest_rising


@pytest.mark.parametrize(
    ("numbers", "rising"), [([], []), ([7], [7]), ([3, 2, 1], [1]), ([1, 1, 1], [1]), ([5, 1, 6, 2, 3], [1, 2, 3])]
)
def test_the_longest_rising_subsequence_is_found(numbers: list[int], rising: list[int]) -> None:
    assert [numbers[index] for index in longest_rising(numbers)] == rising


@given(st.lists(st.integers(0, 9), max_size=9))
def test_no_rising_subsequence_is_longer(numbers: list[int]) -> None:
    found = longest_rising(numbers)
    assert all(first < second for first, second in pairwise(found))
    assert all(numbers[first] < numbers[second] for first, second in pairwise(found))
    longer = combinations(numbers, len(found) + 1)
    assert not any(all(first < second for first, second in pairwise(part)) for part in longer)
