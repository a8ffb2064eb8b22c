"""Sweeps runs that were left behind: queued without a message, or in work at a worker that died."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import structlog

from app.models import idempotency_keys
from app.models.base import earlier_now
from app.services.runs.claiming import RUN_WORK
from app.services.runs.ending import RunEnding
from app.services.runs.failures import EXPIRED, INTERRUPTED, failed
from app.work.sweeper import BATCH, Sweeper
from app.work.table import Claim

log = structlog.get_logger(__name__)

KEY_TTL = timedelta(hours=24)


@dataclass(slots=True, kw_only=True)
class RunSweeper(Sweeper):
    """A run whose worker died has failed: its model may have been called (docs/adr/0003)."""

    ending: RunEnding
    table = RUN_WORK
    # Three heartbeats.
    stale_s = 30.0
    expires_after = timedelta(hours=1)

    def sweep(self) -> list[int]:
        """As every sweeper does; and delete Idempotency-Keys that have expired."""
        with self.database.write() as connection:
            before = earlier_now(connection, self.now()) - KEY_TTL
            idempotency_keys.delete_expired(connection, before=before, limit=BATCH)
        return Sweeper.sweep(self)

    def _interrupt(self, claim: Claim) -> bool:
        marked = self.ending.finish(claim, failed("interrupted", INTERRUPTED), unmoved=True)
        log.warning("run_interrupted", run_id=claim.row_id, marked=marked)
        if marked:
            self.ending.notify_of(claim.row_id)
        return False

    def _expire(self, row_id: int, *, exhausted: bool) -> None:
        self.ending.give_up(row_id, EXPIRED)
