"""Counts the calls of turns again from all of their spans: a batch knows only the copies among its own spans.

A copy is a span of a call that another span of the turn records, too, as when two libraries instrument one client
(`app/sessions/copies.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from itertools import accumulate
from math import inf

import structlog
from msgspec import structs
from sqlalchemy import Connection

from app.database.transactions import Database
from app.errors import MALFORMED_DATA
from app.models import log_records, observed, organizations, queries, sessions, spans, turns
from app.models.span_sizes import SPAN_BYTES
from app.models.spans import TurnKey
from app.models.turns import TurnRow
from app.otlp.logs import events_of
from app.services.ingest.observed import observed_rows
from app.services.ingest.turns import TurnPart, session_rows
from app.services.search.turn_sizes import TURN_BYTES, first_spans, sizes_of, small_sizes_of
from app.sessions.facts import TurnFacts, dump, load, recounted
from app.sessions.model_calls import difference
from app.sessions.sums import names_of
from app.timestamps import Now
from app.work.round_robin import RoundRobin
from app.work.work_time import WorkTime

log = structlog.get_logger(__name__)

# The clock settles turns for `WORK_S` seconds out of `EVERY_S`.
WORK_S, EVERY_S = 0.5, 2.0
SETTLE_AFTER = timedelta(seconds=20)
"""The time without new spans after which the clock settles a turn."""
BYTES_AT_ONCE = 256 * 1024
"""The memory for a turn that is settled before its batch is acknowledged; the clock settles turns that need more."""
BATCH_BYTES, TIMES_BATCH = 1024 * 1024, 4
"""The memory for all such turns of a batch: `BATCH_BYTES`, and `TIMES_BATCH` times the bytes of the batch."""
TURNS_AT_ONCE = 8

Counted = Mapping[TurnKey, tuple[TurnRow, TurnFacts]]
"""The rows of turns as they were read, and their new facts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSettler:
    """Settles turns: marks the copies among all of their calls, and corrects the sums that include copies.

    Turns of earlier releases are settled by the clock, the newest first. A turn that needs more than `TURN_BYTES`
    keeps the sums of its batches.
    """

    database: Database
    now: Now
    work_time: WorkTime = field(default_factory=partial(WorkTime, WORK_S))
    _round_robin: RoundRobin = field(default_factory=RoundRobin, init=False)

    def settle(self, project_id: int, span_counts: Mapping[TurnKey, int], *, batch_bytes: int) -> None:
        """Settle turns of which a batch may have stored copies, the smallest ones first.

        `span_counts` are the numbers of their spans. A batch never reads more than a few times its own bytes, however
        many spans its turns have: the clock settles the other turns.
        """
        most = BATCH_BYTES + TIMES_BATCH * batch_bytes
        counted = {key: count * SPAN_BYTES for key, count in span_counts.items() if count * SPAN_BYTES <= BYTES_AT_ONCE}
        if not (small := _smallest(counted, most)):
            return
        with self.database.read() as connection:
            sizes = small_sizes_of(connection, project_id=project_id, keys=small, most=BYTES_AT_ONCE)
        for keys in queries.pieces(_smallest(sizes, most), TURNS_AT_ONCE):
            with self.database.read() as connection:
                rows = turns.list_existing(connection, project_id=project_id, keys=keys)
            self._settle(self.database, project_id, rows, sizes)

    def sweep(self) -> None:
        """Settle turns without new spans until none is left or the time is used up."""
        self.work_time.begin()
        with self.database.read() as connection:
            owners = organizations.owners(connection)
        if self._round_robin.serve(owners, self._settle_next, is_over=lambda: self.work_time.is_over):
            self.work_time.caught_up()

    def _settle_next(self, project_id: int) -> bool:
        before = queries.first_batch_id(self.now() - SETTLE_AFTER)
        with self.database.read() as connection:
            rows = turns.list_unsettled(connection, project_id=project_id, before=before, limit=TURNS_AT_ONCE)
        if rows:
            with self.database.background.read() as connection:
                # A turn with more spans than are read needs no look at each of them.
                keys = [row.key for row in rows if load(row.facts).span_count * SPAN_BYTES <= TURN_BYTES]
                sizes = sizes_of(connection, project_id=project_id, keys=keys)
            self._settle(self.database.background, project_id, rows, sizes)
        return len(rows) == TURNS_AT_ONCE

    def _settle(
        self, database: Database, project_id: int, rows: Sequence[TurnRow], sizes: Mapping[TurnKey, int]
    ) -> None:
        """Settle turns that need so many bytes; turns without a size are too large to be read."""
        with database.read() as connection:
            counted = {row.key: (row, _counted(connection, row, sizes.get(row.key, inf))) for row in rows}
        batch_id = queries.new_batch_id(self.now())
        database.retrying(partial(_write, project_id=project_id, batch_id=batch_id, counted=counted))


def _smallest(sizes: Mapping[TurnKey, int], most: int) -> list[TurnKey]:
    """Return the keys of the smallest turns that need at most `most` bytes together, in key order."""
    keys = sorted(sizes, key=lambda key: (sizes[key], key))
    totals = accumulate(sizes[key] for key in keys)
    return sorted(key for key, total in zip(keys, totals, strict=True) if total <= most)


def _counted(connection: Connection, row: TurnRow, size: float) -> TurnFacts:
    """Return the facts of a turn from all of its spans; the stored ones if these are too many or can't be read."""
    facts = load(row.facts)
    if size > TURN_BYTES:
        return facts
    project_id, trace_ids = row.project_id, [row.trace_id]
    stored = spans.spans_of(connection, project_id=project_id, prompt_id=row.prompt_id, trace_ids=trace_ids)
    if not stored or len(first_spans(stored)) < len(stored):
        return facts
    try:
        records = log_records.records_of(connection, project_id=project_id, trace_ids=trace_ids)
        return recounted(facts, stored, events_of(records))
    except MALFORMED_DATA as error:
        log.error("turn_unreadable", project=project_id, trace=row.trace_id.hex(), exc_info=error)
        return facts


def _write(connection: Connection, *, project_id: int, batch_id: int, counted: Counted) -> None:
    """Store new facts of turns that have not changed since they were read, and correct what they were added to."""
    locked = turns.lock_existing(connection, project_id=project_id, keys=list(counted))
    same = [row for row in locked if row == counted[row.key][0]]
    turns.replace(connection, [replace(row, facts=dump(counted[row.key][1]), unsettled=None) for row in same])
    before = {row.key: load(row.facts) for row in same}
    parts = [TurnPart(*row.key, counted[row.key][1]) for row in same if counted[row.key][1] != before[row.key]]
    if not parts:
        return
    sessions.put(connection, session_rows(project_id, batch_id, parts, before), project_id=project_id)
    sessions.settle(connection, project_id=project_id, session_keys=set(_with_fewer_names(parts, before)))
    corrections = [_correction(part, before[part.key]) for part in parts]
    observed.add(connection, observed_rows(project_id, batch_id, corrections))


def _with_fewer_names(parts: Iterable[TurnPart], before: Mapping[TurnKey, TurnFacts]) -> Iterable[bytes]:
    """Yield the sessions of turns that have lost a name, such as that of a copy's tool: sessions only collect names."""
    for part in parts:
        names = set(names_of(part.facts).split("\n"))
        if not names.issuperset(names_of(before[part.key]).split("\n")):
            yield part.session_key


def _correction(part: TurnPart, before: TurnFacts) -> TurnPart:
    return replace(part, facts=structs.replace(part.facts, calls=difference(before.calls, part.facts.calls)))
