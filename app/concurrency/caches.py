"""The caches of a process: for values that never change, up to a total weight, and for others, for some seconds."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class BoundedCache(Generic[T]):
    """Keeps the most recently used values, up to a total weight; thread-safe.

    Two threads that miss at the same time both make the value: it is the same, and neither waits for the other.
    `on_lookup` is called after every lookup with True for a hit and False for a miss.
    """

    def __init__(self, limit: int, *, on_lookup: Callable[[bool], None] = lambda hit: None) -> None:
        self._limit = limit
        self._on_lookup = on_lookup
        self._held = 0
        self._entries: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, *, count_miss: bool = True) -> T | None:
        """Return the value of a key. Without `count_miss` a miss is not counted, because the caller will look again."""
        with self._lock:
            entry = self._entries.get(key)
            if entry:
                self._entries.move_to_end(key)
        if count_miss or entry:
            self._on_lookup(entry is not None)
        return entry[0] if entry else None

    def put(self, key: Hashable, value: T, *, weight: int) -> None:
        """Keep a value, and drop the values that were not read for the longest time, as far as the weights require it.

        A value that is heavier than the limit is not kept.
        """
        if weight > self._limit:
            return
        with self._lock:
            self._held += weight - self._entries.pop(key, (None, 0))[1]
            self._entries[key] = (value, weight)
            while self._held > self._limit:
                self._held -= self._entries.popitem(last=False)[1][1]


class TimedCache(Generic[T]):
    """Keeps values for `keep_s` seconds after their reading began. Before it would have more than `most`, it drops all.

    Two threads that miss at the same time both read the value. A value that was read from before a call of `clear` or
    `forget` is not kept, because it may be out of date. For `on_lookup` see `BoundedCache`.
    """

    def __init__(
        self, keep_s: float, *, most: int = 10_000, on_lookup: Callable[[bool], None] = lambda hit: None
    ) -> None:
        self._keep_s, self._most = keep_s, most
        self._on_lookup = on_lookup
        self._entries: dict[Hashable, tuple[float, T]] = {}
        self._dropped_at = -math.inf
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> T | None:
        until, value = self._entries.get(key, (-math.inf, None))
        return value if time.monotonic() < until else None

    def get_or_read(self, key: Hashable, read: Callable[[], T]) -> T:
        """Return the value of a key; call `read` unless the value was read less than `keep_s` ago."""
        until, value = self._entries.get(key, (-math.inf, None))
        started = time.monotonic()
        hit = started < until
        self._on_lookup(hit)
        if not hit:
            value = read()
            self.put(key, value, started)
        return value  # type: ignore[return-value] # it is a T, both after a hit and after a reading

    def put(self, key: Hashable, value: T, read_at: float) -> None:
        """Keep a value with `read_at`, the time when its reading began, in monotonic seconds."""
        with self._lock:
            if read_at < self._dropped_at:
                return
            if len(self._entries) >= self._most:
                self._entries.clear()
            self._entries[key] = (read_at + self._keep_s, value)

    def clear(self) -> None:
        with self._lock:
            self._dropped_at = time.monotonic()
            self._entries.clear()

    def forget(self, key: Hashable) -> None:
        with self._lock:
            self._dropped_at = time.monotonic()
            self._entries.pop(key, None)
