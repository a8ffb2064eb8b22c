"""The place of a request that computes with a large text: a process has few of these places.

The threads of a process share one processor. Of n threads that compute, each waits for the others, some milliseconds
for each one, whenever it continues. So a hundred requests for large texts would also hold up requests that need hardly
any processor time, such as the probes of an orchestrator.

The place of a request is stored for its thread. Work without one, such as that of workers, does not wait.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from contextvars import ContextVar

from app.concurrency import deadline
from app.concurrency.quotas import FairSemaphore

LARGE_TEXT = 64 * 1024
"""Bytes or characters up to which a text needs no place."""


class ComputingPlace:
    """The place of one request of an organization, for which it waits at most `wait_s`."""

    def __init__(self, semaphore: FairSemaphore, organization_id: int, wait_s: float) -> None:
        self._semaphore, self._organization_id, self._wait_s = semaphore, organization_id, wait_s
        self._held: AbstractContextManager[None] | None = None

    def take(self) -> None:
        """Wait for the place; does nothing while the request has it. Raises `Unavailable` if none is free in time."""
        if self._held is not None:
            return
        held = self._semaphore.hold(self._organization_id, wait_s=self._wait_s)
        # The deadline of a request is for its waits for the database and Redis.
        with deadline.paused(), deadline.within(self._wait_s, grace_s=0):
            held.__enter__()
        self._held = held

    def give_back(self) -> None:
        """Let another request have the place; does nothing without one."""
        held, self._held = self._held, None
        if held is not None:
            held.__exit__(None, None, None)


_current: ContextVar[ComputingPlace | None] = ContextVar("place", default=None)


def offer(place: ComputingPlace) -> None:
    """Let this thread's request use the place, from its first `await_place` for a large text until `finish`."""
    _current.set(place)


def await_place(size: int) -> None:
    """Wait until this thread's request may compute with a text of this size; it keeps the place until `finish`.

    Call this before the text is used, and outside of transactions, which would be open while it waits. Raises
    `Unavailable` if no place becomes free in time.
    """
    if size > LARGE_TEXT and (place := _current.get()):
        place.take()


def finish() -> None:
    """Give back the place of this thread's request."""
    if place := _current.get():
        _current.set(None)
        place.give_back()
