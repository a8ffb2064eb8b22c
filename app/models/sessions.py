"""Sessions: conversations of a prompt, each the turns that share its key."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from sqlalchemy import Connection, Index, Select, UniqueConstraint, and_, delete, func, literal, or_, select

from app.models import queries
from app.models.base import BigInt, binary, exact, new_table
from app.models.turns import extents, turns


@dataclass(frozen=True, slots=True)
class SessionRow:
    """`conversation_id` is None for a turn that is a session of its own."""

    session_key: Annotated[bytes, binary(16)]
    project_id: Annotated[int, BigInt]
    prompt_id: Annotated[int, BigInt]
    conversation_id: Annotated[str | None, exact(512)]
    start_ns: Annotated[int, BigInt]
    last_ns: Annotated[int, BigInt]
    id: int = 0


sessions = new_table(
    "sessions",
    SessionRow,
    UniqueConstraint("session_key"),
    Index("ix_sessions_prompt_id_start_ns_id", "prompt_id", "start_ns", "id"),
)


@dataclass(frozen=True, slots=True)
class SessionRange:
    """A prompt's sessions that started in [`from_ns`, `to_ns`), and in lists come after `before`, a (start, id)."""

    prompt_id: int
    before: tuple[int, int] | None = None
    from_ns: int | None = None
    to_ns: int | None = None

    def newest_first(self, statement: Select[Any]) -> Select[Any]:
        statement = statement.where(_C.prompt_id == self.prompt_id)
        if self.before is not None:
            start_ns, before_id = self.before
            statement = statement.where(or_(_C.start_ns < start_ns, and_(_C.start_ns == start_ns, _C.id < before_id)))
        if self.from_ns is not None:
            statement = statement.where(_C.start_ns >= self.from_ns)
        if self.to_ns is not None:
            statement = statement.where(_C.start_ns < self.to_ns)
        return statement.order_by(_C.start_ns.desc(), _C.id.desc())


_C = sessions.c
COLUMNS = tuple(name for name in SessionRow.__dataclass_fields__ if name != "id")
_SELECT = select(*queries.columns_of(SessionRow, sessions))


def put(connection: Connection, rows: Sequence[SessionRow]) -> None:
    """Insert sessions (in key order), or extend stored ones to the times of these."""
    _upsert(connection, rows, {"start_ns": "least", "last_ns": "greatest"})


def _upsert(connection: Connection, rows: Sequence[SessionRow], update: dict[str, queries.Rule]) -> None:
    values = [tuple(getattr(row, name) for name in COLUMNS) for row in rows]
    queries.upsert(connection, "sessions", COLUMNS, values, key=("session_key",), update=update)


def settle(connection: Connection, *, session_keys: Collection[bytes]) -> None:
    """Give sessions that turns have left the times of their remaining turns, or remove those without any.

    The rows are locked before their turns are read: a transaction that adds a turn writes the row after that.
    """
    for keys in queries.pieces(sorted(session_keys)):
        locked = _SELECT.where(_C.session_key.in_(keys)).order_by(_C.session_key).with_for_update()
        rows = queries.list_rows(connection, SessionRow, locked)
        times = extents(connection, session_keys=[row.session_key for row in rows])
        if empty := [row.session_key for row in rows if row.session_key not in times]:
            connection.execute(delete(sessions).where(_C.session_key.in_(empty)))
        kept = [(row, *times[row.session_key]) for row in rows if row.session_key in times]
        settled = [replace(row, start_ns=start_ns, last_ns=last_ns) for row, start_ns, last_ns in kept]
        _upsert(connection, settled, {"start_ns": "new", "last_ns": "new"})


def find_session(connection: Connection, *, project_id: int, session_key: bytes) -> SessionRow | None:
    statement = _SELECT.where(_C.session_key == session_key, _C.project_id == project_id)
    return queries.find_row(connection, SessionRow, statement)


def list_sessions(
    connection: Connection, within: SessionRange, *, limit: int, search: str | None = None
) -> list[SessionRow]:
    """List sessions, newest first; `search` is a part of the conversation id or of a turn's opening, in any case."""
    statement = within.newest_first(_SELECT)
    if search:
        opened = turns.c.opening.icontains(search, autoescape=True)
        # The limit keeps MariaDB from reading all turns before it looks at the newest sessions.
        found = select(literal(1)).where(turns.c.session_key == _C.session_key, opened).limit(1).scalar_subquery()
        statement = statement.where(or_(_C.conversation_id.icontains(search, autoescape=True), found == 1))
    return queries.list_rows(connection, SessionRow, statement.limit(limit))


def count_sessions(connection: Connection, within: SessionRange, *, most: int) -> int:
    """Count the sessions of the range, `most` of them at most."""
    found = within.newest_first(select(_C.id)).limit(most)
    return int(connection.scalar(select(func.count()).select_from(found.subquery())) or 0)


def nth_start_ns(connection: Connection, within: SessionRange, *, nth: int) -> int | None:
    """Return the start of the nth session of the range, newest first; None if there are fewer."""
    start_ns: int | None = connection.scalar(within.newest_first(select(_C.start_ns)).offset(nth - 1).limit(1))
    return start_ns
