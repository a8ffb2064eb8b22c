"""Finds replays that were left behind: without a message, or in work at a worker that died."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

import structlog

from app.db import Database
from app.models import replay_claims
from app.models.replay_claims import Claim
from app.models.replays import ReplayRow
from app.services.replay_player import ATTEMPTS_MAX, INTERRUPTED
from app.timestamps import Now

log = structlog.get_logger(__name__)

# A worker says every second that it lives.
STALE_S = 15.0
UNSENT_S = 10.0
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
    stale_s: float = STALE_S
    monotonic: Callable[[], float] = time.monotonic
    _seen: dict[int, tuple[Claim, float]] = field(default_factory=dict)
    _sent: dict[int, float] = field(default_factory=dict)
    _first: bool = True

    def sweep(self) -> list[int]:
        """Free what dead workers hold, end what can't go on; the ids of replays whose message is to be sent again."""
        freed = self._free_stale()
        with self.database.read() as connection:
            free = replay_claims.list_free(connection, limit=AT_ONCE)
        open_ = [row for row in free if not self._ended(row)]
        self._sent = {row.id: self._sent[row.id] for row in open_ if row.id in self._sent}
        due = [row.id for row in open_ if row.id in freed or self._unsent(row)]
        self._sent |= dict.fromkeys(due, self.monotonic())
        self._first = False
        return due

    def _free_stale(self) -> set[int]:
        with self.database.read() as connection:
            claims = replay_claims.list_claims(connection)
        seen, self._seen = self._seen, {}
        freed = set()
        for claim in claims:
            before, since = seen.get(claim.replay_id, (None, 0.0))
            if before != claim:
                self._seen[claim.replay_id] = (claim, self.monotonic())
            elif self.monotonic() - since < self.stale_s or not self._release(claim):
                self._seen[claim.replay_id] = (claim, since)
            else:
                freed.add(claim.replay_id)
        return freed

    def _release(self, claim: Claim) -> bool:
        released = self.database.retrying(
            lambda connection: replay_claims.release_replay(
                connection, replay_id=claim.replay_id, token=claim.token, alive_at=claim.alive_at
            )
        )
        log.warning("replay_interrupted", replay_id=claim.replay_id, released=released)
        return released

    def _ended(self, row: ReplayRow) -> bool:
        """End a replay that nobody has and nobody should take up any more."""
        interrupted = row.attempts >= ATTEMPTS_MAX
        if not interrupted and self.now() - row.created_at < EXPIRED_AFTER:
            return False
        values = {"status": "error", "error": INTERRUPTED if interrupted else EXPIRED}
        return self.database.retrying(
            lambda connection: replay_claims.end_replay(connection, replay_id=row.id, values=values, now=self.now())
        )

    def _unsent(self, row: ReplayRow) -> bool:
        """Sent again at 10 s of age, and then each time the age has doubled: most of these wait behind others.

        The first sweep sends for all: an in-process Redis has just begun, and a message too many does no harm.
        """
        if self._first:
            return True
        age_s = (self.now() - row.created_at).total_seconds()
        sent_at = self._sent.get(row.id)
        if sent_at is None:
            return age_s >= UNSENT_S
        return self.monotonic() - sent_at >= max(UNSENT_S, age_s / 2)
