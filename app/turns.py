"""Turns at what few threads of a process may do at a time, handed out by organization."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager

from app.errors import Unavailable
from app.shares import Quota, Shares


class Turns:
    """Whoever waits goes on in the order of coming, and those whose organization has fewest turns before others."""

    def __init__(self, quota: Quota, *, timeout_s: float) -> None:
        self._shares = Shares(quota)
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._lines: OrderedDict[int, deque[threading.Event]] = OrderedDict()

    @contextmanager
    def of(self, organization_id: int) -> Iterator[None]:
        """Have a turn; `Unavailable` when none is free in time."""
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
                raise Unavailable("Too many of these are begun at once; try again.")

    def _hand_on(self) -> None:
        """Give what is free to the organizations that may have it, those with fewest turns before others."""
        while self._lines:
            held = self._shares.held
            organization_id = min(self._lines, key=lambda one: held.get(one, 0))
            if not self._shares.take(organization_id):
                return
            called = self._lines[organization_id][0]
            self._remove(organization_id, called)
            called.set()

    def _remove(self, organization_id: int, called: threading.Event) -> None:
        """Of organizations with as many turns, the one that had none for longest is first."""
        line = self._lines.pop(organization_id)
        line.remove(called)
        if line:
            self._lines[organization_id] = line
