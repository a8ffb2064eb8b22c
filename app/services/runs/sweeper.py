"""Finds runs that were left behind: queued without a message, or in work at a worker that died."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

import structlog
from sqlalchemy import Connection

from app.db import Database
from app.metrics import Metrics
from app.metrics.registry import RUNS
from app.models import idempotency_keys, runs
from app.models.runs import Claim
from app.services.runs.execution import clear, finish
from app.services.runs.failures import EXPIRED, INTERRUPTED, failed
from app.timestamps import Now

log = structlog.get_logger(__name__)

# Three beats: a claim that has not moved for so long has lost its worker.
STALE_S = 30.0
UNSENT_S = 10
EXPIRED_AFTER = timedelta(hours=1)
KEY_TTL = timedelta(hours=24)
AT_ONCE = 1000
# Of runs that ended without their worker only ids are at hand.
UNKNOWN_MODEL = "unknown"


@dataclass(slots=True, kw_only=True)
class Sweeper:
    """Remembers what it saw from one sweep to the next.

    A claim is stale when it stood still while this process watched: nobody's clock is compared with another's,
    and after an outage of the database its owners have the time to beat again.
    """

    database: Database
    now: Now
    metrics: Metrics
    monotonic: Callable[[], float] = time.monotonic
    _seen: dict[int, tuple[Claim, float]] = field(default_factory=dict, init=False)
    _sent_at_age_s: dict[int, float] = field(default_factory=dict, init=False)

    def sweep(self) -> list[int]:
        """Mark what is over; the ids of runs whose message is to be sent again."""
        self._interrupt()
        self._forget_keys()
        return self._unsent()

    def _interrupt(self) -> None:
        with self.database.read() as connection:
            claims = runs.list_claims(connection)
        seen, self._seen = self._seen, {}
        for claim in claims:
            before, since = seen.get(claim.run_id, (None, 0.0))
            if before != claim:
                self._seen[claim.run_id] = (claim, self.monotonic())
            elif self.monotonic() - since < STALE_S or not self._mark_interrupted(claim):
                self._seen[claim.run_id] = (claim, since)

    def _mark_interrupted(self, claim: Claim) -> bool:
        values = failed("interrupted", INTERRUPTED)
        marked = self.database.retrying(lambda connection: finish(connection, claim, values, self.now(), unmoved=True))
        log.warning("run_interrupted", run_id=claim.run_id, marked=marked)
        if marked:
            self.metrics.count(RUNS, UNKNOWN_MODEL, "interrupted")
        return marked

    def _unsent(self) -> list[int]:
        """Ages at which a run is sent again double: most that wait this long have a message, behind many others."""
        now = self.now()
        before = now - timedelta(seconds=UNSENT_S)
        with self.database.read() as connection:
            queued = runs.list_queued(connection, before=before, limit=AT_ONCE)
        ages = {run_id: (now - created_at).total_seconds() for run_id, created_at in queued}
        for run_id in [run_id for run_id, age_s in ages.items() if age_s > EXPIRED_AFTER.total_seconds()]:
            self._expire(run_id)
            del ages[run_id]
        due = [run_id for run_id, age_s in ages.items() if age_s >= 2 * self._sent_at_age_s.get(run_id, 0.0)]
        self._sent_at_age_s = {run_id: at for run_id, at in self._sent_at_age_s.items() if run_id in ages}
        self._sent_at_age_s |= {run_id: ages[run_id] for run_id in due}
        return due

    def _expire(self, run_id: int) -> None:
        if give_up(self.database, run_id, EXPIRED, self.now):
            self.metrics.count(RUNS, UNKNOWN_MODEL, "not_started")

    def _forget_keys(self) -> None:
        with self.database.write() as connection:
            idempotency_keys.delete_expired(connection, before=self.now() - KEY_TTL, limit=AT_ONCE)


def give_up(database: Database, run_id: int, reason: str, now: Now) -> bool:
    """End a run that nobody has claimed; False when somebody has, and it goes on."""
    values = failed("not_started", reason)

    def end(connection: Connection) -> bool:
        ended = runs.finish_queued(connection, run_id=run_id, values=values, now=now())
        if ended:
            clear(connection, run_id, values, now())
        return ended

    return database.retrying(end)
