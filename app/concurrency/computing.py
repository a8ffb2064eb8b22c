"""The turn of a request that computes with a large text: a process works on few of these at once.

The threads of a process share one processor. Of n threads that compute, each waits for the others, some milliseconds
for each one, whenever it continues. So a hundred requests for large texts would also hold up requests that need hardly
any processor time, such as the probes of an orchestrator.

The turn of a request is stored for its thread. Work without one, such as that of workers, does not wait.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar

from app.concurrency import deadline

LARGE = 64 * 1024
"""Bytes or characters up to which a text needs no turn."""


class ComputingTurn:
    """The turn of one request; `enter` waits for it, at most `wait_s`."""

    def __init__(self, enter: Callable[[], AbstractContextManager[None]], wait_s: float) -> None:
        self._enter, self._wait_s = enter, wait_s
        self._held: AbstractContextManager[None] | None = None

    def begin(self) -> None:
        if self._held is not None:
            return
        held = self._enter()
        # The deadline of a request is for its waits for the database and Redis.
        with deadline.paused(), deadline.within(self._wait_s, grace_s=0):
            held.__enter__()
        self._held = held

    def end(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            held.__exit__(None, None, None)


_current: ContextVar[ComputingTurn | None] = ContextVar("turn", default=None)


def offer(turn: ComputingTurn) -> None:
    """Give this thread's request a turn that it may begin, until `finish`."""
    _current.set(turn)


def await_turn(size: int) -> None:
    """Wait until this thread's request may compute with a text of this size; it keeps the turn until `finish`.

    Call this before the text is used, and outside of transactions, which would be open while it waits. Raises
    `Unavailable` if no turn becomes free in time.
    """
    if size > LARGE and (turn := _current.get()):
        turn.begin()


def finish() -> None:
    """End the turn of this thread's request."""
    if turn := _current.get():
        _current.set(None)
        turn.end()
