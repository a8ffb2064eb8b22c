"""Claims of audits, and the sweeper that lets another worker continue one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import structlog

from app.models.judge_audits import judge_audits
from app.models.replays import UNFINISHED
from app.work.sweeper import Sweeper
from app.work.table import Claim, WorkTable

ATTEMPTS_MAX = 5
INTERRUPTED = f"The audit was interrupted {ATTEMPTS_MAX} times: its worker died or was stopped."
CANCELLED = "It was cancelled."
EXPIRED = "The audit did not run within a day: no worker had time for it."

AUDIT_WORK = WorkTable(
    judge_audits,
    waiting=judge_audits.c.status.in_(UNFINISHED) & judge_audits.c.claim.is_(None),
    on_claim={"attempts": judge_audits.c.attempts + 1},
    attempts=judge_audits.c.attempts,
)

log = structlog.get_logger(__name__)


@dataclass(slots=True, kw_only=True)
class JudgeAuditSweeper(Sweeper):
    """Lets another worker continue an audit after its worker died."""

    table = AUDIT_WORK
    # Ten heartbeats.
    stale_s = 20.0
    expires_after = timedelta(hours=24)
    attempts_max = ATTEMPTS_MAX

    def _interrupt(self, claim: Claim) -> bool:
        released = self.database.retrying(lambda connection: AUDIT_WORK.release(connection, claim, only_if_stale=True))
        log.warning("audit_interrupted", audit_id=claim.row_id, released=released)
        return released

    def _expire(self, row_id: int, *, exhausted: bool) -> None:
        values = {"status": "error", "error": INTERRUPTED if exhausted else EXPIRED}
        self.database.retrying(lambda connection: AUDIT_WORK.finish_waiting(connection, row_id, values, now=self.now()))
