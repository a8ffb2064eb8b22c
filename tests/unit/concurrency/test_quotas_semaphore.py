"""Places go to the organization that has fewest, however many of another one wait."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from app.concurrency.quotas import FairSemaphore, Quota
from app.errors import Unavailable
from tests.support.waiting import wait_until

GREEDY, OTHER, THIRD = 1, 2, 3
LONG_S = 30


class Begun:
    """Threads that hold places until `release`; `order` has the organizations in the order in which they got them."""

    def __init__(self, semaphore: FairSemaphore) -> None:
        self.semaphore = semaphore
        self.order: list[int] = []
        self.release = threading.Semaphore(0)
        self._pool = ThreadPoolExecutor(40)

    def begin(self, organization_id: int, places: int = 1) -> Future[None]:
        waiting = sum(map(len, self.semaphore._lines.values())) + len(self.order)
        future = self._pool.submit(self._have, organization_id, places)
        wait_until(
            lambda: sum(map(len, self.semaphore._lines.values())) + len(self.order) > waiting or future.done(),
            "its place",
        )
        return future

    def _have(self, organization_id: int, places: int) -> None:
        with self.semaphore.hold(organization_id, wait_s=LONG_S, places=places):
            self.order.append(organization_id)
            assert self.release.acquire(timeout=LONG_S)


def test_a_place_is_free_for_another_organization_while_one_has_all() -> None:
    begun = Begun(FairSemaphore(Quota.of(4, 25)))
    for _ in range(20):
        begun.begin(GREEDY)
    begun.begin(OTHER)

    wait_until(lambda: begun.order == [GREEDY] * 4 + [OTHER], "the other organization's place")
    begun.release.release(21)


def test_none_has_a_third_place_before_each_who_waits_has_one() -> None:
    begun = Begun(FairSemaphore(Quota.of(1, 25)))
    line = (GREEDY, GREEDY, OTHER, GREEDY, OTHER, THIRD)
    for organization_id in line:
        begun.begin(organization_id)
    # One has the place of a single organization, another the one that is kept free.
    assert begun.order == [GREEDY, OTHER]

    for count in range(3, len(line) + 1):
        begun.release.release()
        wait_until(lambda count=count: len(begun.order) == count, "the next place")
    begun.release.release(2)
    assert begun.order[-1] == GREEDY
    assert sorted(begun.order) == sorted(line)


def test_a_caller_that_waits_too_long_is_counted_and_asked_to_come_back_and_gets_no_place() -> None:
    refused: list[None] = []
    semaphore = FairSemaphore(Quota.of(1, 25), on_refused=lambda: refused.append(None))
    with ExitStack() as held:
        held.enter_context(semaphore.hold(GREEDY, wait_s=0.01))
        with pytest.raises(Unavailable):
            held.enter_context(semaphore.hold(GREEDY, wait_s=0.01))
    assert len(refused) == 1
    with semaphore.hold(GREEDY, wait_s=0.01):
        pass
    assert len(refused) == 1


def test_the_place_of_a_block_that_fails_is_given_back() -> None:
    semaphore = FairSemaphore(Quota.of(1, 25))
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), semaphore.hold(GREEDY, wait_s=0.01):
            raise ZeroDivisionError


LARGE = 60


def test_small_requests_pass_a_large_one_that_has_to_wait() -> None:
    semaphore = FairSemaphore(Quota.of(LARGE, 25))
    with semaphore.hold(GREEDY, wait_s=0, places=LARGE - 10):
        begun = Begun(semaphore)
        begun.begin(OTHER, LARGE)
        for organization_id in (THIRD, OTHER, GREEDY):
            begun.begin(organization_id)
        wait_until(lambda: len(begun.order) == 3, "the small requests")
        assert OTHER in begun.order  # the large one's own organization, too
        begun.release.release(3)
    wait_until(lambda: len(begun.order) == 4, "the large request")
    begun.release.release()


def test_a_large_request_is_passed_for_as_many_places_as_there_are() -> None:
    """Small requests that never end would otherwise keep it waiting for good."""
    quota = Quota.of(LARGE, 25)
    semaphore = FairSemaphore(quota)
    passed = 0
    with semaphore.hold(GREEDY, wait_s=0, places=LARGE - 10):
        begun = Begun(semaphore)
        begun.begin(OTHER, LARGE)
        while passed < quota.capacity:
            with semaphore.hold(THIRD, wait_s=LONG_S, places=5):
                passed += 5
        with pytest.raises(Unavailable), semaphore.hold(THIRD, wait_s=0.01, places=5):
            pass
    wait_until(lambda: begun.order == [OTHER], "the large request")
    begun.release.release()
    assert passed == quota.capacity


def test_a_large_request_that_gives_up_lets_those_behind_it_pass() -> None:
    semaphore = FairSemaphore(Quota.of(LARGE, 25))
    with semaphore.hold(GREEDY, wait_s=0, places=LARGE):
        with pytest.raises(Unavailable), semaphore.hold(OTHER, wait_s=0.01, places=LARGE):
            pass
        with semaphore.hold(THIRD, wait_s=0):
            pass
