"""The sessions whose figures are to be counted, and the figures that each was counted with."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, bindparam, select, update

from app.models import queries
from app.models.sessions import SessionRow, sessions
from app.sessions.figures import Counted, dump, load_counted

_C = sessions.c
_PUT = (
    update(sessions)
    .where(_C.session_key == bindparam("key"))
    .values(uncounted=None, counted=bindparam("figures", type_=_C.counted.type))
)


def uncounted(connection: Connection, *, project_id: int, limit: int) -> list[SessionRow]:
    """List a project's sessions that are added up and to be counted, those first that have waited longest."""
    found = select(*queries.columns_of(SessionRow, sessions)).where(
        _C.project_id == project_id, _C.uncounted.is_not(None), _C.errors.is_not(None)
    )
    return queries.list_rows(connection, SessionRow, found.order_by(_C.uncounted).limit(limit))


def put_counted(
    connection: Connection, *, marks: Mapping[bytes, int | None], counted: Mapping[bytes, Counted]
) -> dict[bytes, Counted | None]:
    """Keep the figures of the sessions whose `uncounted` is still the one in `marks`; returns their earlier figures."""
    found = select(_C.session_key, _C.uncounted, _C.counted).where(_C.session_key.in_(sorted(marks)))
    locked = connection.execute(found.order_by(_C.session_key).with_for_update()).all()
    same = [(key, text) for key, mark, text in locked if mark is not None and mark == marks[key]]
    before = {key: load_counted(text) if text else None for key, text in same}
    if before:
        connection.execute(_PUT, [{"key": key, "figures": dump(counted[key])} for key in before])
    return before
