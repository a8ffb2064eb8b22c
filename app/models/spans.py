"""Spans as they came. Their unique key is the truth about what was received; everything else is derived."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Column, Connection, String, Table, UniqueConstraint, and_, select

from app.models import bulk
from app.models.base import OPTIONS, BigInt, MediumBlob, binary, identifier, metadata

# No foreign keys here: a check per row would cost ingest more than it is worth; the prompt is checked once a batch.
spans = Table(
    "spans",
    metadata,
    identifier(),
    Column("project_id", BigInt, nullable=False),
    Column("trace_id", binary(16), nullable=False),
    Column("span_id", binary(8), nullable=False),
    Column("prompt_id", BigInt, nullable=False),
    # Which attempt stored the row, and when: milliseconds since 1970, then 21 random bits.
    Column("batch_id", BigInt, nullable=False),
    Column("scope", String(255), nullable=False),
    Column("body", MediumBlob, nullable=False),
    UniqueConstraint("project_id", "trace_id", "span_id"),
    **OPTIONS,
)

COLUMNS = ("project_id", "trace_id", "span_id", "prompt_id", "batch_id", "scope", "body")
NewSpan = tuple[int, bytes, bytes, int, int, str, bytes | memoryview]
"""A row in the order of COLUMNS."""

SpanKey = tuple[bytes, bytes]
"""Trace id and span id."""


@dataclass(frozen=True, slots=True)
class StoredSpan:
    """A span's own JSON, and the instrumentation scope it came under."""

    trace_id: bytes
    span_id: bytes
    scope: str
    raw: bytes


def insert_new(connection: Connection, rows: Sequence[NewSpan]) -> int:
    """Store those of `rows` (in key order) whose key is free; returns how many those were."""
    return bulk.insert_new(connection, "spans", COLUMNS, rows)


def stored_keys(
    connection: Connection, *, project_id: int, keys: Collection[SpanKey], batch_id: int | None = None
) -> set[SpanKey]:
    """Those of `keys` that are stored (by the attempt `batch_id`, if given)."""
    wanted = set(keys)
    traces = sorted({trace_id for trace_id, _ in keys})
    found: set[SpanKey] = set()
    for some in bulk.pieces(traces):
        condition = and_(spans.c.project_id == project_id, spans.c.trace_id.in_(some))
        if batch_id is not None:
            condition = and_(condition, spans.c.batch_id == batch_id)
        statement = select(spans.c.trace_id, spans.c.span_id).where(condition)
        found.update((row[0], row[1]) for row in connection.execute(statement))
    return found & wanted


def spans_of(
    connection: Connection, *, project_id: int, prompt_id: int, trace_ids: Sequence[bytes]
) -> list[StoredSpan]:
    """The stored spans of a prompt's turns, in no order."""
    found: list[StoredSpan] = []
    for some in bulk.pieces(trace_ids):
        statement = select(spans.c.trace_id, spans.c.span_id, spans.c.scope, spans.c.body).where(
            spans.c.project_id == project_id,
            spans.c.trace_id.in_(some),
            spans.c.prompt_id == prompt_id,
        )
        found.extend(StoredSpan(*row) for row in connection.execute(statement))
    return found
