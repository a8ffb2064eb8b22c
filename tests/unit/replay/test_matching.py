from __future__ import annotations

from itertools import combinations, permutations

from hypothesis import given
from hypothesis import strategies as st

from app.replay.matching import Matching, longest_common_subsequence

graphs = st.integers(0, 6).flatmap(
    lambda rights: st.tuples(st.lists(st.integers(0, 2**rights - 1), max_size=6), st.just(rights))
)
tables = st.tuples(st.integers(0, 5), st.integers(1, 5)).flatmap(
    lambda size: st.lists(
        st.lists(st.sampled_from([0, 0, 100, 101, 103]), min_size=size[1], max_size=size[1]),
        min_size=size[0],
        max_size=size[0],
    )
)


def match(adjacent: list[int], rights: int) -> dict[int, int]:
    """Return the pairs, by left, after all lefts have come; each left that was ever paired still is."""
    matching = Matching((1 << rights) - 1)
    paired: set[int] = set()
    for left, edges in enumerate(adjacent):
        if matching.add(left, edges) is not None:
            paired.add(left)
        assert set(matching.owners.values()) == paired
    return {left: right for right, left in matching.owners.items()}


def most_by_brute_force(adjacent: list[int], rights: int) -> int:
    lefts = range(len(adjacent))
    for size in range(min(len(adjacent), rights), 0, -1):
        for chosen in combinations(lefts, size):
            for partners in permutations(range(rights), size):
                if all(adjacent[left] >> right & 1 for left, right in zip(chosen, partners, strict=True)):
                    return size
    return 0


def best_by_brute_force(table: list[list[int]]) -> int:
    rights = range(len(table[0]) if table else 0)
    return max(
        sum(table[left][right] for left, right in zip(lefts, partners, strict=True))
        for size in range(min(len(table), len(rights)) + 1)
        for lefts in combinations(range(len(table)), size)
        for partners in combinations(rights, size)
    )


@given(graphs)
def test_the_matching_is_a_matching_and_maximum(graph: tuple[list[int], int]) -> None:
    adjacent, rights = graph
    pairs = match(adjacent, rights)

    assert all(adjacent[left] >> right & 1 for left, right in pairs.items())
    assert len(set(pairs.values())) == len(pairs) == most_by_brute_force(adjacent, rights)


@given(tables)
def test_the_subsequence_rises_on_both_sides_and_is_worth_the_most(table: list[list[int]]) -> None:
    rights = len(table[0]) if table else 0
    pairs = longest_common_subsequence(len(table), rights, lambda left, right: table[left][right])

    assert list(pairs) == sorted(pairs)
    assert list(pairs.values()) == sorted(set(pairs.values()))
    assert all(table[left][right] for left, right in pairs.items())
    assert sum(table[left][right] for left, right in pairs.items()) == best_by_brute_force(table)


def test_equal_choices_fall_to_the_lowest_places() -> None:
    assert match([0b111, 0b111], 3) == {0: 0, 1: 1}
    assert longest_common_subsequence(2, 3, lambda left, right: 1) == {0: 0, 1: 1}


def test_a_matching_of_a_thousand_that_needs_one_long_path() -> None:
    size = 1_000
    adjacent = [0b11 << place for place in range(size)]
    adjacent.append(1)

    assert len(match(adjacent, size + 1)) == size + 1


def test_a_thousand_that_all_want_the_same_hundred() -> None:
    assert len(match([(1 << 100) - 1] * 1_000, 1_000)) == 100


@given(graphs, st.integers(0, 63))
def test_as_many_of_the_first_are_paired_as_can_be(graph: tuple[list[int], int], first: int) -> None:
    adjacent, rights = graph
    everything = (1 << rights) - 1
    matching = Matching(first & everything, everything & ~first)
    for left, edges in enumerate(adjacent):
        matching.add(left, edges)

    of_first = [right for right in matching.owners if first >> right & 1]
    assert len(of_first) == most_by_brute_force([edges & first for edges in adjacent], rights)
    assert len(matching.owners) == most_by_brute_force(adjacent, rights)


def test_a_preferred_right_that_is_free_is_taken() -> None:
    matching = Matching(0b111)

    assert matching.add(0, 0b111, preferred=0b100) == 2
    assert matching.add(1, 0b111, preferred=0b100) == 0
