"""The threads of a worker that have nothing to do sleep, and the one that has just become idle is woken first."""

import threading
from queue import Empty

from app.redis_store.dramatiq_internals import _WorkQueue
from tests.support.waiting import wait_until


class Idle:
    """A thread that waits for an item of a queue; `got` has it, or `Empty`."""

    def __init__(self, queue: _WorkQueue) -> None:
        self.got: list[object] = []
        asleep = len(queue.not_empty._waiters)
        self.thread = threading.Thread(target=self._get, args=(queue,), daemon=True)
        self.thread.start()
        wait_until(lambda: len(queue.not_empty._waiters) > asleep, "a thread that waits")

    def _get(self, queue: _WorkQueue) -> None:
        try:
            self.got.append(queue.get(timeout=0.01))
        except Empty:
            self.got.append(Empty)


def test_the_thread_that_became_idle_last_gets_the_next_item() -> None:
    queue = _WorkQueue()
    first, second, third = Idle(queue), Idle(queue), Idle(queue)

    for waiting, item in ((third, 1), (second, 2), (first, 3)):
        queue.put(item)
        wait_until(lambda waiting=waiting: waiting.got, "the item")
        assert waiting.got == [item]


def test_an_item_that_is_there_is_taken_at_once() -> None:
    queue = _WorkQueue()
    queue.put((1, "later"))
    queue.put((0, "first"))

    assert [queue.get(), queue.get()] == [(0, "first"), (1, "later")]


def test_at_the_end_they_wait_no_longer_than_they_asked_for() -> None:
    queue = _WorkQueue()
    idle = Idle(queue)
    idle.thread.join(0.05)
    assert idle.thread.is_alive()

    queue.end_sleep()
    idle.thread.join()
    assert idle.got == [Empty]
