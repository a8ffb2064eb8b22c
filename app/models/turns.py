"""Turns: the traces of a prompt, with the facts that ingest keeps up to date."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

from sqlalchemy import Column, Connection, Index, String, Table, UniqueConstraint, func, select

from app.models import bulk
from app.models.base import OPTIONS, BigInt, MediumBlob, binary, identifier, metadata

turns = Table(
    "turns",
    metadata,
    identifier(),
    Column("project_id", BigInt, nullable=False),
    Column("prompt_id", BigInt, nullable=False),
    Column("trace_id", binary(16), nullable=False),
    Column("session_key", binary(16), nullable=False),
    Column("start_ns", BigInt, nullable=False),
    Column("end_ns", BigInt, nullable=False),
    # What is searched: the text that opened it.
    Column("opening", String(300)),
    # What `app/sessions/facts.py` merges over batches.
    Column("facts", MediumBlob, nullable=False),
    Column("batch_id", BigInt, nullable=False),
    UniqueConstraint("prompt_id", "trace_id"),
    Index("ix_turns_session_key_start_ns", "session_key", "start_ns"),
    # What retention asks: the turns of a project that nothing was added to for so long.
    Index("ix_turns_project_id_batch_id", "project_id", "batch_id"),
    **OPTIONS,
)

COLUMNS = ("project_id", "prompt_id", "trace_id", "session_key", "start_ns", "end_ns", "opening", "facts", "batch_id")
TurnKey = tuple[int, bytes]
"""Prompt id and trace id."""


@dataclass(frozen=True, slots=True)
class TurnRow:
    project_id: int
    prompt_id: int
    trace_id: bytes
    session_key: bytes
    start_ns: int
    end_ns: int
    opening: str | None
    facts: bytes
    batch_id: int

    @property
    def key(self) -> TurnKey:
        return (self.prompt_id, self.trace_id)


_SELECT = select(*(turns.c[name] for name in COLUMNS))


_values = attrgetter(*COLUMNS)


def insert_new(connection: Connection, rows: Sequence[TurnRow]) -> int:
    """Store those of `rows` (in key order) that are no turns yet; returns how many those were."""
    return bulk.insert_new(connection, "turns", COLUMNS, [_values(row) for row in rows])


def replace(connection: Connection, rows: Sequence[TurnRow]) -> None:
    """Write turns that are known to exist, and are locked by this transaction."""
    update: dict[str, bulk.Rule] = dict.fromkeys(
        ("session_key", "start_ns", "end_ns", "opening", "facts", "batch_id"), "new"
    )
    values = [_values(row) for row in rows]
    bulk.upsert(connection, "turns", COLUMNS, values, key=("prompt_id", "trace_id"), update=update)


def lock_existing(connection: Connection, *, keys: Sequence[TurnKey], batch_id: int) -> list[TurnRow]:
    """Those of the turns `keys` that other batches have written, locked until the commit, in key order."""
    c = turns.c
    found: list[TurnRow] = []
    # One statement a prompt: not every server uses the index for a list of pairs.
    for prompt_id, group in groupby(sorted(keys), key=lambda key: key[0]):
        trace_ids = [trace_id for _, trace_id in group]
        for some in bulk.pieces(trace_ids):
            statement = _SELECT.where(c.prompt_id == prompt_id, c.trace_id.in_(some), c.batch_id != batch_id)
            found.extend(_row(row) for row in connection.execute(statement.order_by(c.trace_id).with_for_update()))
    return found


def turns_of_session(connection: Connection, *, session_key: bytes) -> list[TurnRow]:
    """In the order of their start; ties by trace id."""
    statement = _SELECT.where(turns.c.session_key == session_key)
    return [_row(row) for row in connection.execute(statement.order_by(turns.c.start_ns, turns.c.trace_id))]


def turns_of_sessions(connection: Connection, *, session_keys: Iterable[bytes]) -> list[TurnRow]:
    """The turns of several sessions, each session's in the order of their start."""
    statement = _SELECT.where(turns.c.session_key.in_(list(session_keys)))
    return [_row(row) for row in connection.execute(statement.order_by(turns.c.start_ns, turns.c.trace_id))]


def extents(connection: Connection, *, session_keys: Sequence[bytes]) -> dict[bytes, tuple[int, int]]:
    """By session: the earliest start and the latest end of its turns; without those that have none."""
    c = turns.c
    statement = select(c.session_key, func.min(c.start_ns), func.max(c.end_ns)).where(c.session_key.in_(session_keys))
    return {key: (start_ns, end_ns) for key, start_ns, end_ns in connection.execute(statement.group_by(c.session_key))}


def _row(row: Any) -> TurnRow:
    return TurnRow(*row)
