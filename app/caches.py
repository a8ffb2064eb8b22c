"""A cache in this process for values that never change, bounded by their total weight."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class BoundedCache(Generic[T]):
    """Keeps the values that were used last, up to a total weight; safe from any thread.

    Two threads that miss at once both make the value: it is the same, and neither waits for the other.
    `on_lookup` is called after every lookup with whether it was a hit.
    """

    def __init__(self, limit: int, *, on_lookup: Callable[[bool], None] = lambda hit: None) -> None:
        self._limit = limit
        self._on_lookup = on_lookup
        self._held = 0
        self._entries: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, *, last_try: bool = True) -> T | None:
        """Return the value of a key; after a miss with `last_try` False the caller looks again, and is counted then."""
        with self._lock:
            entry = self._entries.get(key)
            if entry:
                self._entries.move_to_end(key)
        if last_try or entry:
            self._on_lookup(entry is not None)
        return entry[0] if entry else None

    def put(self, key: Hashable, value: T, *, weight: int) -> None:
        if weight > self._limit:
            return
        with self._lock:
            self._held += weight - self._entries.pop(key, (None, 0))[1]
            self._entries[key] = (value, weight)
            while self._held > self._limit:
                self._held -= self._entries.popitem(last=False)[1][1]
