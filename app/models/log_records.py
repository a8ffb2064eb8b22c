"""Log records with the content of model calls. They are kept with the span that they name, or until it comes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Index,
    LargeBinary,
    UniqueConstraint,
    bindparam,
    func,
    select,
)

from app.models import bulk, queries
from app.models.base import BigInt, binary, new_table, no_index
from app.models.compression import Compressed, raw_of
from app.models.span_bodies import HEAD_BYTES, SpanKey, readable_size_of

# Without foreign keys, like spans. `prompt_id` is NULL if neither the record nor its address named a prompt. For
# `waiting_since` see app/models/waiting.py.
log_records = new_table(
    "log_records",
    Column("project_id", BigInt, nullable=False),
    Column("trace_id", binary(16), nullable=False),
    Column("span_id", binary(8), nullable=False),
    # A digest of the record's content, its time and its number among equal records of its batch: a batch that is sent
    # again is stored once.
    Column("digest", binary(16), nullable=False),
    Column("prompt_id", BigInt, nullable=True),
    Column("time_ns", BigInt, nullable=False),
    Column("body", Compressed, nullable=False),
    Column("waiting_since", BigInt, nullable=True),
    UniqueConstraint("project_id", "trace_id", "span_id", "digest"),
    Index("ix_log_records_prompt_id", "prompt_id"),
    Index("ix_log_records_project_id_waiting_since", "project_id", "waiting_since"),
)

LOG_RECORD_COLUMNS = ("project_id", "trace_id", "span_id", "digest", "prompt_id", "time_ns", "body", "waiting_since")
NewRecord = tuple[int, bytes, bytes, bytes, int | None, int, bytes, int]
"""A row in the order of `LOG_RECORD_COLUMNS`; the body may be compressed."""

_C = log_records.c
_RAW = raw_of(_C.body)
_SIZES = select(_C.id, _C.trace_id, func.substr(_RAW, 1, HEAD_BYTES, type_=LargeBinary), func.length(_RAW))

_ANY = select(_C.id).where(_C.project_id == bindparam("project_id")).limit(1)


def has_any(connection: Connection, *, project_id: int) -> bool:
    return connection.execute(_ANY, {"project_id": project_id}).first() is not None


def insert_new(connection: Connection, rows: Sequence[NewRecord]) -> int:
    """Store those of `rows` that are not stored yet; returns their number."""
    # In key order, as two batches may have the same; the sort keeps the order of a span's own records.
    return bulk.insert_new(connection, "log_records", LOG_RECORD_COLUMNS, sorted(rows, key=itemgetter(1, 2)))


def list_records(connection: Connection, *, project_id: int, ids: Sequence[int]) -> list[tuple[SpanKey, bytes]]:
    """List the records of these rows with the keys of their spans, in the order of their times."""
    records: list[tuple[int, int, SpanKey, bytes]] = []
    columns = select(_C.time_ns, _C.id, _C.trace_id, _C.span_id, _C.body).where(no_index(_C.project_id) == project_id)
    for piece in queries.pieces(ids):
        for time_ns, id_, trace_id, span_id, body in connection.execute(columns.where(_C.id.in_(piece))):
            records.append((time_ns, id_, (trace_id, span_id), body))
    return [(key, body) for _, _, key, body in sorted(records)]


def records_of(
    connection: Connection, *, project_id: int, trace_ids: Sequence[bytes], last_id: int | None = None
) -> list[tuple[SpanKey, bytes]]:
    """List the records of traces with the keys of their spans, in the order of their times.

    With `last_id` these are the records that were stored until this row.
    """
    of_project = select(_C.trace_id, _C.span_id, _C.body).where(_C.project_id == project_id)
    if last_id is not None:
        of_project = of_project.where(_C.id <= last_id)
    records: list[tuple[SpanKey, bytes]] = []
    for piece in queries.pieces(trace_ids):
        statement = of_project.where(_C.trace_id.in_(piece)).order_by(_C.time_ns, _C.id)
        records += [((trace_id, span_id), body) for trace_id, span_id, body in connection.execute(statement)]
    return records


def sizes_of(connection: Connection, *, project_id: int, trace_ids: Sequence[bytes]) -> list[tuple[int, bytes, int]]:
    """List the records of traces in the order in which they were stored: row, trace, and the bytes of the body."""
    of_traces = (_sizes(connection, project_id, _C.trace_id.in_(piece)) for piece in queries.pieces(trace_ids))
    return sorted(chain.from_iterable(of_traces))


def bytes_in_traces(
    connection: Connection, *, project_id: int, trace_ids: Collection[bytes], most: int
) -> dict[bytes, int]:
    """Return the bytes of the records of each trace that has at most `most` records."""
    of_project = _SIZES.where(_C.project_id == project_id)
    groups = queries.small_groups(connection, of_project, _C.trace_id, trace_ids, most)
    return {trace_id: sum(_size(row)[-1] for row in rows) for trace_id, rows in groups}


def sizes_of_rows(connection: Connection, *, project_id: int, ids: Sequence[int]) -> dict[int, int]:
    """Return the bytes of the bodies of records, by their rows."""
    sizes: dict[int, int] = {}
    for piece in queries.pieces(ids):
        of_rows = _SIZES.where(no_index(_C.project_id) == project_id, _C.id.in_(piece))
        sizes |= {id_: size for id_, _, size in map(_size, connection.execute(of_rows))}
    return sizes


def _sizes(connection: Connection, project_id: int, condition: ColumnElement[bool]) -> Iterator[tuple[int, bytes, int]]:
    """Yield the rows of records that meet a condition: row, trace, and the bytes of the body."""
    return map(_size, connection.execute(_SIZES.where(_C.project_id == project_id, condition)))


def _size(row: Sequence[Any]) -> tuple[int, bytes, int]:
    id_, trace_id, head, stored = row
    return id_, trace_id, readable_size_of(head, stored)
