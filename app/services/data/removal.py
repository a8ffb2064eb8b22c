"""Removes rows in short transactions, so that other writers never wait for long."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import Connection

from app.db import Database

# Rows of one transaction, which takes some tens of milliseconds.
AT_ONCE = 500
PAUSE_S = 0.02


class Step(Protocol):
    """Removes at most `limit` rows and returns their number, 0 if there are none left."""

    def __call__(self, connection: Connection, *, limit: int) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Remover:
    database: Database
    at_once: int = AT_ONCE
    pause_s: float = PAUSE_S
    monotonic: Callable[[], float] = time.monotonic

    def exhaust(self, step: Step, *, until: float | None = None) -> int:
        """Repeat the step until no rows are left or the monotonic time is `until`; returns the number of rows."""
        total = 0
        while until is None or self.monotonic() < until:
            removed = self.database.retrying(lambda connection: step(connection, limit=self.at_once))
            if not removed:
                break
            total += removed
            time.sleep(self.pause_s)
        return total
