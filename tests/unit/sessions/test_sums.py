"""The sums and names of a session, which are the same in whatever order and grouping its turns are added."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from app.sessions.facts import EDITION, TurnFacts
from app.sessions.sums import (
    NAMES_BYTES,
    NAMES_MAX,
    SessionSums,
    SessionTotals,
    may_lack_names,
    names_in,
    names_of,
    with_names,
)
from tests.support.operations import growth_of

SHAPES: dict[str, Callable[[int], str]] = {
    "sorted": lambda n: f"{n:06}",
    "reversed": lambda n: f"{999_999 - n:06}",
    "equal": lambda _: "model",
}


def turn(*models: str, user: str | None = None) -> TurnFacts:
    return TurnFacts(1, 2, 1, models=frozenset(models), user=(0, (1, 2, b""), user) if user else None)


def totals_of(turns: Sequence[TurnFacts]) -> SessionTotals:
    totals = SessionTotals()
    for facts in turns:
        totals.add(facts)
    return totals


@given(st.lists(st.lists(st.integers(0, 2 * NAMES_MAX), max_size=40), max_size=150))
def test_names_are_the_same_joined_some_at_a_time_or_one_by_one(numbers: list[list[int]]) -> None:
    turns = [turn(*(f"model {number:03}" for number in of_turn)) for of_turn in numbers]
    assert totals_of(turns).names == (reduce(with_names, map(names_of, turns), "") or None)


def test_the_first_turn_with_a_user_names_the_user_of_the_session() -> None:
    assert totals_of([turn(), turn(user="Ann"), turn(user="Bob")]).user_id == "Ann"


@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from(["", "Ann", "Bob"])), unique_by=lambda t: t[0]
    )
)
def test_the_totals_of_blocks_of_turns_join_to_those_of_all_turns(numbers: list[tuple[int, int, str]]) -> None:
    """Each turn has a start, its block, and a user."""
    turns = [
        structs.replace(turn(f"model {start}", user=user), start_ns=start, errors=block, edition=EDITION)
        for start, block, user in sorted(numbers)
    ]
    blocks: dict[int, SessionTotals] = defaultdict(SessionTotals)
    for facts in turns:
        blocks[facts.errors].add(facts)
    joined = SessionTotals()
    for totals in blocks.values():
        totals.join_names()
        joined.join(totals)

    whole = totals_of(turns)
    for name in ("sums", "start_ns", "last_ns", "active", "user_id", "names"):
        assert getattr(joined, name) == getattr(whole, name)
    assert joined.calls.lines == whole.calls.lines
    assert whole.user_id == next((user for _, _, user in sorted(numbers) if user), None)


def test_a_turn_that_has_changed_adds_only_what_is_new_of_it() -> None:
    totals = SessionTotals()
    totals.add(TurnFacts(1, 2, 2, errors=2, edition=1), TurnFacts(1, 2, 1, errors=1, edition=1))
    assert totals.sums == SessionSums(errors=1)


def test_the_names_that_come_first_are_kept() -> None:
    totals = totals_of([turn(f"model {number:03}") for number in reversed(range(2 * NAMES_MAX))])
    assert totals.names
    assert names_in(totals.names, "model") == tuple(f"model {number:03}" for number in range(NAMES_MAX))


@pytest.mark.parametrize("letter", ["m", "😀"])
def test_names_are_kept_up_to_a_number_of_bytes_in_whatever_order_they_come(letter: str) -> None:
    names = [f"{number:03}{letter * 240}" for number in range(NAMES_MAX)]
    totals = [totals_of([turn(name) for name in ordered]).names or "" for ordered in (names, names[::-1])]

    assert totals[0] == totals[1]
    assert NAMES_BYTES <= len(totals[0].encode()) < NAMES_BYTES + 2_000
    assert may_lack_names(totals[0])
    assert not may_lack_names(totals_of([turn(*names[:9])]).names or "")


def test_names_of_an_earlier_release_beyond_the_bytes_lose_the_last_ones_with_the_next_name() -> None:
    earlier = "\n" + "\n".join(f"m:{number:03}{'😀' * 240}" for number in range(NAMES_MAX)) + "\n"
    assert may_lack_names(earlier)
    assert len(with_names(earlier, "\nm:000\n").encode()) < NAMES_BYTES + 2_000


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_the_turns_of_one_conversation_with_a_model_each_do_not_join_their_names_one_by_one(shape: str) -> None:
    def prepare(count: int) -> Callable[[], object]:
        turns = [turn(SHAPES[shape](number) + "m" * 194) for number in range(count)]
        return lambda: totals_of(turns).names

    assert growth_of(prepare, NAMES_MAX // 2) < 2.3
