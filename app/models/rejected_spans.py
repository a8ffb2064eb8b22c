"""Spans that were rejected, with the reasons, since most exporters do not print the answer that contained them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Column, Connection, Index, String, Table, delete, insert, select

from app.models import queries
from app.models.base import OPTIONS, BigInt, Timestamp, exact, identifier, metadata

rejected_spans = Table(
    "rejected_spans",
    metadata,
    identifier(),
    Column("project_id", BigInt, nullable=False),
    Column("prompt_id", BigInt),
    Column("trace_id", String(64), nullable=False),
    Column("span_id", String(64), nullable=False),
    Column("name", String(255), nullable=False),
    Column("code", exact(32), nullable=False),
    Column("reason", String(1000), nullable=False),
    Column("received_at", Timestamp, nullable=False),
    Index("ix_rejected_spans_project_id_id", "project_id", "id"),
    **OPTIONS,
)

KEPT = 1000
"""The number of rejected spans kept for a project."""


@dataclass(frozen=True, slots=True)
class RejectedSpan:
    """A span that was not stored; `prompt_id` is None where the span named no prompt."""

    project_id: int
    prompt_id: int | None
    trace_id: str
    span_id: str
    name: str
    code: str
    reason: str
    received_at: datetime
    id: int = 0


_COLUMNS = queries.columns_of(RejectedSpan, rejected_spans)


def add_rejected(connection: Connection, rows: Sequence[RejectedSpan]) -> None:
    """Store the newest KEPT of them."""
    kept = rows[-KEPT:]
    if kept:
        values = [{c.name: getattr(row, c.name) for c in _COLUMNS if c.name != "id"} for row in kept]
        connection.execute(insert(rejected_spans), values)


def forget_old(connection: Connection, *, project_id: int) -> None:
    """Remove all but the project's newest KEPT."""
    c = rejected_spans.c
    newest = queries.newest_first(select(c.id).where(c.project_id == project_id), c.id, limit=1)
    oldest_kept = connection.scalar(newest.offset(KEPT - 1))
    if oldest_kept is not None:
        connection.execute(delete(rejected_spans).where(c.project_id == project_id, c.id < oldest_kept))


def list_rejected(
    connection: Connection, *, project_id: int, prompt_id: int | None, before_id: int | None, limit: int
) -> list[RejectedSpan]:
    """List a project's rejected spans, newest first; with `prompt_id`, those that named the prompt."""
    c = rejected_spans.c
    statement = select(*_COLUMNS).where(c.project_id == project_id)
    if prompt_id is not None:
        statement = statement.where(c.prompt_id == prompt_id)
    newest_first = queries.newest_first(statement, c.id, before_id=before_id, limit=limit)
    return queries.list_rows(connection, RejectedSpan, newest_first)
