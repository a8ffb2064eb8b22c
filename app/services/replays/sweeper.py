"""Finds replays that were left behind: without a message, or in work at a worker that died."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from app.db import Database
from app.metrics import Metrics
from app.metrics.registry import REPLAYS
from app.models import replay_claims
from app.models.base import earlier_now
from app.models.replay_claims import Claim
from app.models.replays import ReplayRow
from app.services.replays.player import ATTEMPTS_MAX, INTERRUPTED
from app.timestamps import Now, steady
from app.work.left_behind import DOUBT_S, Resending, Watch

log = structlog.get_logger(__name__)

# A worker says every second that it lives.
STALE_S = 15.0
EXPIRED_AFTER = timedelta(hours=24)
EXPIRED = "The replay was not played within a day: no worker had time for it."
AT_ONCE = 1000


@dataclass(slots=True, kw_only=True)
class ReplaySweeper:
    """Remembers what it saw from one sweep to the next: a claim that stood still meanwhile has lost its worker.

    Nobody's clock is compared with another's, and an outage of the database takes no replay from its worker.
    """

    database: Database
    now: Now
    metrics: Metrics
    stale_s: float = STALE_S
    monotonic: Callable[[], float] = time.monotonic
    resending: Resending = field(default_factory=Resending)
    _steady: Now = field(init=False)
    _claims: Watch[Claim] = field(init=False)
    _free: Watch[int] = field(init=False)

    def __post_init__(self) -> None:
        self._steady = steady(self.now, self.monotonic)
        self._claims = Watch(monotonic=self.monotonic)
        self._free = Watch(monotonic=self.monotonic)

    def sweep(self) -> list[int]:
        """Free what dead workers hold, end what can't go on; the ids of replays whose message is to be sent again."""
        freed = self._free_stale()
        with self.database.read() as connection:
            free = replay_claims.list_free(connection, limit=AT_ONCE)
            # This process may have begun while its machine's clock was ahead.
            now = min(self._steady(), earlier_now(connection, self.now()))
        ages_s = self._free.look(row.id for row in free)
        open_ = {row.id: ages_s[row.id] for row in free if not self._over(row, ages_s[row.id], now)}
        due = self.resending.due(open_)
        return sorted({*due, *(freed & open_.keys())})

    def _free_stale(self) -> set[int]:
        with self.database.read() as connection:
            claims = replay_claims.list_claims(connection)
        ages_s = self._claims.look(claims)
        return {claim.replay_id for claim, age_s in ages_s.items() if age_s >= self.stale_s and self._release(claim)}

    def _release(self, claim: Claim) -> bool:
        released = self.database.retrying(
            lambda connection: replay_claims.release_replay(
                connection, replay_id=claim.replay_id, token=claim.token, alive_at=claim.alive_at
            )
        )
        log.warning("replay_interrupted", replay_id=claim.replay_id, released=released)
        return released

    def _over(self, row: ReplayRow, age_s: float, now: datetime) -> bool:
        """Whether nobody should take the replay up any more; ends it, when that is beyond doubt."""
        interrupted = row.attempts >= ATTEMPTS_MAX
        if not interrupted and now - row.created_at < EXPIRED_AFTER:
            return False
        if interrupted or age_s >= DOUBT_S:
            values = {"status": "error", "error": INTERRUPTED if interrupted else EXPIRED}
            ended = self.database.retrying(
                lambda connection: replay_claims.end_replay(connection, replay_id=row.id, values=values, now=self.now())
            )
            self.metrics.count(REPLAYS, "error", by=int(ended))
        return True
