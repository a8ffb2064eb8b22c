"""Moving windows and epochs of a process that shares them with no other, such as the embedded mode's.

Redis' script counts the same. Where Redis is in the process as well, the script takes half of the time in which a
prompt is read.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

WINDOW_S = 60
# Callers that are remembered, those who asked last.
CALLERS_MAX = 10_000


class Log:
    """Keeps the requests that were let through within the window, oldest first, and finds places by binary search.

    `total` is for how much they count together.
    """

    __slots__ = ("_left", "_start", "_sums", "_times")

    def __init__(self) -> None:
        self._times: list[float] = []
        # Of each entry the sum of all that was ever counted up to it.
        self._sums: list[int] = []
        # The index of the oldest entry in the window, and the sum of all that was ever counted before it.
        self._start = self._left = 0

    @property
    def total(self) -> int:
        return (self._sums[-1] if self._sums else self._left) - self._left

    def oldest(self) -> float | None:
        return self._times[self._start] if self._start < len(self._times) else None

    def newest(self) -> float | None:
        return self._times[-1] if self._start < len(self._times) else None

    def leave(self, until: float) -> None:
        """Let the entries until then leave the window."""
        self._start = bisect_right(self._times, until, self._start)
        if self._start:
            self._left = self._sums[self._start - 1]
        if 2 * self._start >= len(self._times):
            del self._times[: self._start], self._sums[: self._start]
            self._start = 0

    def add(self, now: float, amount: int) -> None:
        self._sums.append((self._sums[-1] if self._sums else self._left) + amount)
        self._times.append(now)

    def take_back(self) -> None:
        """Forget the newest entry, if there is one."""
        if self._start < len(self._times):
            self._times.pop()
            self._sums.pop()

    def makes_room(self, room: int) -> float | None:
        """Return the time of the first entry after which the others count for no more than `room`, or the newest's."""
        if self._start == len(self._times):
            return None
        at = bisect_left(self._sums, self._sums[-1] - room, self._start)
        return self._times[min(at, len(self._times) - 1)]


class Caller(NamedTuple):
    """All that a caller was let through, and what of it was ingest."""

    every: Log
    ingest: Log


class OwnCounts:
    """Threads use logs while they hold `lock`. `monotonic` returns seconds."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.lock = threading.Lock()
        self.monotonic = monotonic
        # Those who asked last come last.
        self._callers: OrderedDict[int | str, Caller] = OrderedDict()
        self._epochs: dict[int, bytes] = {}

    def caller(self, key: int | str, now: float) -> Caller:
        """Return what a caller was let through within the window."""
        found = self._callers.get(key)
        if found is None:
            self._forget(now)
            found = self._callers[key] = Caller(Log(), Log())
        else:
            self._callers.move_to_end(key)
        for log in found:
            log.leave(now - WINDOW_S)
        return found

    def _forget(self, now: float) -> None:
        """Forget at most two callers: those of whom nothing counts, and at `CALLERS_MAX` who asked longest ago."""
        for _ in range(min(2, len(self._callers))):
            key, caller = next(iter(self._callers.items()))
            newest = caller.every.newest()
            if newest is not None and newest > now - WINDOW_S and len(self._callers) < CALLERS_MAX:
                break
            del self._callers[key]

    def epoch(self, project_id: int, new: Callable[[], bytes]) -> bytes:
        """Return the epoch of a project, a `new` one if there is none."""
        found = self._epochs.get(project_id)
        return found if found is not None else self._epochs.setdefault(project_id, new())

    def put_epoch(self, project_id: int, epoch: bytes) -> None:
        self._epochs[project_id] = epoch
