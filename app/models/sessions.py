"""Sessions: conversations of a prompt, each the turns that share its key."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Index,
    Table,
    UniqueConstraint,
    and_,
    delete,
    literal,
    or_,
    select,
)

from app.models import bulk
from app.models.base import OPTIONS, BigInt, binary, exact, identifier, metadata
from app.models.turns import extents, turns

sessions = Table(
    "sessions",
    metadata,
    identifier(),
    Column("session_key", binary(16), nullable=False),
    Column("project_id", BigInt, nullable=False),
    Column("prompt_id", BigInt, nullable=False),
    Column("conversation_id", exact(512)),
    Column("start_ns", BigInt, nullable=False),
    Column("last_ns", BigInt, nullable=False),
    UniqueConstraint("session_key"),
    Index("ix_sessions_prompt_id_start_ns_id", "prompt_id", "start_ns", "id"),
    **OPTIONS,
)

COLUMNS = ("session_key", "project_id", "prompt_id", "conversation_id", "start_ns", "last_ns")


@dataclass(frozen=True, slots=True)
class SessionRow:
    """`conversation_id` is None for a turn that is a session of its own."""

    session_key: bytes
    project_id: int
    prompt_id: int
    conversation_id: str | None
    start_ns: int
    last_ns: int
    id: int = 0


def put(connection: Connection, rows: Sequence[SessionRow]) -> None:
    """Make sure that the sessions (in key order) are there, and reach over the given times."""
    _upsert(connection, rows, {"start_ns": "least", "last_ns": "greatest"})


def _upsert(connection: Connection, rows: Sequence[SessionRow], update: dict[str, bulk.Rule]) -> None:
    values = [tuple(getattr(row, name) for name in COLUMNS) for row in rows]
    bulk.upsert(connection, "sessions", COLUMNS, values, key=("session_key",), update=update)


def settle(connection: Connection, *, session_keys: Collection[bytes]) -> None:
    """After turns have left sessions: make their times those of their turns, or remove those that have none.

    The rows are locked before their turns are looked at: whoever adds a turn meanwhile touches the row after that.
    """
    for keys in bulk.pieces(sorted(session_keys)):
        _settle(connection, keys)


def _settle(connection: Connection, keys: Sequence[bytes]) -> None:
    c = sessions.c
    locked = _SELECT.where(c.session_key.in_(keys)).order_by(c.session_key).with_for_update()
    rows = [_row(row) for row in connection.execute(locked)]
    times = extents(connection, session_keys=[row.session_key for row in rows])
    if empty := [row.session_key for row in rows if row.session_key not in times]:
        connection.execute(delete(sessions).where(c.session_key.in_(empty)))
    kept = [row for row in rows if row.session_key in times]
    _upsert(
        connection,
        [replace(row, start_ns=times[row.session_key][0], last_ns=times[row.session_key][1]) for row in kept],
        {"start_ns": "new", "last_ns": "new"},
    )


_SELECT = select(*(sessions.c[name] for name in COLUMNS), sessions.c.id)


def find_session(connection: Connection, *, project_id: int, session_key: bytes) -> SessionRow | None:
    statement = _SELECT.where(sessions.c.session_key == session_key, sessions.c.project_id == project_id)
    row = connection.execute(statement).one_or_none()
    return _row(row) if row else None


def list_sessions(
    connection: Connection,
    *,
    prompt_id: int,
    limit: int,
    before: tuple[int, int] | None = None,
    from_ns: int | None = None,
    to_ns: int | None = None,
    search: str | None = None,
) -> list[SessionRow]:
    """A prompt's sessions, newest first; `before` is the (start, id) of the last one seen.

    `search` is a part of the conversation id or of a turn's opening text, any case.
    """
    c = sessions.c
    statement = _SELECT.where(*_within(prompt_id, before, from_ns, to_ns))
    if search:
        opened = turns.c.opening.icontains(search, autoescape=True)
        # The limit keeps MariaDB from reading all turns there are before it looks at the newest sessions.
        found = select(literal(1)).where(turns.c.session_key == c.session_key, opened).limit(1).scalar_subquery()
        statement = statement.where(or_(c.conversation_id.icontains(search, autoescape=True), found == 1))
    statement = statement.order_by(c.start_ns.desc(), c.id.desc()).limit(limit)
    return [_row(row) for row in connection.execute(statement)]


def nth_start_ns(
    connection: Connection,
    *,
    prompt_id: int,
    nth: int,
    before: tuple[int, int] | None = None,
    from_ns: int | None = None,
    to_ns: int | None = None,
) -> int | None:
    """When the nth session that `list_sessions` would list without a search started; None if there are fewer."""
    c = sessions.c
    statement = select(c.start_ns).where(*_within(prompt_id, before, from_ns, to_ns))
    return connection.scalar(statement.order_by(c.start_ns.desc(), c.id.desc()).offset(nth - 1).limit(1))


def _within(
    prompt_id: int, before: tuple[int, int] | None, from_ns: int | None, to_ns: int | None
) -> list[ColumnElement[bool]]:
    c = sessions.c
    conditions = [c.prompt_id == prompt_id]
    if before is not None:
        conditions.append(or_(c.start_ns < before[0], and_(c.start_ns == before[0], c.id < before[1])))
    if from_ns is not None:
        conditions.append(c.start_ns >= from_ns)
    if to_ns is not None:
        conditions.append(c.start_ns < to_ns)
    return conditions


def _row(row: Any) -> SessionRow:
    return SessionRow(*row)
