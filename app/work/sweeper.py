"""Sweeps a table of work rows for those that were left behind: without a message, or with a worker that died."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import ClassVar, Generic, TypeVar

import structlog

from app.db import Database
from app.models.base import earlier_now
from app.timestamps import Now, steady
from app.work.table import Claim, WaitingRow, WorkTable

log = structlog.get_logger(__name__)
K = TypeVar("K", bound=Hashable)

# A little more than the pause between two rounds of the clock.
STEP_S = 6.0
UNSENT_S = 10.0
# A row that looks too old must look so for as long: the clock of its maker may have been wrong.
DOUBT_S = 60.0


def attempt(work: Callable[[], object], event: str, **about: object) -> bool:
    """Do the work, and return whether it succeeded; a failure is logged as the event, with what it is about."""
    try:
        work()
    except Exception as error:  # outermost edge: one failure must not stop the work that comes after it
        log.error(event, error=str(error), exc_info=error, **about)
        return False
    return True


@dataclass(slots=True, kw_only=True)
class Watch(Generic[K]):
    """Measures for how many seconds this process has seen each key unchanged.

    The time between two looks counts for `STEP_S` at most: when the database was away, or this process stood still,
    the workers may have done so as well, and get the time to move again.
    """

    monotonic: Callable[[], float] = time.monotonic
    _looked_at: float | None = field(default=None, init=False)
    _ages_s: dict[K, float] = field(default_factory=dict, init=False)

    def look(self, keys: Iterable[K]) -> dict[K, float]:
        """Return the ages of `keys`; all other keys are forgotten."""
        now = self.monotonic()
        step_s = 0.0 if self._looked_at is None else min(STEP_S, now - self._looked_at)
        self._looked_at = now
        self._ages_s = {key: self._ages_s[key] + step_s if key in self._ages_s else 0.0 for key in keys}
        return self._ages_s


@dataclass(slots=True)
class Resending:
    """Decides when the message of a waiting row is sent again: at `UNSENT_S`, and each time the age has doubled.

    Most waiting rows have a message, behind many others. The first time all are sent: an in-process Redis is empty
    when it begins, and one message too many does no harm.
    """

    _first: bool = True
    _sent_at_age_s: dict[int, float] = field(default_factory=dict, init=False)

    def due(self, ages_s: Mapping[int, float]) -> list[int]:
        """Return the ids to send now, of those that wait."""
        sent = self._sent_at_age_s
        due = [id_ for id_, age_s in ages_s.items() if self._first or age_s >= max(UNSENT_S, 2 * sent.get(id_, 0.0))]
        self._sent_at_age_s = {id_: sent[id_] for id_ in ages_s if id_ in sent} | {id_: ages_s[id_] for id_ in due}
        self._first = False
        return due


BATCH = 1000


@dataclass(slots=True, kw_only=True)
class Sweeper(ABC):
    """Remembers what it saw from one sweep to the next.

    A claim is stale when it stood still for `stale_s` while this process watched: no machine's clock is compared with
    another's, and after an outage of the database the workers have the time to send heartbeats again. A row that waits
    for longer than `expires_after`, or was claimed `attempts_max` times, is ended.
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
        """Interrupt stale claims and end what can't go on; the ids of rows whose message is to be sent again."""
        with self.database.read() as connection:
            claims = self.table.list_claims(connection)
        ages_s = self._claims.look(claims)
        freed = {claim.row_id for claim, age_s in ages_s.items() if age_s >= self.stale_s and self._interrupt(claim)}
        with self.database.read() as connection:
            waiting = self.table.list_waiting(connection, limit=BATCH)
            # This process may have begun while its machine's clock was ahead.
            now = min(self._steady(), earlier_now(connection, self.now()))
        waited_s = self._waiting.look(row.id for row in waiting)
        open_ = {row.id: waited_s[row.id] for row in waiting if not self._over(row, waited_s[row.id], now)}
        return sorted({*self.resending.due(open_), *(freed & open_.keys())})

    def _over(self, row: WaitingRow, waited_s: float, now: datetime) -> bool:
        """Return whether no worker is to claim the row any more; end it when that is beyond doubt."""
        exhausted = self.attempts_max is not None and row.attempts >= self.attempts_max
        if not exhausted and now - row.created_at < self.expires_after:
            return False
        if exhausted or waited_s >= DOUBT_S:
            self._expire(row.id, exhausted=exhausted)
        return True

    @abstractmethod
    def _interrupt(self, claim: Claim) -> bool:
        """Take the row from a worker that died, unless it has moved; True when the row waits again."""

    @abstractmethod
    def _expire(self, row_id: int, *, exhausted: bool) -> None:
        """End a row that waited too long or was claimed too often (`exhausted`), unless it was claimed meanwhile."""
