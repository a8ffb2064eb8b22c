"""Measuring for how long a piece of code keeps Python's lock from other threads, as a long call into C does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from tests.support.operations import without_garbage_collection

TIMES = 4
_SLEEP_S = 0.001


def held_s(work: Callable[[], object], *, at_most: float = 0) -> float:
    """Return the most processor seconds that `work` took between two runs of a thread that wants to run at once.

    A loop of Python hands the lock over every few milliseconds, a call into C at its end. The processor time of the
    thread that works does not pass while other programs have the processors. `work` is done up to four times, until the
    seconds are no more than `at_most`, and the smallest number is returned: once or twice the other thread may have
    waited for a processor. It must be the same work each time.

    The collector of garbage is off meanwhile: here it would look at all that earlier tests left behind.
    """
    least = float("inf")
    with without_garbage_collection():
        for _ in range(TIMES):
            least = min(least, _held_s(work))
            if least <= at_most:
                break
    return least


def _held_s(work: Callable[[], object]) -> float:
    watchdog = _Watchdog(threading.get_ident())
    watchdog.start()
    watchdog.began.wait()
    try:
        work()
    finally:
        watchdog.ended.set()
        watchdog.join()
    return watchdog.longest_s


class _Watchdog(threading.Thread):
    """A thread that wants to run every millisecond, and reads the clock of another one when it does."""

    def __init__(self, watched: int) -> None:
        super().__init__(daemon=True)
        self._clock = time.pthread_getcpuclockid(watched)
        self.began, self.ended = threading.Event(), threading.Event()
        self.longest_s = 0.0

    def run(self) -> None:
        before = time.clock_gettime(self._clock)
        self.began.set()
        while not self.ended.is_set():
            time.sleep(_SLEEP_S)
            now = time.clock_gettime(self._clock)
            self.longest_s = max(self.longest_s, now - before)
            before = now
