"""Sweeps runs with a dead worker, runs that were never started, and expired Idempotency-Keys."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import structlog
from sqlalchemy import Connection

from app.models.base import earlier_now
from app.models.idempotency_keys import delete_expired_keys
from app.services.runs.claims import KEY_TTL, RUN_WORK
from app.services.runs.ending import RunEnding
from app.services.runs.outcome import EXPIRED
from app.work.sweeper import ROWS_PER_SWEEP, Sweeper
from app.work.table import Claim

log = structlog.get_logger(__name__)


@dataclass(slots=True, kw_only=True)
class RunSweeper(Sweeper):
    """Fails runs with a dead worker, because their models may have been called (docs/adr/0003)."""

    ending: RunEnding
    table = RUN_WORK
    # Three heartbeats.
    stale_s = 30.0
    expires_after = timedelta(hours=1)

    def sweep(self) -> list[int]:
        """Like `Sweeper.sweep`, and delete expired Idempotency-Keys."""
        self.database.retrying(self._delete_expired_keys)
        return Sweeper.sweep(self)

    def _delete_expired_keys(self, connection: Connection) -> None:
        before = earlier_now(connection, self.now()) - KEY_TTL
        delete_expired_keys(connection, before=before, limit=ROWS_PER_SWEEP)

    def _interrupt(self, claim: Claim) -> bool:
        marked = self.ending.interrupt(claim)
        log.warning("run_interrupted", run_id=claim.row_id, marked=marked)
        return False

    def _expire(self, row_id: int, *, exhausted: bool) -> None:
        self.ending.give_up(row_id, EXPIRED)
