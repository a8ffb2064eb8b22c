"""A rate limit in this process alone, for requests that must be counted while Redis is away."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable

KEYS_MAX = 10_000


class LocalWindow:
    """Lets `limit` requests of a key through in any `window_s` seconds, and keeps the keys that were used last."""

    def __init__(self, limit: int, window_s: int, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._window_s = window_s
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._times: OrderedDict[int | str, deque[float]] = OrderedDict()

    def hit(self, key: int | str) -> tuple[bool, int]:
        """Return whether one more goes through, and in how many seconds the oldest one leaves the window."""
        now = self._monotonic()
        with self._lock:
            times = self._times.setdefault(key, deque())
            self._times.move_to_end(key)
            if len(self._times) > KEYS_MAX:
                self._times.popitem(last=False)
            while times and times[0] <= now - self._window_s:
                times.popleft()
            allowed = len(times) < self._limit
            if allowed:
                times.append(now)
            return allowed, math.ceil(times[0] + self._window_s - now)

    def give_back(self, key: int | str) -> None:
        with self._lock:
            if times := self._times.get(key):
                times.pop()
