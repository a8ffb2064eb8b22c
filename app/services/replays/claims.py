"""Claims of replays: the number of attempts, the state at the start of an attempt, and the sweeper."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import structlog

from app.metrics import Metrics
from app.metrics.registry import REPLAYS
from app.models.replays import UNFINISHED, replays
from app.work.sweeper import Sweeper
from app.work.table import Claim, WorkTable

ATTEMPTS_MAX = 3
INTERRUPTED = f"The replay was interrupted {ATTEMPTS_MAX} times: its worker died or was stopped."

REPLAY_WORK = WorkTable(
    replays,
    waiting=replays.c.status.in_(UNFINISHED) & replays.c.claim.is_(None),
    on_claim={"attempts": replays.c.attempts + 1, "done": 0, "result": None},
    attempts=replays.c.attempts,
)


log = structlog.get_logger(__name__)

EXPIRED = "The replay was not played within a day: no worker had time for it."


@dataclass(slots=True, kw_only=True)
class ReplaySweeper(Sweeper):
    """Lets another worker play a replay again after its worker died."""

    metrics: Metrics
    table = REPLAY_WORK
    # Fifteen heartbeats.
    stale_s = 15.0
    expires_after = timedelta(hours=24)
    attempts_max = ATTEMPTS_MAX

    def _interrupt(self, claim: Claim) -> bool:
        released = self.database.retrying(lambda connection: REPLAY_WORK.release(connection, claim, only_if_stale=True))
        log.warning("replay_interrupted", replay_id=claim.row_id, released=released)
        return released

    def _expire(self, row_id: int, *, exhausted: bool) -> None:
        values = {"status": "error", "error": INTERRUPTED if exhausted else EXPIRED}
        ended = self.database.retrying(
            lambda connection: REPLAY_WORK.finish_waiting(connection, row_id, values, now=self.now())
        )
        self.metrics.count(REPLAYS, "error", by=int(ended))
