"""Spans as they were received; turns and sessions are derived from them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Column, Connection, String, Table, UniqueConstraint, select

from app.models import bulk, queries
from app.models.base import OPTIONS, BigInt, MediumBlob, binary, identifier, metadata

# Without foreign keys, whose checks per row would slow ingest down; prompts are checked once per batch.
spans = Table(
    "spans",
    metadata,
    identifier(),
    Column("project_id", BigInt, nullable=False),
    Column("trace_id", binary(16), nullable=False),
    Column("span_id", binary(8), nullable=False),
    Column("prompt_id", BigInt, nullable=False),
    # The attempt that stored the row: see `batch_ids`.
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
    """A span's JSON, and its instrumentation scope."""

    trace_id: bytes
    span_id: bytes
    scope: str
    raw: bytes


def insert_new(connection: Connection, rows: Sequence[NewSpan]) -> int:
    """Store those of `rows` (in key order) whose key is free; returns their number."""
    return bulk.insert_new(connection, "spans", COLUMNS, rows)


def stored_keys(
    connection: Connection, *, project_id: int, keys: Collection[SpanKey], batch_id: int | None = None
) -> set[SpanKey]:
    """Return those of `keys` that are stored, by the attempt `batch_id` if it is given."""
    c = spans.c
    in_project = select(c.trace_id, c.span_id).where(c.project_id == project_id)
    statement = in_project if batch_id is None else in_project.where(c.batch_id == batch_id)
    found: set[SpanKey] = set()
    for some in bulk.pieces(sorted({trace_id for trace_id, _ in keys})):
        found.update((row[0], row[1]) for row in connection.execute(statement.where(c.trace_id.in_(some))))
    return found.intersection(keys)


def spans_of(
    connection: Connection, *, project_id: int, prompt_id: int, trace_ids: Sequence[bytes]
) -> list[StoredSpan]:
    """List the stored spans of a prompt's turns, in no order."""
    c = spans.c
    of_prompt = select(c.trace_id, c.span_id, c.scope, c.body).where(
        c.project_id == project_id, c.prompt_id == prompt_id
    )
    found: list[StoredSpan] = []
    for some in bulk.pieces(trace_ids):
        found += queries.list_rows(connection, StoredSpan, of_prompt.where(c.trace_id.in_(some)))
    return found
