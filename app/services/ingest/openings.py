"""Adds the first words of turns from log records, for lists of sessions, and marks these turns for the search."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

from sqlalchemy import Connection

from app.database.transactions import Database
from app.models import log_records, search, spans
from app.models.queries import new_batch_id
from app.models.span_bodies import SpanKey
from app.models.spans import TurnKey
from app.otlp.logs import events_of
from app.services.ingest.turns import add_openings
from app.sessions.facts import Opening, opening_of
from app.timestamps import Now

SPANS_IN_MEMORY, RECORD_BYTES_READ = 16, 16 * 1024 * 1024
"""Spans that are in memory together, and the bytes of the records that are read of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningService:
    """Joins spans and log records after each of them is committed.

    Spans and records may be stored at the same time; the later of the two calls sees both. A batch is acknowledged only
    afterwards, so that it is delivered again if this is interrupted.
    """

    database: Database
    now: Now
    searchable: bool

    def add(self, project_id: int, keys: Collection[SpanKey]) -> None:
        """Add the openings in log records to the turns of the spans `keys`, and mark these turns for the search."""
        with self.database.read() as connection:
            # Most projects have no log records. Checking that is four times as fast as looking for hundreds of keys.
            if not log_records.has_any(connection, project_id=project_id):
                return
            rows = spans.rows_by_key(connection, log_records.log_records, project_id=project_id, keys=keys)
        logged: dict[SpanKey, list[int]] = defaultdict(list)
        for id_, key in rows.items():
            logged[key].append(id_)
        named = sorted(logged)
        for start in range(0, len(named), SPANS_IN_MEMORY):
            self._add(project_id, {key: logged[key] for key in named[start : start + SPANS_IN_MEMORY]})

    def _add(self, project_id: int, logged: Mapping[SpanKey, list[int]]) -> None:
        """Add the openings of the spans `logged`, given with the row ids of their log records."""
        with self.database.read() as connection:
            ids = _first_ids(connection, project_id, logged)
            records = events_of(log_records.list_records(connection, project_id=project_id, ids=ids))
            stored = spans.spans_by_key(connection, project_id=project_id, keys=logged.keys())
        openings = {turn: opening for turn, of_turn in stored.items() if (opening := opening_of(of_turn, records))}
        if stored:
            self.database.retrying(lambda connection: self._write(connection, project_id, list(stored), openings))

    def _write(
        self, connection: Connection, project_id: int, keys: Sequence[TurnKey], openings: Mapping[TurnKey, Opening]
    ) -> None:
        add_openings(connection, project_id, new_batch_id(self.now()), keys, openings)
        if self.searchable:
            search.note_traces(connection, project_id=project_id, keys=keys)


def _first_ids(connection: Connection, project_id: int, logged: Mapping[SpanKey, list[int]]) -> list[int]:
    """Return the ids of the records that were stored first, up to `RECORD_BYTES_READ` of them."""
    wanted, trace_ids = frozenset(chain.from_iterable(logged.values())), sorted({trace_id for trace_id, _ in logged})
    sizes = log_records.sizes_of(connection, project_id=project_id, trace_ids=trace_ids)
    ids = [(id_, size) for id_, _, size in sizes if id_ in wanted]
    totals = accumulate(size for _, size in ids)
    return [id_ for (id_, _), total in zip(ids, totals, strict=True) if total <= RECORD_BYTES_READ]
