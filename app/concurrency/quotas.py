"""Shares of a limited number of places, so that no organization can use up the places that others need.

Work that has a place can't be interrupted: a model call that hangs keeps its thread for minutes. So a part of the
places is kept free for organizations that hold less than their share.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from app.concurrency.deadline import left_s
from app.errors import Unavailable

LOOK_S = 1.0
"""How often a thread that waits looks whether its process is stopping."""


@dataclass(frozen=True, slots=True)
class Quota:
    """Decides whether an organization gets one of `capacity` places.

    Below its `share`, an organization is admitted while it holds fewer places than are free, so it gets at most half of
    the free places. With its share or more, it is admitted only while all organizations use fewer than `places`. So:

    * at most `capacity` places are in use;
    * an organization without competitors gets `places`;
    * when one organization uses all that it can, a share stays free. The next organization finds half of it at once,
      another one half of the rest, and so on, as often as a share can be halved;
    * a place that becomes free goes to organizations below their share before it goes to others.
    """

    places: int
    share: int
    capacity: int

    @classmethod
    def of(cls, places: int, percent: int) -> Quota:
        """Give an organization without competitors `places`, and add a share that only others can use."""
        share = _share(places, percent)
        return cls(places, share, places + share)

    @classmethod
    def for_background(cls, places: int, percent: int) -> Quota:
        """Return the quota of less urgent work: `percent` of `places` stay free for urgent work.

        A single place is not kept free.
        """
        return cls.within(max(1, places - _share(places, percent)), percent)

    @classmethod
    def within(cls, capacity: int, percent: int, *, places: int | None = None) -> Quota:
        """Divide `capacity` places between an organization without competitors and a share for others.

        The organization gets as many places as fit, at most `places`. A single place can't be divided.
        """
        fitting = max(1, min(places or capacity, capacity * 100 // (100 + percent)))
        while fitting > 1 and fitting + _share(fitting, percent) > capacity:
            fitting -= 1
        share = _share(fitting, percent)
        return cls(fitting, share, max(1, min(capacity, fitting + share)))

    def admits(self, *, taken: int, held: int, more: int = 1) -> bool:
        """Return whether an organization that holds `held` of the `taken` places may have so many more at once.

        If no place is taken, any number is admitted.
        """
        if held + more <= self.share:
            return held + more <= self.capacity - taken
        return not taken or taken + more <= self.places


class NoFreePlace(Unavailable):
    """No place became free in time."""


class Shares:
    """Counts the places that organizations hold; not thread-safe."""

    def __init__(self, quota: Quota) -> None:
        self.quota = quota
        self._held: Counter[int] = Counter()

    @property
    def taken(self) -> int:
        return self._held.total()

    @property
    def held(self) -> dict[int, int]:
        """{organization: places} of the organizations that hold any."""
        return dict(self._held)

    def take(self, organization_id: int, places: int = 1) -> bool:
        """Give the organization so many places at once if it may have them; return whether it got them."""
        admitted = self.quota.admits(taken=self.taken, held=self._held[organization_id], more=places)
        if admitted:
            self._held[organization_id] += places
        return admitted

    def release(self, organization_id: int, places: int = 1) -> None:
        self._held[organization_id] -= places
        if self._held[organization_id] <= 0:
            del self._held[organization_id]


@dataclass(eq=False, slots=True)
class _Waiting:
    """A thread that waits for so many places; `passed` of them went to threads behind it."""

    places: int
    passed: int = 0
    called: threading.Event = field(default_factory=threading.Event)


class FairSemaphore:
    """Gives places first to the organizations that hold the fewest, and within one in the order of arrival.

    While a thread waits for many places, threads behind it that need fewer get the free ones, at most as many as the
    quota has. From then on they wait behind it, so that it is served, too.

    `on_refused` is called for each caller that gets no place in time.
    """

    def __init__(self, quota: Quota, *, on_refused: Callable[[], None] = lambda: None) -> None:
        self._on_refused = on_refused
        self._shares = Shares(quota)
        self._lock = threading.Lock()
        self._lines: OrderedDict[int, deque[_Waiting]] = OrderedDict()

    @contextmanager
    def hold(
        self, organization_id: int, *, wait_s: float, places: int = 1, stopping: Callable[[], bool] = lambda: False
    ) -> Iterator[None]:
        """Hold so many places during the block.

        Raises `Unavailable` when none becomes free within `wait_s`, or until the thread's deadline, or when the process
        is `stopping`.
        """
        self._enter(organization_id, _Waiting(places), left_s(wait_s), stopping)
        try:
            yield
        finally:
            with self._lock:
                self._shares.release(organization_id, places)
                self._hand_on()

    def add(self, organization_id: int, places: int) -> None:
        """Add to the places that an organization holds, without waiting; a negative number gives places back."""
        with self._lock:
            # A negative release is never refused, because these places are in use already.
            self._shares.release(organization_id, -places)
            self._hand_on()

    def _enter(self, organization_id: int, waiting: _Waiting, wait_s: float, stopping: Callable[[], bool]) -> None:
        with self._lock:
            self._lines.setdefault(organization_id, deque()).append(waiting)
            self._hand_on()
        until = time.monotonic() + wait_s
        while not stopping():
            left = until - time.monotonic()
            if waiting.called.wait(max(0.0, min(left, LOOK_S))):
                return
            if left <= LOOK_S:
                break
        with self._lock:
            if waiting.called.is_set():
                return
            self._remove(organization_id, waiting)
            self._hand_on()
        self._on_refused()
        raise NoFreePlace("Too many requests of this kind are in work at once; try again.")

    def _hand_on(self) -> None:
        """Give free places to organizations that may have them, first to the ones that hold the fewest."""
        while (admitted := self._admit_next()) is not None:
            self._remove(*admitted)
            admitted[1].called.set()

    def _admit_next(self) -> tuple[int, _Waiting] | None:
        """Give places to the first waiting thread that may have them; return its organization and it, or None."""
        held, before = self._shares.held, list[_Waiting]()
        for organization_id in sorted(self._lines, key=lambda id_: held.get(id_, 0)):
            for waiting in self._lines[organization_id]:
                if self._shares.take(organization_id, waiting.places):
                    for skipped in before:
                        skipped.passed += waiting.places
                    return organization_id, waiting
                if waiting.passed >= self._shares.quota.capacity:
                    return None
                before.append(waiting)
        return None

    def _remove(self, organization_id: int, waiting: _Waiting) -> None:
        """Remove a thread from its line, and move the organization behind others that hold the same number."""
        line = self._lines.pop(organization_id)
        line.remove(waiting)
        if line:
            self._lines[organization_id] = line


def _share(places: int, percent: int) -> int:
    """Return `percent` of `places`, rounded up; at least one place."""
    return max(1, -(-places * percent // 100))
