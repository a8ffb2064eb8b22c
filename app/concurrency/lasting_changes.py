"""Whether the request of this thread may have changed something that lasts.

A caller may repeat a request that was refused before any change. Work outside of requests counts as changing.
"""

from __future__ import annotations

from contextvars import ContextVar

_may_have_changed: ContextVar[bool] = ContextVar("may_have_changed", default=True)


def begin() -> None:
    """Begin a request of this thread, which has changed nothing yet."""
    _may_have_changed.set(False)


def note() -> None:
    """Note that a change begins to last: before each commit, each message, and each paid call."""
    _may_have_changed.set(True)


def may_have_been_made() -> bool:
    """Return whether this thread's request may have changed something."""
    return _may_have_changed.get()
