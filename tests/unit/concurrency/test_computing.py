"""A request has one place to compute with large texts, until it ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from app.concurrency import computing, deadline
from app.concurrency.computing import LARGE_TEXT, ComputingPlace
from app.concurrency.quotas import FairSemaphore, NoFreePlace, Quota


class Held(FairSemaphore):
    """Counts the places that were taken and given back."""

    def __init__(self) -> None:
        self.taken = self.given_back = 0

    @contextmanager
    def hold(self, _organization_id: int, **_options: Any) -> Iterator[None]:
        self.taken += 1
        yield
        self.given_back += 1


@pytest.fixture
def held() -> Iterator[Held]:
    held = Held()
    computing.offer(ComputingPlace(held, 1, 1))
    yield held
    computing.finish()


def test_small_texts_need_no_place(held: Held) -> None:
    computing.await_place(LARGE_TEXT)
    assert held.taken == 0


def test_a_request_has_one_place_until_it_ends(held: Held) -> None:
    computing.await_place(LARGE_TEXT + 1)
    computing.await_place(2 * LARGE_TEXT)
    assert (held.taken, held.given_back) == (1, 0)
    computing.finish()
    assert (held.taken, held.given_back) == (1, 1)


def test_the_next_request_of_the_thread_does_not_have_the_place_of_the_previous_one(held: Held) -> None:
    computing.await_place(LARGE_TEXT + 1)
    computing.finish()
    computing.await_place(LARGE_TEXT + 1)
    computing.finish()
    assert (held.taken, held.given_back) == (1, 1)


def test_work_that_is_no_request_does_not_wait() -> None:
    computing.await_place(LARGE_TEXT + 1)


def test_a_request_without_a_place_in_time_is_refused_and_gives_no_place_of_others_back() -> None:
    semaphore = FairSemaphore(Quota.of(1, 25))
    with semaphore.hold(1, wait_s=0), semaphore.hold(2, wait_s=0):
        computing.offer(ComputingPlace(semaphore, 1, 0.01))
        with pytest.raises(NoFreePlace):
            computing.await_place(LARGE_TEXT + 1)
        computing.finish()
        with pytest.raises(NoFreePlace), semaphore.hold(1, wait_s=0):
            pytest.fail("Both places are in use.")


def test_the_wait_for_a_place_does_not_use_up_the_deadline() -> None:
    """The deadline of a request is for its waits for the database, and this one is over before the place is free."""

    class Late(Held):
        @contextmanager
        def hold(self, _organization_id: int, **_options: Any) -> Iterator[None]:
            assert deadline.left_s(100) > 10
            while not outer.is_over:
                pass
            yield

    deadline.begin(0.05)
    try:
        outer = deadline.Deadline(0.1, 0)
        computing.offer(ComputingPlace(Late(), 1, 30))
        computing.await_place(LARGE_TEXT + 1)
        assert not deadline.is_over()
    finally:
        computing.finish()
        deadline.finish()
