"""The sessions whose figures are to be counted, and the figures that each was counted with."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, select

from app.models import queries
from app.models.sessions import SessionRow, sessions
from app.sessions.figures import Counted, dump, load_counted

_C = sessions.c


def uncounted(connection: Connection, *, project_id: int, limit: int) -> list[SessionRow]:
    """List a project's sessions that are added up and to be counted, those first that have waited longest."""
    found = select(*queries.columns_of(SessionRow, sessions)).where(
        _C.project_id == project_id, _C.uncounted.is_not(None), _C.errors.is_not(None)
    )
    return queries.list_rows(connection, SessionRow, found.order_by(_C.uncounted).limit(limit))


def put_counted(
    connection: Connection, *, marks: Mapping[bytes, int | None], counted: Mapping[bytes, Counted]
) -> dict[bytes, Counted | None]:
    """Keep the figures of the sessions whose `uncounted` is still the one in `marks`; returns those they had before."""
    found = select(_C.session_key, _C.uncounted, _C.counted).where(_C.session_key.in_(sorted(marks)))
    before: dict[bytes, Counted | None] = {}
    for key, mark, text in connection.execute(found.order_by(_C.session_key).with_for_update()).all():
        if mark == marks[key]:
            figures = dump(counted[key])
            queries.update_rows(connection, sessions, {"session_key": key}, uncounted=None, counted=figures)
            before[key] = load_counted(text) if text else None
    return before
