"""Spans that were not stored, and why: most exporters never print the answer that said so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Column, Connection, Index, String, Table, delete, insert, select

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
"""Rejected spans kept for a project."""


@dataclass(frozen=True, slots=True)
class RejectedSpan:
    """`prompt_id` is the one that the span named, where it named one."""

    project_id: int
    prompt_id: int | None
    trace_id: str
    span_id: str
    name: str
    code: str
    reason: str
    received_at: datetime
    id: int = 0


_COLUMNS = [rejected_spans.c[name] for name in RejectedSpan.__dataclass_fields__]


def add_rejected(connection: Connection, rows: Sequence[RejectedSpan]) -> None:
    """Keep the newest KEPT of them."""
    kept = rows[-KEPT:]
    if kept:
        values = [{c.name: getattr(row, c.name) for c in _COLUMNS if c.name != "id"} for row in kept]
        connection.execute(insert(rejected_spans), values)


def forget_old(connection: Connection, *, project_id: int) -> None:
    """Remove all but the project's newest KEPT."""
    c = rejected_spans.c
    newest = select(c.id).where(c.project_id == project_id).order_by(c.id.desc())
    oldest_kept = connection.scalar(newest.limit(1).offset(KEPT - 1))
    if oldest_kept is not None:
        connection.execute(delete(rejected_spans).where(c.project_id == project_id, c.id < oldest_kept))


def list_rejected(
    connection: Connection, *, project_id: int, prompt_id: int | None, before_id: int | None, limit: int
) -> list[RejectedSpan]:
    """Newest first; `prompt_id` picks those that named this prompt."""
    c = rejected_spans.c
    statement = select(*_COLUMNS).where(c.project_id == project_id)
    if prompt_id is not None:
        statement = statement.where(c.prompt_id == prompt_id)
    if before_id is not None:
        statement = statement.where(c.id < before_id)
    return [RejectedSpan(*row) for row in connection.execute(statement.order_by(c.id.desc()).limit(limit))]
