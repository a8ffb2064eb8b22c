"""Ends runs: stores what came of a run, removes what it needs no more, and notifies whoever waits for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection

from app.db import Database
from app.metrics import Metrics
from app.metrics.registry import RUNS
from app.models import idempotency_keys, run_file_chunks, runs, usage
from app.models.runs import RunRow
from app.redis_store.completions import RunCompletions
from app.redis_store.events import LiveRuns
from app.services.runs.claiming import RUN_WORK
from app.services.runs.failures import NOT_CALLED, failed
from app.services.runs.outcome import RunEnd
from app.timestamps import Now
from app.work.table import Claim


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

        def guarded(connection: Connection) -> bool:
            return RUN_WORK.finish(connection, claim, end.columns(), now=self.now(), unmoved=unmoved)

        return self._finish(guarded, claim.row_id, end, contents)

    def give_up(self, run_id: int, reason: str) -> bool:
        """End a queued run as `not_started`, and notify; False when a worker has claimed it, and it goes on."""
        end = failed("not_started", reason)

        def guarded(connection: Connection) -> bool:
            return RUN_WORK.finish_waiting(connection, run_id, end.columns(), now=self.now())

        ended = self._finish(guarded, run_id, end)
        if ended:
            self.notify_of(run_id)
        return ended

    def notify_of(self, run_id: int) -> None:
        """`notify`, of a run that ended without an answer."""
        with self.database.read() as connection:
            found = runs.find_runs(connection, run_ids=[run_id])
        for row in found:  # unless it was erased meanwhile
            self.notify(row, row.model_name, row.error_kind or "")

    def notify(self, row: RunRow, model_name: str, outcome: str) -> None:
        """Tell the followers and waiters that the run has ended, and count it.

        `row` is the run as it was accepted, `model_name` the model that answered, or was to.
        """
        if row.request.stream:
            self.live.end(row.id)
        self.completions.announce(row.id)
        self.metrics.count(RUNS, model_name, outcome)

    def _finish(self, guarded: Callable[[Connection], bool], run_id: int, end: RunEnd, contents: bool = True) -> bool:
        def work(connection: Connection) -> bool:
            ended = guarded(connection)
            if ended:
                self._clear(connection, run_id, end, contents)
            return ended

        return self.database.retrying(work)

    def _clear(self, connection: Connection, run_id: int, end: RunEnd, contents: bool) -> None:
        """Delete the run's files, and its Idempotency-Key where the model was surely not called; count its usage."""
        if contents:
            run_file_chunks.delete_files(connection, run_id=run_id)
        if end.error_kind in NOT_CALLED:
            idempotency_keys.delete_of_run(connection, run_id=run_id)
        usage.count_run(connection, run_id=run_id, spent=end.spent(), now=self.now())
