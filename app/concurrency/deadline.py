"""The time until which a request may wait for the database and for Redis.

The deadline of a request is stored for its thread. Work without a deadline, such as the clock's jobs, waits as long as
the engines and clients allow.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from app.errors import Unavailable

GRACE_S = 0.5
"""For this long after its deadline a request may still clean up, for example end a run that was not sent."""


class ServerTimeout(Exception):
    """A server did not answer in time. A driver's error with this meaning also inherits from this class."""


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
        """Return when a wait that begins now must end; raise `Unavailable` when the time is up."""
        if now < self._at:
            return self._at
        if now < self._at + self._grace_s:
            return self._at + self._grace_s
        raise Unavailable("The request took too long; try again.")

    def postpone(self, by_s: float) -> None:
        self._at += by_s

    def allow(self, within_s: float) -> None:
        """Replace the limit by `within_s`, counted from the same beginning."""
        self._at += within_s - self._within_s
        self._within_s = within_s


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


def begin(within_s: float) -> None:
    """Give this thread a deadline until `finish`."""
    _current.set(Deadline(within_s, GRACE_S))


def finish() -> None:
    """Remove this thread's deadline."""
    _current.set(None)


@contextmanager
def within(time_s: float, *, grace_s: float = GRACE_S) -> Iterator[None]:
    """Give this thread another deadline during the block, in `time_s` seconds."""
    token = _current.set(Deadline(time_s, grace_s))
    try:
        yield
    finally:
        _current.reset(token)


def allow(within_s: float) -> None:
    """Let this thread's request last `within_s` seconds from its beginning, if it has a deadline."""
    if deadline := _current.get():
        deadline.allow(within_s)


@contextmanager
def paused() -> Iterator[None]:
    """Exclude the block's time from the deadline, because the caller (who sends a body) or a vendor uses it."""
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
    """Return when a wait that begins now must end, in monotonic seconds: in `most_s`, or at the deadline.

    Raises `Unavailable` when the deadline is over.
    """
    now, deadline = time.monotonic(), _current.get()
    return now + most_s if deadline is None else min(now + most_s, deadline.end(now))


def left_s(most_s: float) -> float:
    """Return how many seconds a wait that begins now may last, at most `most_s`; raise the errors of `end_of_wait`."""
    deadline = _current.get()
    return most_s if deadline is None else min(most_s, deadline.end(now := time.monotonic()) - now)
