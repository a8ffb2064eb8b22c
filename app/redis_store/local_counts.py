"""Moving windows and epochs in the memory of a single process, such as the embedded mode's.

They count like the script in Redis. In the in-process Redis the script would be half of the time of reading a prompt.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

WINDOW_S = 60
# At most this many callers are remembered: the most recent ones.
CALLERS_MAX = 10_000


class RequestLog:
    """The allowed requests within the window, oldest first; positions are found by binary search.

    `total` is the sum of their amounts.
    """

    __slots__ = ("_expired_sum", "_start", "_sums", "_times")

    def __init__(self) -> None:
        self._times: list[float] = []
        # For each entry: the sum of all amounts ever counted, up to and including its own.
        self._sums: list[int] = []
        # The index of the oldest entry in the window, and the sum of all amounts ever counted before it.
        self._start = self._expired_sum = 0

    @property
    def total(self) -> int:
        return (self._sums[-1] if self._sums else self._expired_sum) - self._expired_sum

    def oldest(self) -> float | None:
        return self._times[self._start] if self._start < len(self._times) else None

    def newest(self) -> float | None:
        return self._times[-1] if self._start < len(self._times) else None

    def expire(self, until: float) -> None:
        """Remove the entries up to the time `until` from the window."""
        self._start = bisect_right(self._times, until, self._start)
        if self._start:
            self._expired_sum = self._sums[self._start - 1]
        if 2 * self._start >= len(self._times):
            del self._times[: self._start], self._sums[: self._start]
            self._start = 0

    def add(self, now: float, amount: int) -> None:
        self._sums.append((self._sums[-1] if self._sums else self._expired_sum) + amount)
        self._times.append(now)

    def take_back(self) -> None:
        """Remove the newest entry, if there is one."""
        if self._start < len(self._times):
            self._times.pop()
            self._sums.pop()

    def makes_room(self, room: int) -> float | None:
        """Return the time of the first entry after which the rest counts `room` at most, or of the newest entry."""
        if self._start == len(self._times):
            return None
        at = bisect_left(self._sums, self._sums[-1] - room, self._start)
        return self._times[min(at, len(self._times) - 1)]


class Caller(NamedTuple):
    """The allowed requests of a caller: all of them, and the requests of ingest."""

    every: RequestLog
    ingest: RequestLog


class LocalCounts:
    """Logs and epochs by key. Threads must hold `lock` while they use logs. `monotonic` returns seconds."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.lock = threading.Lock()
        self.monotonic = monotonic
        # Those who asked last come last.
        self._callers: OrderedDict[int | str, Caller] = OrderedDict()
        self._epochs: dict[int, bytes] = {}

    def caller(self, key: int | str, now: float) -> Caller:
        """Return what a caller was let through within the window."""
        known = self._callers.get(key)
        if known is None:
            self._forget(now)
            known = self._callers[key] = Caller(RequestLog(), RequestLog())
        else:
            self._callers.move_to_end(key)
        for log in known:
            log.expire(now - WINDOW_S)
        return known

    def _forget(self, now: float) -> None:
        """Forget up to two callers: those without requests in the window and, at `CALLERS_MAX`, the least recent."""
        for _ in range(min(2, len(self._callers))):
            key, caller = next(iter(self._callers.items()))
            newest = caller.every.newest()
            if newest is not None and newest > now - WINDOW_S and len(self._callers) < CALLERS_MAX:
                break
            del self._callers[key]

    def epoch(self, project_id: int, new: Callable[[], bytes]) -> bytes:
        """Return the epoch of a project; make it with `new` if there is none."""
        epoch = self._epochs.get(project_id)
        return epoch if epoch is not None else self._epochs.setdefault(project_id, new())

    def put_epoch(self, project_id: int, epoch: bytes) -> None:
        self._epochs[project_id] = epoch
