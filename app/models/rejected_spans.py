"""Spans that were not stored, with the reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from sqlalchemy import Connection, Index, String, delete, func, insert, select

from app.models import queries
from app.models.base import BigInt, Timestamp, exact, new_table, no_index

KEPT_PER_PROJECT = 1000
"""The number of rejected spans kept for a project."""


@dataclass(frozen=True, slots=True)
class RejectedSpan:
    """A span that was not stored; `prompt_id` is None where the span named no prompt."""

    project_id: Annotated[int, BigInt]
    prompt_id: Annotated[int | None, BigInt]
    trace_id: Annotated[str, String(64)]
    span_id: Annotated[str, String(64)]
    name: Annotated[str, String(255)]
    code: Annotated[str, exact(32)]
    reason: Annotated[str, String(1000)]
    received_at: Annotated[datetime, Timestamp]
    id: int = 0


rejected_spans = new_table("rejected_spans", RejectedSpan, Index("ix_rejected_spans_project_id_id", "project_id", "id"))


_REJECTED = queries.columns_of(RejectedSpan, rejected_spans)


def add_rejected(connection: Connection, rows: Sequence[RejectedSpan]) -> None:
    """Store the newest KEPT rejected spans."""
    kept = rows[-KEPT_PER_PROJECT:]
    if kept:
        values = [{c.name: getattr(row, c.name) for c in _REJECTED if c.name != "id"} for row in kept]
        connection.execute(insert(rejected_spans), values)


def forget_old(connection: Connection, *, project_id: int) -> None:
    """Remove all but the project's newest KEPT rejected spans."""
    c = rejected_spans.c
    newest = queries.newest_first(select(c.id).where(c.project_id == project_id), c.id, limit=1)
    oldest_kept = connection.scalar(newest.offset(KEPT_PER_PROJECT - 1))
    if oldest_kept is not None:
        connection.execute(delete(rejected_spans).where(c.project_id == project_id, c.id < oldest_kept))


def list_rejected(
    connection: Connection,
    *,
    project_id: int,
    prompt_id: int | None,
    before_id: int | None,
    limit: int,
    code: str | None = None,
) -> list[RejectedSpan]:
    """List a project's rejected spans, newest first, optionally only with this `prompt_id` or with one cause."""
    c = rejected_spans.c
    statement = select(*_REJECTED).where(c.project_id == project_id)
    if code is not None:
        statement = statement.where(c.code == code)
    if prompt_id is not None:
        statement = statement.where(c.prompt_id == prompt_id)
    newest_first = queries.newest_first(statement, c.id, before_id=before_id, limit=limit)
    return queries.list_rows(connection, RejectedSpan, newest_first)


@dataclass(frozen=True, slots=True)
class RejectionCause:
    """The spans of a project that were rejected for one reason."""

    count: int
    newest: RejectedSpan


def rejection_causes(connection: Connection, *, project_id: int) -> list[RejectionCause]:
    """Return the causes of the kept rejected spans, in no order."""
    c = rejected_spans.c
    causes = select(func.count().label("count"), func.max(c.id).label("newest_id"))
    counted = causes.where(c.project_id == project_id).group_by(c.code).subquery()
    statement = select(counted.c.count, *_REJECTED).join(counted, counted.c.newest_id == c.id)
    rows = connection.execute(statement.where(no_index(c.project_id) == project_id))
    return [RejectionCause(row[0], RejectedSpan(*row[1:])) for row in rows]


def newest_rejected(connection: Connection, *, project_id: int) -> int:
    """Return the id of the project's newest rejected span, 0 without any."""
    c = rejected_spans.c
    return connection.scalar(select(func.max(c.id)).where(c.project_id == project_id)) or 0


def rejected_between(connection: Connection, *, project_id: int, after_id: int, last_id: int) -> dict[str, int]:
    """Count the project's kept rejected spans with ids in (after_id, last_id], by cause."""
    c = rejected_spans.c
    counted = select(c.code, func.count()).where(c.project_id == project_id, c.id > after_id, c.id <= last_id)
    return {row[0]: row[1] for row in connection.execute(counted.group_by(c.code).order_by(c.code))}
