"""Threads of a pool are there before the first work, and the one that became idle last gets the next."""

import threading

import pytest

from app.concurrency.threads import WarmThreads
from tests.support.waiting import wait_until


def started(pool: WarmThreads) -> int:
    return len(pool._threads)


@pytest.mark.parametrize("ready", [0, 1, 5])
def test_threads_are_there_from_the_start_and_more_come_with_the_work(ready: int) -> None:
    with WarmThreads(6, ready=ready) as pool:
        assert started(pool) == ready
        wait_until(lambda: len(pool._work_queue.not_empty._waiters) == ready, "idle threads")

        together = threading.Barrier(6)
        done = [pool.submit(together.wait) for _ in range(6)]
        assert sorted(each.result() for each in done) == list(range(6))
        assert started(pool) == 6


def test_the_thread_that_became_idle_last_gets_the_next_work() -> None:
    with WarmThreads(4, ready=4) as pool:
        idle = pool._work_queue.not_empty._waiters

        def wait_for_idle() -> None:
            wait_until(lambda: len(idle) == 4, "idle threads")

        def name_of_thread() -> str:
            return threading.current_thread().name

        wait_for_idle()
        names = []
        for _ in range(20):
            names.append(pool.submit(name_of_thread).result())
            wait_for_idle()
        assert len(set(names)) == 1
