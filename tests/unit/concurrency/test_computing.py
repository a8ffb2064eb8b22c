"""A request has one turn to compute with large texts, until it ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from app.concurrency import computing, deadline
from app.concurrency.computing import LARGE, ComputingTurn
from app.concurrency.quotas import NoTurn, Quota, Turns


class Held:
    """Counts the turns that were begun and that ended."""

    def __init__(self) -> None:
        self.begun = self.ended = 0

    @contextmanager
    def enter(self) -> Iterator[None]:
        self.begun += 1
        yield
        self.ended += 1


@pytest.fixture
def held() -> Iterator[Held]:
    held = Held()
    computing.offer(ComputingTurn(held.enter, 1))
    yield held
    computing.finish()


def test_small_texts_need_no_turn(held: Held) -> None:
    computing.await_turn(LARGE)
    assert held.begun == 0


def test_a_request_has_one_turn_until_it_ends(held: Held) -> None:
    computing.await_turn(LARGE + 1)
    computing.await_turn(2 * LARGE)
    assert (held.begun, held.ended) == (1, 0)
    computing.finish()
    assert (held.begun, held.ended) == (1, 1)


def test_the_next_request_of_the_thread_does_not_have_the_turn_of_the_previous_one(held: Held) -> None:
    computing.await_turn(LARGE + 1)
    computing.finish()
    computing.await_turn(LARGE + 1)
    computing.finish()
    assert (held.begun, held.ended) == (1, 1)


def test_work_that_is_no_request_does_not_wait() -> None:
    computing.await_turn(LARGE + 1)


def test_a_request_without_a_turn_in_time_is_refused_and_ends_no_turn_of_others() -> None:
    turns = Turns(Quota.of(1, 25))
    with turns.of(1, wait_s=0), turns.of(2, wait_s=0):
        computing.offer(ComputingTurn(lambda: turns.of(1, wait_s=0.01), 1))
        with pytest.raises(NoTurn):
            computing.await_turn(LARGE + 1)
        computing.finish()
        with pytest.raises(NoTurn), turns.of(1, wait_s=0):
            pytest.fail("Both turns are in use.")


def test_the_wait_for_a_turn_does_not_use_up_the_deadline() -> None:
    """The deadline of a request is for its waits for the database, and this one is over before the turn is free."""

    @contextmanager
    def late() -> Iterator[None]:
        assert deadline.left_s(100) > 10
        while not outer.is_over:
            pass
        yield

    deadline.begin(0.05)
    try:
        outer = deadline.Deadline(0.1, 0)
        computing.offer(ComputingTurn(late, 30))
        computing.await_turn(LARGE + 1)
        assert not deadline.is_over()
    finally:
        computing.finish()
        deadline.finish()
