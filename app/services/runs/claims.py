"""Claims of runs: made for this process, ended with the run, and swept where their worker died."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import uuid4

import structlog
from sqlalchemy import Connection

from app.coalesce import Coalescer
from app.db import Database
from app.metrics import Metrics
from app.metrics.registry import RUNS
from app.models import runs, usage
from app.models.base import earlier_now
from app.models.queries import delete_rows
from app.models.runs import ClaimedRunRow, RunRow
from app.redis_store.runs import LiveRuns, RunCompletions
from app.services.runs.outcome import EXPIRED, INTERRUPTED, NOT_CALLED, RunEnd, failed
from app.timestamps import Now
from app.work.sweeper import BATCH, Sweeper
from app.work.table import Claim, WorkTable

log = structlog.get_logger(__name__)

HEARTBEAT_S = 10.0
KEY_TTL = timedelta(hours=24)
RUN_WORK = WorkTable(runs.runs, waiting=runs.runs.c.status == "queued")
ClaimedRun = tuple[ClaimedRunRow, Claim]


class RunClaims:
    """Claims one run by a statement of its own, and by the next one all whose claims were requested meanwhile.

    Runs that are claimed together share the token of their claims. The claim is committed before the rows are read:
    who dies in between has claimed them, as who dies later.
    """

    def __init__(self, database: Database, now: Now) -> None:
        self._database = database
        self._now = now
        self._claim: Coalescer[int, ClaimedRun | None] = Coalescer(self.claim_all)

    def claim(self, run_id: int) -> ClaimedRun | None:
        """Make the queued run this process's own; None when another worker was faster, or the run is not queued."""
        return self._claim(run_id)

    def claim_all(self, run_ids: Sequence[int]) -> list[ClaimedRun | None]:
        """Claim several runs, and return them in their order; an id that comes twice gets its run once."""
        token, now = str(uuid4()), self._now()
        ids = sorted(set(run_ids))
        rows = self._database.retrying(
            lambda connection: (
                runs.find_claimed(connection, run_ids=ids, token=token)
                if RUN_WORK.claim(connection, ids, token=token, now=now)
                else []
            ),
            single=True,
        )
        claimed = {row.id: (row, Claim(row.id, token, now)) for row in rows}
        return [claimed.pop(run_id, None) for run_id in run_ids]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnding:
    database: Database
    now: Now
    metrics: Metrics
    live: LiveRuns
    completions: RunCompletions

    def finish(self, claim: Claim, end: RunEnd, *, unmoved: bool = False, contents: bool = True) -> bool:
        """End a claimed run; False when it has ended, or `unmoved` and its worker has moved.

        `contents`: whether files or sealed texts may be kept beside the run.
        """
        return self._finish(
            lambda connection: RUN_WORK.finish(connection, claim, end.columns(), now=self.now(), unmoved=unmoved),
            claim.row_id,
            end,
            contents,
        )

    def give_up(self, run_id: int, reason: str) -> bool:
        """End a queued run as `not_started`, and notify; False when a worker has claimed it, and it goes on."""
        end = failed("not_started", reason)
        ended = self._finish(
            lambda connection: RUN_WORK.finish_waiting(connection, run_id, end.columns(), now=self.now()), run_id, end
        )
        if ended:
            self.notify_of(run_id)
        return ended

    def notify_of(self, run_id: int) -> None:
        """Do as `notify` for a run that ended without an answer."""
        with self.database.read() as connection:
            found = runs.find_runs(connection, run_ids=[run_id])
        for row in found:  # unless it was erased meanwhile
            self.notify(row, row.model_name, row.error_kind or "")

    def notify(self, row: RunRow, model_name: str, outcome: str) -> None:
        """Count the run that has ended, then tell its followers and waiters, who find it counted.

        `row` is the run as it was accepted, `model_name` the model that answered, or was to.
        """
        self.metrics.count(RUNS, model_name, outcome)
        if row.request.stream:
            self.live.end(row.id)
        self.completions.announce(row.id)

    def _finish(self, guarded: Callable[[Connection], bool], run_id: int, end: RunEnd, contents: bool = True) -> bool:
        """End a run by `guarded` and count its usage; False, and nothing has changed, where `guarded` returns False.

        Deletes the run's files too, and its Idempotency-Key where the model was surely not called.
        """

        def work(connection: Connection) -> bool:
            if not guarded(connection):
                return False
            if contents:
                delete_rows(connection, runs.run_file_chunks, run_id=run_id)
            if end.error_kind in NOT_CALLED:
                delete_rows(connection, runs.idempotency_keys, run_id=run_id)
            usage.count_run(connection, run_id=run_id, spent=end.spent(), now=self.now())
            return True

        return self.database.retrying(work)


@dataclass(slots=True, kw_only=True)
class RunSweeper(Sweeper):
    """A run whose worker died has failed: its model may have been called (docs/adr/0003)."""

    ending: RunEnding
    table = RUN_WORK
    # Three heartbeats.
    stale_s = 30.0
    expires_after = timedelta(hours=1)

    def sweep(self) -> list[int]:
        """Do as `Sweeper.sweep`, and delete Idempotency-Keys that have expired."""
        with self.database.write() as connection:
            before = earlier_now(connection, self.now()) - KEY_TTL
            runs.delete_expired_keys(connection, before=before, limit=BATCH)
        return Sweeper.sweep(self)

    def _interrupt(self, claim: Claim) -> bool:
        marked = self.ending.finish(claim, failed("interrupted", INTERRUPTED), unmoved=True)
        log.warning("run_interrupted", run_id=claim.row_id, marked=marked)
        if marked:
            self.ending.notify_of(claim.row_id)
        return False

    def _expire(self, row_id: int, *, exhausted: bool) -> None:
        self.ending.give_up(row_id, EXPIRED)
