"""The time until which a request may wait for the database and for Redis.

Each request has one, which belongs to its thread. Work without a deadline, such as the clock's jobs, waits as long as
the engines and clients allow.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from app.errors import Unavailable

GRACE_S = 0.5
"""The seconds after its deadline in which a request may still clean up, for example end a run that was not sent."""


class Unanswered(Exception):
    """A server did not answer in time. The error of a driver that says so has this class as well."""


class Deadline:
    """A time in monotonic seconds."""

    __slots__ = ("_at", "_grace_s", "_within_s")

    def __init__(self, within_s: float, grace_s: float) -> None:
        self._within_s, self._grace_s = within_s, grace_s
        self._at = time.monotonic() + within_s

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self._at

    def end(self, now: float) -> float:
        """Return when a wait that begins now must end; raises `Unavailable` when the time is up."""
        if now < self._at:
            return self._at
        if now < self._at + self._grace_s:
            return self._at + self._grace_s
        raise Unavailable("The request took too long; try again.")

    def postpone(self, by_s: float) -> None:
        self._at += by_s

    def allow(self, within_s: float) -> None:
        """Count these seconds, from the same beginning, instead of those before."""
        self._at += within_s - self._within_s
        self._within_s = within_s


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


def begin(within_s: float) -> None:
    """Give this thread a deadline until `finish`."""
    _current.set(Deadline(within_s, GRACE_S))


def finish() -> None:
    """Let this thread have no deadline any more."""
    _current.set(None)


@contextmanager
def within(time_s: float, *, grace_s: float = GRACE_S) -> Iterator[None]:
    """Replace this thread's deadline during the block by one in `time_s` seconds."""
    token = _current.set(Deadline(time_s, grace_s))
    try:
        yield
    finally:
        _current.reset(token)


def allow(within_s: float) -> None:
    """Give this thread's request so many seconds from its beginning; where there is no deadline there is none still."""
    if deadline := _current.get():
        deadline.allow(within_s)


@contextmanager
def paused() -> Iterator[None]:
    """Do not count the time of the block: it is the caller's, who sends a body, or a vendor's."""
    deadline, began = _current.get(), time.monotonic()
    try:
        yield
    finally:
        if deadline is not None:
            deadline.postpone(time.monotonic() - began)


def is_over() -> bool:
    """Return whether this thread has a deadline that is over."""
    deadline = _current.get()
    return deadline is not None and deadline.is_over


def end_of_wait(most_s: float) -> float:
    """Return the monotonic second at which a wait that begins now must end: in `most_s`, or at the deadline.

    Raises `Unavailable` when the deadline is over.
    """
    now, deadline = time.monotonic(), _current.get()
    return now + most_s if deadline is None else min(now + most_s, deadline.end(now))


def left_s(most_s: float) -> float:
    """Return the seconds that a wait may take which begins now, at most `most_s`; raises as `end_of_wait` does."""
    deadline = _current.get()
    return most_s if deadline is None else min(most_s, deadline.end(now := time.monotonic()) - now)
