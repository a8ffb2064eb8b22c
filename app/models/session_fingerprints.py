"""The fingerprints of sessions (`app.suites.fingerprints`), which suites are chosen by and measured with."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    DefaultClause,
    Index,
    Integer,
    Select,
    UniqueConstraint,
    case,
    delete,
    or_,
    select,
    update,
)

from app.models import bulk, queries
from app.models.base import BigInt, MediumBlob, Timestamp, binary, new_table, no_index

ATTEMPTS_MAX = 2
"""After so many attempts that did not end, the spans of a session are not read again: they may end the process."""


@dataclass(frozen=True, slots=True)
class WaitingSession:
    """A session of which the fingerprint is to be made.

    `waiting` is a number that no change of the session gets twice. The row may be removed and noted again while a
    fingerprint is made of what was read before. `attempts` counts the attempts that began and have not ended.
    """

    session_key: Annotated[bytes, binary(16)]
    project_id: Annotated[int, BigInt]
    prompt_id: Annotated[int, BigInt]
    waiting: Annotated[int | None, BigInt]
    attempts: Annotated[int, Integer, DefaultClause("0")] = 0

    @property
    def has_failed(self) -> bool:
        return self.attempts >= ATTEMPTS_MAX


# Without foreign keys, like sessions.
session_fingerprints = new_table(
    "session_fingerprints",
    WaitingSession,
    # 0 until there is a fingerprint, else its edition.
    Column("edition", Integer, nullable=False, server_default="0"),
    Column("fingerprint", MediumBlob, nullable=True),
    # Until then no other clock makes the fingerprint. A clock that dies leaves its claims.
    Column("claimed_until", Timestamp, nullable=True),
    UniqueConstraint("session_key"),
    Index("ix_session_fingerprints_project_id_waiting", "project_id", "waiting"),
    Index("ix_session_fingerprints_prompt_id", "prompt_id"),
)
_C = session_fingerprints.c
_TABLE, _KEY = session_fingerprints.name, ("session_key",)
_NOTED = ("session_key", "project_id", "prompt_id", "waiting")


def note(connection: Connection, rows: Sequence[WaitingSession]) -> None:
    """Note that the fingerprints of sessions are to be made, again if there are some."""
    values = [(row.session_key, row.project_id, row.prompt_id, row.waiting) for row in rows]
    bulk.upsert(connection, _TABLE, _NOTED, sorted(values), key=_KEY, update={"waiting": "new"})


def list_waiting(connection: Connection, *, project_id: int, now: datetime, limit: int) -> list[WaitingSession]:
    """List a project's unclaimed sessions of which the fingerprint is to be made, the last changed first."""
    statement = select(*queries.columns_of(WaitingSession, session_fingerprints))
    waiting = statement.where(_C.project_id == project_id, _C.waiting.is_not(None), _is_free(now))
    return queries.list_rows(connection, WaitingSession, waiting.order_by(_C.waiting.desc()).limit(limit))


def claim(
    connection: Connection, *, project_id: int, rows: Sequence[WaitingSession], now: datetime, until: datetime
) -> list[WaitingSession]:
    """Begin an attempt at the fingerprints of sessions; returns the ones that no other clock has claimed meanwhile."""
    known = {row.session_key: row for row in rows}
    free = _of_sessions(project_id, known).where(_is_free(now), _C.waiting.is_not(None))
    claimed = [row.session_key for row in connection.execute(free.with_for_update())]
    begun = update(session_fingerprints).where(no_index(_C.project_id) == project_id, _C.session_key.in_(claimed))
    connection.execute(begun.values(attempts=_C.attempts + 1, claimed_until=until))
    return [known[key] for key in claimed]


def _is_free(now: datetime) -> ColumnElement[bool]:
    return or_(_C.claimed_until.is_(None), _C.claimed_until <= now)


def _of_sessions(project_id: int, session_keys: Iterable[bytes]) -> Select[tuple[bytes, int, int, int | None]]:
    """Select the rows of sessions in the order of their keys."""
    columns = select(_C.session_key, _C.project_id, _C.prompt_id, _C.waiting)
    of_project = columns.where(no_index(_C.project_id) == project_id, _C.session_key.in_(sorted(session_keys)))
    return of_project.order_by(_C.session_key)


def put(
    connection: Connection,
    *,
    project_id: int,
    rows: Sequence[WaitingSession],
    fingerprints: Mapping[bytes, bytes],
    edition: int,
) -> int:
    """Store the fingerprints of sessions that have not changed since they were listed; returns their number.

    Sessions without a fingerprint, which are gone, are removed. The attempts at all of them end.
    """
    marks = {row.session_key: row.waiting for row in rows}
    locked = connection.execute(_of_sessions(project_id, marks).with_for_update()).all()
    same = [row for row in locked if row.waiting == marks[row.session_key]]
    values = [
        (*row[:-1], None, edition, fingerprints[row.session_key]) for row in same if row.session_key in fingerprints
    ]
    # Sessions that have failed were claimed once more. Their attempts are kept.
    attempts = case((_C.attempts > ATTEMPTS_MAX, _C.attempts), else_=0)
    ended = update(session_fingerprints).where(no_index(_C.project_id) == project_id, _C.session_key.in_(sorted(marks)))
    connection.execute(ended.values(attempts=attempts, claimed_until=None))
    bulk.upsert(
        connection,
        _TABLE,
        (*_NOTED, "edition", "fingerprint"),
        values,
        key=_KEY,
        update=dict.fromkeys(("waiting", "edition", "fingerprint"), "new"),
    )
    remove_of_sessions(
        connection,
        project_id=project_id,
        session_keys=[row.session_key for row in same if row.session_key not in fingerprints],
    )
    return len(values)


def remove_of_sessions(connection: Connection, *, project_id: int, session_keys: Collection[bytes]) -> None:
    """Delete the fingerprints of sessions."""
    for piece in queries.pieces(sorted(session_keys)):
        of_project = delete(session_fingerprints).where(no_index(_C.project_id) == project_id)
        connection.execute(of_project.where(_C.session_key.in_(piece)))
