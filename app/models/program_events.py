"""What a program did in a replay, an event in each row, and the recorded calls that answered its calls of tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from sqlalchemy import Connection, Index, Integer, UniqueConstraint, delete, select

from app.models.base import BigInt, MediumBlob, exact, new_table, no_index
from app.models.queries import insert_row

RowKind = Literal["event", "replies"]


@dataclass(frozen=True, slots=True)
class ProgramEventRow:
    """An event of a replay, or the replies to the calls of one answer. `number` counts the rows of a `kind` from 0."""

    id: int
    project_id: Annotated[int, BigInt]
    prompt_id: Annotated[int, BigInt]
    replay_id: Annotated[int, BigInt]
    kind: Annotated[RowKind, exact(8)]
    number: Annotated[int, Integer]
    # JSON, encrypted where the instance has a key.
    body: Annotated[bytes, MediumBlob]


program_events = new_table(
    "program_events",
    ProgramEventRow,
    UniqueConstraint("replay_id", "kind", "number"),
    Index("ix_program_events_prompt_id", "prompt_id"),
    Index("ix_program_events_project_id", "project_id"),
)
_C = program_events.c


def add_event(connection: Connection, owner: Mapping[str, Any], *, kind: RowKind, number: int, body: bytes) -> None:
    """Add a row of a kind; `owner` are the columns with the ids of the project, the prompt and the replay."""
    insert_row(connection, program_events, **owner, kind=kind, number=number, body=body)


def bodies_of(connection: Connection, *, project_id: int, replay_id: int, kind: RowKind, since: int = 0) -> list[bytes]:
    """Return the rows of a kind from the number `since` on, in their order."""
    of_replay = (_C.replay_id == replay_id, no_index(_C.project_id) == project_id)
    rows = select(_C.body).where(*of_replay, _C.kind == kind, _C.number >= since).order_by(_C.number)
    return list(connection.scalars(rows))


def remove_events(connection: Connection, *, project_id: int, replay_id: int) -> None:
    of_replay = (_C.replay_id == replay_id, no_index(_C.project_id) == project_id)
    connection.execute(delete(program_events).where(*of_replay))
