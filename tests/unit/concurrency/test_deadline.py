"""A thread's deadline: what it allows, for how long it can be used after its end, and which time it does not count."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass

import pytest

from app.concurrency import deadline
from app.concurrency.deadline import GRACE_S
from app.errors import Unavailable


@dataclass
class Clock:
    now: float = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(deadline, "time", clock)
    return clock


def test_without_a_deadline_a_wait_is_as_long_as_it_may_be(clock: Clock) -> None:
    assert deadline.left_s(7) == 7
    assert deadline.end_of_wait(math.inf) == math.inf
    assert not deadline.is_over()


def test_each_wait_of_a_request_ends_at_its_deadline(clock: Clock) -> None:
    with deadline.within(5):
        assert deadline.left_s(7) == 5
        clock.now += 3
        assert (deadline.left_s(7), deadline.left_s(1)) == (2, 1)
        assert deadline.end_of_wait(7) == 1005


def test_after_its_deadline_a_request_has_a_moment_to_clean_up_and_then_nothing(clock: Clock) -> None:
    with deadline.within(5):
        clock.now += 5
        assert deadline.is_over()
        assert deadline.left_s(7) == GRACE_S
        clock.now += GRACE_S
        with pytest.raises(Unavailable):
            deadline.left_s(7)
    with deadline.within(5, grace_s=0):
        clock.now += 5
        with pytest.raises(Unavailable):
            deadline.end_of_wait(7)


def test_the_time_that_a_caller_needs_for_a_body_is_not_counted(clock: Clock) -> None:
    with deadline.within(5):
        with deadline.paused():
            clock.now += 60
        assert deadline.left_s(7) == 5


def test_a_request_may_be_allowed_another_time_from_its_beginning(clock: Clock) -> None:
    with deadline.within(5):
        clock.now += 3
        deadline.allow(60)
        assert deadline.left_s(100) == 57
        deadline.allow(4)
        assert deadline.left_s(100) == 1


def test_another_thread_has_no_deadline_and_none_is_left_after_the_request(clock: Clock) -> None:
    left: list[float] = []
    deadline.begin(5)
    other = threading.Thread(target=lambda: left.append(deadline.left_s(7)))
    other.start()
    other.join()
    deadline.finish()
    assert [*left, deadline.left_s(7)] == [7, 7]
