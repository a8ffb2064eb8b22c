"""Limits how many threads of a process do the same kind of work at once, fairly among organizations."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager

from app.errors import Unavailable
from app.shares import Quota, Shares


class Turns:
    """Hands out turns to organizations with the fewest turns first, and within one in the order of arrival."""

    def __init__(self, quota: Quota, *, timeout_s: float) -> None:
        self._shares = Shares(quota)
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._lines: OrderedDict[int, deque[threading.Event]] = OrderedDict()

    @contextmanager
    def of(self, organization_id: int) -> Iterator[None]:
        """Hold a turn during the block; raises `Unavailable` when none becomes free in time."""
        self._enter(organization_id)
        try:
            yield
        finally:
            with self._lock:
                self._shares.release(organization_id)
                self._hand_on()

    def _enter(self, organization_id: int) -> None:
        called = threading.Event()
        with self._lock:
            self._lines.setdefault(organization_id, deque()).append(called)
            self._hand_on()
        if called.wait(self._timeout_s):
            return
        with self._lock:
            if not called.is_set():
                self._remove(organization_id, called)
                raise Unavailable("Too many requests of this kind are in work at once; try again.")

    def _hand_on(self) -> None:
        """Give the free turns to the organizations that may have them, those with the fewest turns first."""
        while self._lines:
            held = self._shares.held
            organization_id = min(self._lines, key=lambda one: held.get(one, 0))
            if not self._shares.take(organization_id):
                return
            called = self._lines[organization_id][0]
            self._remove(organization_id, called)
            called.set()

    def _remove(self, organization_id: int, called: threading.Event) -> None:
        """Take a waiting thread out of its line, and move the organization to the end of those with as many turns."""
        line = self._lines.pop(organization_id)
        line.remove(called)
        if line:
            self._lines[organization_id] = line
