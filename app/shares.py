"""Shares of a limited number of places, so that no organization can take what others need.

Work that holds a place can't be taken back: a call of a model that hangs keeps its thread for minutes. So a part of the
places is kept free for organizations that hold less than their share.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from app.deadline import left_s
from app.errors import Unavailable


@dataclass(frozen=True, slots=True)
class Quota:
    """Decides whether an organization gets one of `capacity` places.

    Below its `share` it is admitted while it holds fewer places than are free, so that it takes half of what is left at
    most; from its share on, only while fewer than `places` are taken by all together. So:

    * never are more than `capacity` places taken;
    * alone, an organization gets `places`;
    * while one takes all that it can, a share stays free, of which the next one finds half at once, another one half of
      what is left, and so on: as many in a row as a share can be halved;
    * what becomes free goes to those below their shares before it goes to one that has its share.
    """

    places: int
    share: int
    capacity: int

    @classmethod
    def of(cls, places: int, percent: int) -> Quota:
        """Give one organization alone `places`, and add a share that only others can take."""
        share = _share(places, percent)
        return cls(places, share, places + share)

    @classmethod
    def beside(cls, places: int, percent: int) -> Quota:
        """Divide what is left of `places` for work that leaves a share of them to work that is more urgent.

        A single place can't be left.
        """
        return cls.within(max(1, places - _share(places, percent)), percent)

    @classmethod
    def within(cls, capacity: int, percent: int, *, places: int | None = None) -> Quota:
        """Divide `capacity` places: one organization alone gets as many as fit, at most `places`, and others the rest.

        A single place can't be divided.
        """
        fitting = max(1, min(places or capacity, capacity * 100 // (100 + percent)))
        while fitting > 1 and fitting + _share(fitting, percent) > capacity:
            fitting -= 1
        share = _share(fitting, percent)
        return cls(fitting, share, max(1, min(capacity, fitting + share)))

    def admits(self, *, taken: int, held: int) -> bool:
        """Return whether an organization that holds `held` of the `taken` places may take another one."""
        return held < self.capacity - taken if held < self.share else taken < self.places


class Shares:
    """Counts the places that organizations hold; not safe for several threads."""

    def __init__(self, quota: Quota) -> None:
        self.quota = quota
        self._held: Counter[int] = Counter()

    @property
    def taken(self) -> int:
        return self._held.total()

    @property
    def held(self) -> dict[int, int]:
        """{organization: places}, of those that hold any."""
        return dict(self._held)

    def take(self, organization_id: int) -> bool:
        """Take a place if the organization may have another one."""
        admitted = self.quota.admits(taken=self.taken, held=self._held[organization_id])
        if admitted:
            self._held[organization_id] += 1
        return admitted

    def release(self, organization_id: int) -> None:
        self._held[organization_id] -= 1
        if self._held[organization_id] <= 0:
            del self._held[organization_id]


class Turns:
    """Hands out turns to organizations with the fewest turns first, and within one in the order of arrival.

    `on_refused` is called for each caller who gets none in time.
    """

    def __init__(self, quota: Quota, *, on_refused: Callable[[], None] = lambda: None) -> None:
        self._on_refused = on_refused
        self._shares = Shares(quota)
        self._lock = threading.Lock()
        self._lines: OrderedDict[int, deque[threading.Event]] = OrderedDict()

    @contextmanager
    def of(self, organization_id: int, *, wait_s: float) -> Iterator[None]:
        """Hold a turn during the block; raises `Unavailable` when none becomes free within `wait_s`.

        The deadline of the thread may be earlier.
        """
        self._enter(organization_id, left_s(wait_s))
        try:
            yield
        finally:
            with self._lock:
                self._shares.release(organization_id)
                self._hand_on()

    def _enter(self, organization_id: int, wait_s: float) -> None:
        called = threading.Event()
        with self._lock:
            self._lines.setdefault(organization_id, deque()).append(called)
            self._hand_on()
        if called.wait(wait_s):
            return
        with self._lock:
            if called.is_set():
                return
            self._remove(organization_id, called)
        self._on_refused()
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


def _share(places: int, percent: int) -> int:
    """Rounded up: the smallest share is one place."""
    return max(1, -(-places * percent // 100))
