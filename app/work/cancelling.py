"""Cancels a row of work as callers ask for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection

from app.database.transactions import Database
from app.errors import Conflict


class WorkView(Protocol):
    """What callers see of a row of work."""

    @property
    def row(self) -> Any: ...


View = TypeVar("View", bound=WorkView)


def cancelled(database: Database, cancel: Callable[[Connection], bool], view: Callable[[], View], noun: str) -> View:
    """Cancel a row with `cancel`, and return what callers see of it then. Raises `Conflict` if it has ended."""
    # Its worker also writes the row, once a second or so.
    is_cancelled = database.retrying(cancel, single=True)
    shown = view()
    if not is_cancelled:
        raise Conflict(f"The {noun} has ended: {shown.row.status}.")
    return shown
