"""Organizations are served in turn, whatever each of them has waiting, and from one sweep to the next."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from app.work.round_robin import RoundRobin


class Work:
    """Does a piece of an id at each call, and has time for so many pieces a sweep."""

    def __init__(self, pieces: dict[int, int], at_once: int) -> None:
        self.left = Counter(pieces)
        self.done: list[int] = []
        self.at_once = at_once

    def __call__(self, id_: int) -> bool:
        self.done.append(id_)
        self.left[id_] -= 1
        return self.left[id_] > 0

    def sweep(self, round_robin: RoundRobin, owners: dict[int, int]) -> list[int]:
        """Return what a sweep of those has done that have anything left."""
        before = len(self.done)
        due = {id_: owner for id_, owner in owners.items() if self.left[id_] > 0}
        round_robin.serve(due, self, is_over=lambda: len(self.done) - before >= self.at_once)
        return self.done[before:]


def test_one_organization_with_thousands_waits_for_another_with_one() -> None:
    owners = dict.fromkeys(range(5000), 1) | {9999: 2}
    assert 9999 in Work(dict.fromkeys(owners, 1), at_once=2).sweep(RoundRobin(), owners)


def test_an_organization_with_many_projects_has_as_many_turns_as_one_with_a_project() -> None:
    owners = {1: 1, 2: 1, 3: 1, 4: 2}
    done = Work(dict.fromkeys(owners, 100), at_once=60).sweep(RoundRobin(), owners)
    assert Counter(owners[id_] for id_ in done) == {1: 30, 2: 30}
    assert Counter(done) == {1: 10, 2: 10, 3: 10, 4: 30}


def test_the_next_sweep_begins_with_the_owners_that_had_no_turn() -> None:
    owners = {1: 1, 2: 2, 3: 3}
    round_robin, work = RoundRobin(), Work({1: 9, 2: 9, 3: 9}, at_once=2)
    assert [work.sweep(round_robin, owners) for _ in range(3)] == [[1, 2], [3, 1], [2, 3]]


def test_what_fails_keeps_nothing_else_from_being_done_in_the_next_sweep() -> None:
    round_robin, done = RoundRobin(), []

    def work(id_: int) -> bool:
        if id_ == 1:
            raise ValueError
        done.append(id_)
        return False

    for _ in range(2):
        try:
            round_robin.serve({1: 1, 2: 2}, work, is_over=lambda: False)
        except ValueError:
            continue
    assert done == [2]


def test_a_piece_is_done_though_the_time_is_over() -> None:
    owners = {1: 1, 2: 1}
    assert Work({1: 1, 2: 1}, at_once=0).sweep(RoundRobin(), owners) == [1]


def test_owners_that_have_nothing_any_more_are_forgotten() -> None:
    round_robin = RoundRobin()
    round_robin.serve({id_: id_ for id_ in range(1000)}, lambda _: False, is_over=lambda: False)
    round_robin.serve({7: 7}, lambda _: False, is_over=lambda: False)
    assert (len(round_robin._ids), len(round_robin._organizations)) == (1, 1)


@given(st.dictionaries(st.integers(1, 20), st.tuples(st.integers(1, 4), st.integers(1, 5))), st.integers(1, 7))
def test_all_is_done_in_the_end_and_no_organization_waits_for_two_turns_of_another(
    given_work: dict[int, tuple[int, int]], at_once: int
) -> None:
    owners = {id_: owner for id_, (owner, _) in given_work.items()}
    round_robin, work = RoundRobin(), Work({id_: pieces for id_, (_, pieces) in given_work.items()}, at_once)
    while +work.left:
        owners_left = {owners[id_] for id_ in +work.left}
        served = [owners[id_] for id_ in work.sweep(round_robin, owners)]
        assert served
        assert max(Counter(served).values()) == 1 or owners_left <= set(served)
    assert Counter(work.done) == {id_: pieces for id_, (_, pieces) in given_work.items()}
