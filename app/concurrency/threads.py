"""Threads that wait for work. A process has hundreds of them."""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from typing import Any


class LastComeFirst(threading.Condition):
    """Wakes the thread that has waited for the shortest time, because its stack is still in the processor's caches."""

    _waiters: deque[threading.Lock]

    def notify(self, n: int = 1) -> None:
        self._waiters.rotate(n)
        super().notify(n)


class WarmThreads(ThreadPoolExecutor):
    """A pool of up to `most` threads. It starts `ready` of them immediately, and the others when they are needed.

    Starting a thread lasts a tenth of a request's time, during which the thread that distributes the work waits. An
    idle thread needs 20 KB.
    """

    def __init__(self, most: int, *, ready: int) -> None:
        super().__init__(most)
        waiting: Queue[Any] = Queue()
        waiting.not_empty = LastComeFirst(waiting.mutex)
        self._work_queue = waiting  # type: ignore[assignment]
        begun = threading.Barrier(ready + 1)
        for _ in range(ready):
            self.submit(begun.wait)
        begun.wait()
