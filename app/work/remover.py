"""Removes rows in small batches, so that transactions are short and others write in between."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import Connection

from app.database.transactions import Database
from app.work.round_robin import RoundRobin

# Rows per transaction, which lasts some tens of milliseconds.
ROWS_PER_TRANSACTION = 500
PAUSE_BETWEEN_TRANSACTIONS_S = 0.02
# How long a job of the clock removes rows before it pauses.
SWEEP_S = 3.0


class RemovalStep(Protocol):
    """Removes at most `limit` rows and returns their number, 0 when no rows are left."""

    def __call__(self, connection: Connection, *, limit: int) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Remover:
    """Removes `at_once` rows in each transaction, and pauses for `pause_s` seconds after it."""

    database: Database
    at_once: int = ROWS_PER_TRANSACTION
    pause_s: float = PAUSE_BETWEEN_TRANSACTIONS_S
    monotonic: Callable[[], float] = time.monotonic

    def exhaust(self, step: RemovalStep) -> int:
        """Repeat the step until no rows are left; return the number of removed rows."""
        total = 0
        while removed := self._removed(step):
            total += removed
        return total

    def exhaust_in_turn(
        self,
        round_robin: RoundRobin,
        owners: Mapping[int, int],
        steps_of: Callable[[int], Iterable[RemovalStep]],
        *,
        sweep_s: float = SWEEP_S,
    ) -> int:
        """Do one step for an id of each organization in turn, until no rows are left or `sweep_s` are over.

        `owners` is {id: organization}. A step begins when the step before it has no rows left. Returns the number of
        removed rows.
        """
        total, until = 0, self.monotonic() + sweep_s

        def remove_some(id_: int) -> bool:
            nonlocal total
            removed = self.do_next(steps_of(id_))
            total += removed
            return removed > 0

        round_robin.serve(owners, remove_some, is_over=lambda: self.monotonic() >= until)
        return total

    def do_next(self, steps: Iterable[RemovalStep]) -> int:
        """Do the first step that has rows left, once; return the number of removed rows, 0 when no step has any."""
        return next(filter(None, map(self._removed, steps)), 0)

    def _removed(self, step: RemovalStep) -> int:
        """Do a step once, then pause so that others can write; return the number of removed rows."""
        removed = self.database.retrying(lambda connection: step(connection, limit=self.at_once))
        if removed:
            time.sleep(self.pause_s)
        return removed
