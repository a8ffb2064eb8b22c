"""Joins log records to turns: adds the opening of a turn that only log records have, and notes the turn for the search.

Instrumentations can record messages in log records instead of in spans. Both arrive in separate batches, in any order.
The *opening* of a turn is its first text, which lists of sessions show.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from operator import attrgetter
from typing import NamedTuple

from sqlalchemy import Connection

from app.database.transactions import Database
from app.models import log_records, search, span_sizes, spans
from app.models.bulk import by_size
from app.models.queries import new_batch_id
from app.models.span_bodies import JOINED_BYTES, SpanKey
from app.models.spans import TurnKey
from app.otlp.logs import events_of
from app.services.ingest.turns import add_openings
from app.services.prompts.adoption import AdoptionService
from app.sessions.facts import opening_of
from app.sessions.outlines import Opening
from app.timestamps import Now

BYTES_IN_MEMORY = 16 * 1024 * 1024
"""The bytes of spans and their records that are in memory together."""
SPANS_IN_MEMORY = 4096
RECORDS_READ, RECORDS_PER_SPAN = 256, 16
BYTES_READ, BYTES_PER_SPAN = 1024 * 1024, 256 * 1024
"""The most log records, and bytes of spans and records, that are read because of one batch.

Each span of the batch may use `…_PER_SPAN`, and an equal share of `…_READ`. Without the limit a span with thousands of
records would be read again for each batch with one of its records.
"""
LISTED_TIMES = 2
"""How many times more records of a span are listed than are read: the ones that were stored first are read."""


class LoggedSpan(NamedTuple):
    """A stored span with log records.

    `record_ids` are the ids of the log records to read; if they are empty, the span is not read either. `size` is the
    number of bytes that the span and these records need.
    """

    row_id: int
    turn: TurnKey
    record_ids: Sequence[int]
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningService:
    """Joins spans and log records after a batch of either is committed.

    If both are stored at the same time, the later of the two calls sees both. A batch is acknowledged only after this,
    so that it is delivered again if this is interrupted.
    """

    database: Database
    now: Now
    adoption: AdoptionService
    searchable: bool

    def add(self, project_id: int, keys: Collection[SpanKey], *, agent: str = "") -> None:
        """Add the openings in log records to the turns of the spans `keys`, and note these turns for the search.

        If `agent` is the name of an agent with an empty prompt, the prompt is filled from these spans and records.
        """
        with self.database.read() as connection:
            # Most projects have no log records. Checking that is four times as fast as looking for hundreds of keys.
            if not log_records.has_any(connection, project_id=project_id):
                return
            logged = _logged_spans(connection, project_id, keys)
        for piece in by_size(logged, attrgetter("size"), BYTES_IN_MEMORY):
            self._add(project_id, piece, agent)

    def _add(self, project_id: int, logged: Sequence[LoggedSpan], agent: str) -> None:
        record_ids = [id_ for span in logged for id_ in span.record_ids]
        row_ids = [span.row_id for span in logged if span.record_ids]
        with self.database.read() as connection:
            records = events_of(log_records.list_records(connection, project_id=project_id, ids=record_ids))
            stored = spans.spans_of_rows(connection, project_id=project_id, ids=row_ids)
        openings = {turn: opening for turn, of_turn in stored.items() if (opening := opening_of(of_turn, records))}
        turns = sorted({span.turn for span in logged})
        self.database.retrying(lambda connection: self._write(connection, project_id, turns, openings))
        if agent:
            self.adoption.fill(project_id, agent, chain.from_iterable(stored.values()), records)

    def _write(
        self, connection: Connection, project_id: int, keys: Sequence[TurnKey], openings: Mapping[TurnKey, Opening]
    ) -> None:
        add_openings(connection, project_id, new_batch_id(self.now()), keys, openings)
        if self.searchable:
            search.note_traces(connection, project_id=project_id, keys=keys)


def _logged_spans(connection: Connection, project_id: int, keys: Collection[SpanKey]) -> list[LoggedSpan]:
    """Return the stored spans among `keys` that have log records, in key order."""
    most = RECORDS_PER_SPAN + RECORDS_READ // max(len(keys), 1)
    records = spans.rows_by_key(
        connection, log_records.log_records, project_id=project_id, keys=keys, most=LISTED_TIMES * most
    )
    rows = spans.rows_by_key(connection, spans.spans, project_id=project_id, keys=set(records.values()))
    if not rows:
        return []
    stored = set(rows.values())
    ids_of: dict[SpanKey, list[int]] = defaultdict(list)
    for id_, key in sorted(records.items()):
        if key in stored and len(ids_of[key]) < most:
            ids_of[key].append(id_)
    record_ids = [id_ for ids in ids_of.values() for id_ in ids]
    record_sizes = log_records.sizes_of_rows(connection, project_id=project_id, ids=record_ids)
    span_bytes = span_sizes.sizes_of_rows(connection, project_id=project_id, ids=list(rows))
    most_bytes = BYTES_PER_SPAN + BYTES_READ // len(keys)
    named = sorted((key, id_) for id_, key in rows.items() if id_ in span_bytes)
    return [_logged_span(id_, *span_bytes[id_], ids_of[key], record_sizes, most_bytes) for key, id_ in named]


def _logged_span(
    row_id: int, turn: TurnKey, span_bytes: int, record_ids: Sequence[int], sizes: Mapping[int, int], most_bytes: int
) -> LoggedSpan:
    """Return a span with the log records to read: the first stored ones, up to `most_bytes`; none for a large span."""
    totals = list(accumulate(sizes.get(id_, 0) for id_ in record_ids))
    most_of_records = most_bytes if span_bytes <= most_bytes + JOINED_BYTES else 0
    read = [id_ for id_, total in zip(record_ids, totals, strict=True) if total <= most_of_records]
    read_bytes = span_bytes + totals[len(read) - 1] if read else 0
    return LoggedSpan(row_id, turn, read, max(read_bytes, BYTES_IN_MEMORY // SPANS_IN_MEMORY))
