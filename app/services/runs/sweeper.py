"""Finds runs that were left behind: queued without a message, or in work at a worker that died."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

import structlog
from sqlalchemy import Connection

from app.db import Database
from app.models import idempotency_keys, runs
from app.models.base import earlier_now
from app.models.runs import Claim
from app.services.runs.execution import clear, finish
from app.services.runs.failures import EXPIRED, INTERRUPTED, failed
from app.services.runs.telling import Telling
from app.timestamps import Now, steady
from app.work.left_behind import DOUBT_S, Resending, Watch

log = structlog.get_logger(__name__)

# Three beats: a claim that has not moved for so long has lost its worker.
STALE_S = 30.0
EXPIRED_AFTER = timedelta(hours=1)
KEY_TTL = timedelta(hours=24)
AT_ONCE = 1000


@dataclass(slots=True, kw_only=True)
class Sweeper:
    """Remembers what it saw from one sweep to the next.

    A claim is stale when it stood still while this process watched: nobody's clock is compared with another's,
    and after an outage of the database its owners have the time to beat again.
    """

    database: Database
    now: Now
    telling: Telling
    monotonic: Callable[[], float] = time.monotonic
    _steady: Now = field(init=False)
    _claims: Watch[Claim] = field(init=False)
    _queued: Watch[int] = field(init=False)
    _resending: Resending = field(default_factory=Resending, init=False)

    def __post_init__(self) -> None:
        self._steady = steady(self.now, self.monotonic)
        self._claims = Watch(monotonic=self.monotonic)
        self._queued = Watch(monotonic=self.monotonic)

    def sweep(self) -> list[int]:
        """Mark what is over; the ids of runs whose message is to be sent again."""
        self._interrupt()
        self._forget_keys()
        return self._unsent()

    def give_up(self, run_id: int, reason: str) -> bool:
        """End a run that nobody has claimed; False when somebody has, and it goes on."""
        values = failed("not_started", reason)

        def end(connection: Connection) -> bool:
            ended = runs.finish_queued(connection, run_id=run_id, values=values, now=self.now())
            if ended:
                clear(connection, run_id, values, self.now())
            return ended

        ended = self.database.retrying(end)
        if ended:
            self._tell(run_id)
        return ended

    def _interrupt(self) -> None:
        with self.database.read() as connection:
            claims = runs.list_claims(connection)
        for claim, age_s in self._claims.look(claims).items():
            if age_s >= STALE_S:
                self._mark_interrupted(claim)

    def _mark_interrupted(self, claim: Claim) -> None:
        values = failed("interrupted", INTERRUPTED)
        marked = self.database.retrying(lambda connection: finish(connection, claim, values, self.now(), unmoved=True))
        log.warning("run_interrupted", run_id=claim.run_id, marked=marked)
        if marked:
            self._tell(claim.run_id)

    def _unsent(self) -> list[int]:
        with self.database.read() as connection:
            queued = dict(runs.list_queued(connection, limit=AT_ONCE))
            # This process may have begun while its machine's clock was ahead.
            now = min(self._steady(), earlier_now(connection, self.now()))
        ages_s = self._queued.look(queued)
        old = {run_id for run_id, created_at in queued.items() if now - created_at > EXPIRED_AFTER}
        for run_id in old:
            if ages_s[run_id] >= DOUBT_S:
                self.give_up(run_id, EXPIRED)
        return self._resending.due({run_id: age_s for run_id, age_s in ages_s.items() if run_id not in old})

    def _tell(self, run_id: int) -> None:
        with self.database.read() as connection:
            found = runs.find_runs(connection, run_ids=[run_id])
        for row in found:  # unless it was erased meanwhile
            self.telling.ended(row, row.model_name, row.error_kind or "")

    def _forget_keys(self) -> None:
        with self.database.write() as connection:
            before = earlier_now(connection, self.now()) - KEY_TTL
            idempotency_keys.delete_expired(connection, before=before, limit=AT_ONCE)
