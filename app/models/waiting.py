"""Rows that name a span by its ids, and wait until the span comes."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, Table, delete, exists, select, update

from app.models import queries
from app.models.log_records import log_records
from app.models.scores import scores
from app.models.spans import spans

TABLES = (log_records, scores)
"""`waiting_since` is a batch's id (see `queries.new_batch_id`), NULL once the span was seen to be stored."""


def settle_waiting(
    connection: Connection, table: Table, *, before: datetime, limit: int, project_id: int | None = None
) -> int:
    """Keep rows that have waited since before `before` if their span is there, and remove them if it is not.

    Returns how many of a project, or of all, were looked at; each is once.
    """
    c = table.c
    waiting = select(c.id).where(c.waiting_since < queries.first_batch_id(before))
    if project_id is not None:
        waiting = waiting.where(c.project_id == project_id)
    ids = sorted(connection.scalars(waiting.order_by(c.waiting_since).limit(limit)))
    for some in queries.pieces(ids):
        stored = exists().where(
            spans.c.project_id == c.project_id, spans.c.trace_id == c.trace_id, spans.c.span_id == c.span_id
        )
        joined = sorted(connection.scalars(select(c.id).where(c.id.in_(some), stored)))
        connection.execute(update(table).where(c.id.in_(joined)).values(waiting_since=None))
        connection.execute(delete(table).where(c.id.in_(sorted({*some} - {*joined}))))
    return len(ids)
