"""Counts of the features of fingerprints."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from app.experiments.behaviour import (
    EDITION,
    LENGTH,
    ORDERS_COUNTED,
    TOOLS_COUNTED,
    Behaviour,
    BehaviourTally,
    characters_of,
    length_class,
)

behaviours = st.lists(
    st.builds(
        Behaviour,
        st.just(EDITION),
        st.integers(0, 10_000),
        st.sampled_from(((), (("a", 1),), (("a", 20), ("b", 2)))),
        st.lists(st.sampled_from("abc"), max_size=3, unique=True).map(tuple),
        st.sampled_from(("en", "de")),
    ),
    max_size=20,
)


@given(behaviours, behaviours)
def test_two_samples_are_counted_together(one: list[Behaviour], other: list[Behaviour]) -> None:
    assert BehaviourTally.of(one).plus(BehaviourTally.of(other)) == BehaviourTally.of([*one, *other])
    both = BehaviourTally.of([*one, *other])
    assert all(sum(count for _, count in both.numbers(LENGTH)) == both.replays for _ in one)


def test_a_tool_without_a_call_counts_as_zero_calls() -> None:
    counted = BehaviourTally.of(
        [Behaviour(EDITION, 1, (("a", 2),)), Behaviour(EDITION, 1, (("a", 99),)), Behaviour(EDITION, 1)]
    )
    (feature,) = [feature for feature in counted.counts if feature.startswith("calls ")]
    assert counted.numbers(feature) == [(0, 1), (2, 1), (9, 1)]
    assert counted.median(feature) == 2


def test_eight_classes_double_a_length() -> None:
    assert [length_class(size) for size in (0, 1, 2, 4)] == [-1, 0, 8, 16]
    assert all(length_class(size) <= length_class(larger) for size, larger in pairwise(range(5000)))
    assert all(abs(characters_of(length_class(size)) / size - 1) < 0.12 for size in range(10, 9000, 7))


def test_the_counts_of_random_orders_and_tools_are_bounded() -> None:
    played = [Behaviour(EDITION, 1, ((f"tool {n}", 1),), (f"tool {n}", f"{n}")) for n in range(5000)]
    counted = BehaviourTally.of(played)
    assert len(counted.counts) == TOOLS_COUNTED + 3
    assert len(counted.values("order")) == ORDERS_COUNTED


def test_exchanged_calls_are_another_order() -> None:
    both = [Behaviour(EDITION, 1, order=order) for order in (("search", "book"), ("book", "search"))]
    assert len(BehaviourTally.of(both).values("order")) == 2
