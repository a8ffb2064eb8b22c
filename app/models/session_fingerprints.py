"""The fingerprints of sessions (`app.suites.fingerprints`), which suites are chosen by and measured with."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from sqlalchemy import Column, Connection, Index, Integer, UniqueConstraint, delete, select

from app.models import bulk, queries
from app.models.base import BigInt, MediumBlob, binary, new_table, no_index


@dataclass(frozen=True, slots=True)
class WaitingSession:
    """A session of which the fingerprint is to be made.

    `waiting` is a number that no change of the session gets twice. The row may be removed and noted again while a
    fingerprint is made of what was read before.
    """

    session_key: Annotated[bytes, binary(16)]
    project_id: Annotated[int, BigInt]
    prompt_id: Annotated[int, BigInt]
    waiting: Annotated[int | None, BigInt]


# Without foreign keys, like sessions.
session_fingerprints = new_table(
    "session_fingerprints",
    WaitingSession,
    # 0 until there is a fingerprint, else its edition.
    Column("edition", Integer, nullable=False, server_default="0"),
    Column("fingerprint", MediumBlob, nullable=True),
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


def list_waiting(connection: Connection, *, project_id: int, limit: int) -> list[WaitingSession]:
    """List a project's sessions of which the fingerprint is to be made, the last changed first."""
    statement = select(*queries.columns_of(WaitingSession, session_fingerprints))
    waiting = statement.where(_C.project_id == project_id, _C.waiting.is_not(None))
    return queries.list_rows(connection, WaitingSession, waiting.order_by(_C.waiting.desc()).limit(limit))


def put(
    connection: Connection,
    *,
    project_id: int,
    rows: Sequence[WaitingSession],
    fingerprints: Mapping[bytes, bytes],
    edition: int,
) -> int:
    """Store the fingerprints of sessions that have not changed since they were listed; returns their number.

    Sessions without a fingerprint, which are gone, are removed.
    """
    marks = {row.session_key: row.waiting for row in rows}
    columns = (_C.session_key, _C.project_id, _C.prompt_id, _C.waiting)
    of_rows = select(*columns).where(no_index(_C.project_id) == project_id, _C.session_key.in_(sorted(marks)))
    locked = connection.execute(of_rows.order_by(_C.session_key).with_for_update()).all()
    same = [row for row in locked if row.waiting == marks[row.session_key]]
    values = [
        (*row[:-1], None, edition, fingerprints[row.session_key]) for row in same if row.session_key in fingerprints
    ]
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
