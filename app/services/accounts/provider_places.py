"""Places for requests to an OpenID provider: a part is kept for people who signed in before."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from app.errors import Unavailable

WAIT_S = 5.0


@dataclass(frozen=True, slots=True)
class SignInCaller:
    """Who asks: the `key` of an account if its device is `known`, else of a network."""

    key: str
    known: bool


@dataclass(frozen=True, slots=True)
class CallerLimits:
    """The most that all callers have at once, that all strangers have together, and that each caller has."""

    all: int
    strangers: int
    each: int


HELD = CallerLimits(all=16, strangers=8, each=2)
"""Requests of a process at once. A provider that does not answer holds a thread for each of them."""
WAITING = CallerLimits(all=96, strangers=64, each=32)
"""People who wait for a place: as many of one office as sign in within seconds."""


class _Callers:
    """Counts what each caller has, within limits."""

    def __init__(self, limits: CallerLimits) -> None:
        self._limits = limits
        self._counts: Counter[SignInCaller] = Counter()

    def add(self, caller: SignInCaller) -> bool:
        """Add the caller if the limits allow it; return whether they do."""
        limits, counts = self._limits, self._counts
        strangers = sum(count for other, count in counts.items() if not other.known)
        allowed = (
            counts.total() < limits.all
            and counts[caller] < limits.each
            and (caller.known or strangers < limits.strangers)
        )
        if allowed:
            counts[caller] += 1
        return allowed

    def remove(self, caller: SignInCaller) -> None:
        self._counts[caller] -= 1
        if not self._counts[caller]:
            del self._counts[caller]


@dataclass(eq=False, frozen=True, slots=True)
class _Waiting:
    """A thread that waits for a place."""

    caller: SignInCaller
    called: threading.Event = field(default_factory=threading.Event)


class ProviderPlaces:
    """Gives places in the order of arrival, to each caller that may have one more."""

    def __init__(self, *, held: CallerLimits = HELD, waiting: CallerLimits = WAITING, wait_s: float = WAIT_S) -> None:
        self._lock = threading.Lock()
        self._held, self._waiting, self._wait_s = _Callers(held), _Callers(waiting), wait_s
        self._line: list[_Waiting] = []

    @contextmanager
    def of(self, caller: SignInCaller) -> Iterator[None]:
        """Hold a place during the block. Raises `Unavailable` if none becomes free in time, or too many wait."""
        self._enter(caller)
        try:
            yield
        finally:
            with self._lock:
                self._held.remove(caller)
                self._hand_on()

    def _enter(self, caller: SignInCaller) -> None:
        with self._lock:
            if self._held.add(caller):
                return
            if not self._waiting.add(caller):
                raise _too_many()
            waiting = _Waiting(caller)
            self._line.append(waiting)
        waiting.called.wait(self._wait_s)
        with self._lock:
            self._waiting.remove(caller)
            if waiting.called.is_set():
                return
            self._line.remove(waiting)
        raise _too_many()

    def _hand_on(self) -> None:
        """Give free places to the waiting callers that may have one."""
        for waiting in tuple(self._line):
            if self._held.add(waiting.caller):
                self._line.remove(waiting)
                waiting.called.set()


def _too_many() -> Unavailable:
    return Unavailable("Too many people sign in at this moment; try again in a few seconds.")
