"""Sweeps a table of work rows for abandoned rows, which have no message, or a worker that died."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import ClassVar, Generic, TypeVar

import structlog

from app.database.transactions import Database
from app.models.base import earlier_now
from app.timestamps import Now, steady
from app.work.table import Claim, WaitingRow, WorkTable

log = structlog.get_logger(__name__)
K = TypeVar("K", bound=Hashable)

# Waiting rows that one sweep reads.
ROWS_PER_SWEEP = 1000
# A little more than the pause between two rounds of the clock.
STEP_S = 6.0
UNSENT_S = 10.0
# A row that looks too old must also have been seen for this long: its maker's clock may have been wrong.
DOUBT_S = 60.0


def attempt(work: Callable[[], object], event: str, **about: object) -> bool:
    """Do the work, and return whether it succeeded. A failure is logged as `event`, with the fields `about`."""
    try:
        work()
    except Exception as error:  # outermost edge: one failure must not stop the work that comes after it
        log.error(event, error=str(error), exc_info=error, **about)
        return False
    return True


@dataclass(slots=True, kw_only=True)
class Watch(Generic[K]):
    """Measures for how many seconds this process has seen each key unchanged.

    The time between two looks counts as `STEP_S` at most. If the database was away, or this process was stopped, the
    workers may have been stopped as well, and get time to continue.
    """

    monotonic: Callable[[], float] = time.monotonic
    _looked_at: float | None = field(default=None, init=False)
    _ages_s: dict[K, float] = field(default_factory=dict, init=False)

    def look(self, keys: Iterable[K]) -> dict[K, float]:
        """Return the ages of `keys`, and forget all other keys."""
        now = self.monotonic()
        step_s = 0.0 if self._looked_at is None else min(STEP_S, now - self._looked_at)
        self._looked_at = now
        self._ages_s = {key: self._ages_s[key] + step_s if key in self._ages_s else 0.0 for key in keys}
        return self._ages_s


@dataclass(slots=True)
class Resending:
    """Decides when the message of a waiting row is sent again: at the age `UNSENT_S`, then whenever the age doubles.

    Most waiting rows still have a message in a long queue. The first time all messages are sent: an in-process Redis
    begins empty, and one message too many does no harm.
    """

    _first: bool = True
    _sent_at_age_s: dict[int, float] = field(default_factory=dict, init=False)

    def due(self, ages_s: Mapping[int, float]) -> list[int]:
        """Return which of the waiting ids to send now."""
        sent = self._sent_at_age_s
        due = [id_ for id_, age_s in ages_s.items() if self._first or age_s >= max(UNSENT_S, 2 * sent.get(id_, 0.0))]
        self._sent_at_age_s = {id_: sent[id_] for id_ in ages_s if id_ in sent} | {id_: ages_s[id_] for id_ in due}
        self._first = False
        return due


@dataclass(slots=True, kw_only=True)
class Sweeper(ABC):
    """Interrupts stale claims, and ends rows that waited too long or were claimed too often.

    A claim is stale when this process has seen it unchanged for `stale_s`. So no machine's clock is compared with
    another's, and after an outage of the database the workers have time to send heartbeats again. A row is ended when
    it has waited for longer than `expires_after`, or was claimed `attempts_max` times.
    """

    database: Database
    now: Now
    monotonic: Callable[[], float] = time.monotonic
    resending: Resending = field(default_factory=Resending)
    table: ClassVar[WorkTable]
    stale_s: ClassVar[float]
    expires_after: ClassVar[timedelta]
    attempts_max: ClassVar[int | None] = None
    _steady: Now = field(init=False)
    _claims: Watch[Claim] = field(init=False)
    _waiting: Watch[int] = field(init=False)

    def __post_init__(self) -> None:
        self._steady = steady(self.now, self.monotonic)
        self._claims = Watch(monotonic=self.monotonic)
        self._waiting = Watch(monotonic=self.monotonic)

    def sweep(self) -> list[int]:
        """Interrupt stale claims and end rows that can't go on; return the ids of rows to send a message for."""
        with self.database.read() as connection:
            claims = self.table.list_claims(connection)
        ages_s = self._claims.look(claims)
        freed = {claim.row_id for claim, age_s in ages_s.items() if age_s >= self.stale_s and self._interrupt(claim)}
        with self.database.read() as connection:
            waiting = self.table.list_waiting(connection, limit=ROWS_PER_SWEEP)
            # This process may have started while its machine's clock was ahead.
            now = min(self._steady(), earlier_now(connection, self.now()))
        waited_s = self._waiting.look(row.id for row in waiting)
        open_ = {row.id: waited_s[row.id] for row in waiting if not self._is_over(row, waited_s[row.id], now)}
        return sorted({*self.resending.due(open_), *(freed & open_.keys())})

    def _is_over(self, row: WaitingRow, waited_s: float, now: datetime) -> bool:
        """Return whether no worker should claim the row any more. Once that is certain, it also ends the row."""
        exhausted = self.attempts_max is not None and row.attempts >= self.attempts_max
        if not exhausted and now - row.created_at < self.expires_after:
            return False
        if exhausted or waited_s >= DOUBT_S:
            self._expire(row.id, exhausted=exhausted)
        return True

    @abstractmethod
    def _interrupt(self, claim: Claim) -> bool:
        """Release the row of a dead worker, unless a heartbeat arrived; return whether the row waits again."""

    @abstractmethod
    def _expire(self, row_id: int, *, exhausted: bool) -> None:
        """End a row that waited too long or was claimed too often (`exhausted`), unless it was claimed meanwhile."""
