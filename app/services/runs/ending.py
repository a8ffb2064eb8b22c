"""Ends runs, counts their usage, and notifies the processes that wait for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Table

from app.concurrency.batching import GroupCommit
from app.database.transactions import Database
from app.metrics import Metrics
from app.metrics.registry import RUNS
from app.models import runs, usage
from app.models.idempotency_keys import idempotency_keys
from app.models.queries import delete_rows
from app.models.runs import RunRow
from app.models.usage import UsageKey
from app.redis_store.runs import LiveRuns, RunCompletions
from app.services.runs.claims import RUN_WORK
from app.services.runs.masking import has_contents
from app.services.runs.outcome import INTERRUPTED, NOT_CALLED, RunEnd, cancelled, failed
from app.services.runs.records import write_record
from app.timestamps import Now
from app.work.table import Claim

_COLUMNS = tuple(RunRow.__dataclass_fields__)
_END_AND_COUNT = usage.counting(RUN_WORK.held)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ending:
    """The end of a run: of the run that `claim` holds, or of a queued one; `row` is the run before its end."""

    row: RunRow
    end: RunEnd
    claim: Claim | None
    only_if_stale: bool = False

    def make(self, connection: Connection, now: datetime) -> RunRow | None:
        """Update the run's row and return it; None if it has ended or belongs to another worker."""
        values = self.end.columns()
        if self.claim is None:
            changed = RUN_WORK.finish_waiting(connection, self.row.id, values, now=now)
        else:
            changed = RUN_WORK.finish(connection, self.claim, values, now=now, only_if_stale=self.only_if_stale)
        return self.ended(values, now) if changed else None

    def ended(self, values: Mapping[str, Any], now: datetime) -> RunRow:
        """Return the row of the run after its end."""
        before = {name: getattr(self.row, name) for name in _COLUMNS}
        return RunRow(**{name: values.get(name, before[name]) for name in _COLUMNS} | {"finished_at": now})

    @property
    def emptied(self) -> list[Table]:
        """Return the tables from which the run's rows are deleted when it ends.

        These are its files, and its Idempotency-Key if the model was certainly not called.
        """
        files = [runs.run_file_chunks] if has_contents(self.row) else []
        return [*files, idempotency_keys] if self.end.error_kind in NOT_CALLED else files


@dataclass(slots=True, kw_only=True)
class RunEnding:
    """Ends the first run immediately; the next transaction ends all runs of its project that ended meanwhile."""

    database: Database
    now: Now
    metrics: Metrics
    live: LiveRuns
    completions: RunCompletions
    _end: GroupCommit[_Ending, RunRow | None] = field(init=False)

    def __post_init__(self) -> None:
        self._end = GroupCommit(self._end_all, project_of=lambda ending: ending.row.project_id)

    def finish(self, row: RunRow, claim: Claim, end: RunEnd) -> RunRow | None:
        """End a claimed run and return its row; None if it has already ended.

        `row` is the run as it was accepted, with the model that answered or was to answer.
        """
        return self._end(_Ending(row=row, end=end, claim=claim))

    def interrupt(self, claim: Claim) -> bool:
        """End a run after its worker died, and notify; False if it has ended, or its worker is alive after all."""
        return self._end_unanswered(claim.row_id, failed("interrupted", INTERRUPTED), claim)

    def give_up(self, run_id: int, reason: str) -> bool:
        """End a queued run as `not_started`, and notify; False if a worker has claimed it and executes it."""
        return self._end_unanswered(run_id, failed("not_started", reason), None)

    def cancel_waiting(self, run_id: int) -> bool:
        """Cancel a queued run, and notify; False if a worker executes it, or it has ended."""
        return self._end_unanswered(run_id, cancelled(RunEnd(status="cancelled")), None)

    def notify(self, ended: RunRow) -> None:
        """Count an ended run in the metrics, then notify its followers and waiters."""
        self.metrics.count(RUNS, ended.model_name, ended.error_kind or ("nok" if ended.nok else "ok"))
        if ended.request.stream:
            self.live.end(ended.id)
        self.completions.announce(ended.id, write_record(ended))

    def _end_unanswered(self, run_id: int, end: RunEnd, claim: Claim | None) -> bool:
        with self.database.read() as connection:
            rows = runs.find_runs(connection, run_ids=[run_id])
        ended = [self._end(_Ending(row=row, end=end, claim=claim, only_if_stale=True)) for row in rows]
        for row in filter(None, ended):
            self.notify(row)
        return any(ended)

    def _end_all(self, endings: Sequence[_Ending]) -> Sequence[RunRow | None]:
        alone = self._end_alone(endings[0]) if len(endings) == 1 else None
        return [alone] if alone else self.database.retrying(lambda connection: self._end_by(connection, endings))

    def _end_alone(self, ending: _Ending) -> RunRow | None:
        """End and count a run by one statement, on MySQL; None if that is impossible or changed nothing.

        It changes nothing for the first run of a day, because its usage has no row yet. It is impossible if other rows
        of the run have to be deleted.
        """
        if self.database.is_sqlite or ending.claim is None or ending.only_if_stale or ending.emptied:
            return None
        now, values = self.now(), ending.end.columns()
        ended = ending.ended(values, now)
        which = {"row_id": ended.id, "token": ending.claim.token, "finished_at": now}
        counted = usage.counted(_usage_key(ended, now), ending.end.spent(), slot=_slot(ended))
        parameters = {**which, **values, **counted}
        changed = self.database.retrying(lambda c: c.execute(_END_AND_COUNT, parameters).rowcount, single=True)
        return ended if changed else None

    def _end_by(self, connection: Connection, endings: Sequence[_Ending]) -> list[RunRow | None]:
        """End the runs in order of their ids, like heartbeats, so that the two never deadlock."""
        now, used = self.now(), []
        ended: list[RunRow | None] = [None] * len(endings)
        for index in sorted(range(len(endings)), key=lambda index: endings[index].row.id):
            if row := endings[index].make(connection, now):
                for table in endings[index].emptied:
                    delete_rows(connection, table, run_id=row.id)
                used.append((_usage_key(row, now), endings[index].end.spent()))
                ended[index] = row
        if used:
            usage.count_runs(connection, used, slot=_slot(endings[0].row))
        return ended


def _slot(row: RunRow) -> int:
    return row.id % usage.SLOTS


def _usage_key(row: RunRow, now: datetime) -> UsageKey:
    return UsageKey(
        row.project_id,
        now.date().isoformat(),
        row.prompt_id,
        row.commit_hash or "",
        row.language_model_id,
        row.api_key_id or 0,
        row.source,
    )
