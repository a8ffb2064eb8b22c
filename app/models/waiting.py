"""Rows that name a span, or another thing of a project, and wait until it is stored."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Table, delete, exists, or_, select, update

from app.models import queries
from app.models.base import no_index
from app.models.log_records import log_records
from app.models.runs import runs
from app.models.scores import scores
from app.models.sessions import sessions
from app.models.spans import spans

TABLES = (log_records, scores)
"""`waiting_since` is a batch's id (see `queries.new_batch_id`), NULL once what it names was seen to be stored."""


def settle_waiting(connection: Connection, table: Table, *, project_id: int, before: datetime, limit: int) -> int:
    """Check the rows that began to wait before a time: keep a row that names a stored thing, and remove the others.

    Returns how many rows of the project were checked. Each row is checked once.
    """
    c = table.c
    waiting = select(c.id).where(c.project_id == project_id, c.waiting_since < queries.first_batch_id(before))
    ids = sorted(connection.scalars(waiting.order_by(c.waiting_since).limit(limit)))
    of_project = no_index(c.project_id) == project_id
    for piece in queries.pieces(ids):
        joined = sorted(connection.scalars(select(c.id).where(of_project, c.id.in_(piece), _stored(table))))
        connection.execute(update(table).where(of_project, c.id.in_(joined)).values(waiting_since=None))
        connection.execute(delete(table).where(of_project, c.id.in_(sorted({*piece} - {*joined}))))
    return len(ids)


def _stored(table: Table) -> ColumnElement[bool]:
    """Return the condition that the thing a row names is stored.

    That is a span. A score may also name a turn (stored if one of its spans is), a session or a run.
    """
    c, s = table.c, spans.c
    of_trace = exists().where(s.project_id == c.project_id, s.trace_id == c.trace_id)
    if table is not scores:
        return of_trace.where(s.span_id == c.span_id)
    return or_(
        of_trace.where(or_(c.span_id.is_(None), s.span_id == c.span_id)),
        exists().where(sessions.c.session_key == c.session_key, sessions.c.project_id == c.project_id),
        exists().where(runs.c.id == c.run_id, runs.c.project_id == c.project_id),
    )
