"""Turns go to the organization that has fewest, however many of another one wait."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from app.concurrency.quotas import Quota, Turns
from app.errors import Unavailable
from tests.support.waiting import wait_until

GREEDY, OTHER, THIRD = 1, 2, 3
LONG_S = 30


class Begun:
    """Threads that have a turn until `release`; `order` has the organizations as their turns came."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self.order: list[int] = []
        self.release = threading.Semaphore(0)
        self._pool = ThreadPoolExecutor(40)

    def begin(self, organization_id: int) -> Future[None]:
        waiting = sum(map(len, self.turns._lines.values())) + len(self.order)
        future = self._pool.submit(self._have, organization_id)
        wait_until(
            lambda: sum(map(len, self.turns._lines.values())) + len(self.order) > waiting or future.done(), "its place"
        )
        return future

    def _have(self, organization_id: int) -> None:
        with self.turns.of(organization_id, wait_s=LONG_S):
            self.order.append(organization_id)
            assert self.release.acquire(timeout=LONG_S)


def test_a_turn_is_free_for_another_organization_while_one_has_all() -> None:
    begun = Begun(Turns(Quota.of(4, 25)))
    for _ in range(20):
        begun.begin(GREEDY)
    begun.begin(OTHER)

    wait_until(lambda: begun.order == [GREEDY] * 4 + [OTHER], "the other organization's turn")
    begun.release.release(21)


def test_none_has_a_third_turn_before_each_who_waits_has_one() -> None:
    begun = Begun(Turns(Quota.of(1, 25)))
    line = (GREEDY, GREEDY, OTHER, GREEDY, OTHER, THIRD)
    for organization_id in line:
        begun.begin(organization_id)
    # One has the place of a single organization, another the one that is kept free.
    assert begun.order == [GREEDY, OTHER]

    for count in range(3, len(line) + 1):
        begun.release.release()
        wait_until(lambda count=count: len(begun.order) == count, "the next turn")
    begun.release.release(2)
    assert begun.order[-1] == GREEDY
    assert sorted(begun.order) == sorted(line)


def test_a_caller_that_waits_too_long_is_counted_and_asked_to_come_back_and_gets_no_turn() -> None:
    refused: list[None] = []
    turns = Turns(Quota.of(1, 25), on_refused=lambda: refused.append(None))
    with ExitStack() as held:
        held.enter_context(turns.of(GREEDY, wait_s=0.01))
        with pytest.raises(Unavailable):
            held.enter_context(turns.of(GREEDY, wait_s=0.01))
    assert len(refused) == 1
    with turns.of(GREEDY, wait_s=0.01):
        pass
    assert len(refused) == 1


def test_a_turn_that_fails_is_given_back() -> None:
    turns = Turns(Quota.of(1, 25))
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), turns.of(GREEDY, wait_s=0.01):
            raise ZeroDivisionError
