"""Replays of programs that are being played: what happened so far, until a worker has judged it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    Connection,
    DefaultClause,
    Index,
    Integer,
    UniqueConstraint,
    case,
    func,
    select,
    update,
)

from app.models.base import BigInt, MediumBlob, Timestamp, binary, exact, new_table
from app.models.experiment_replays import experiment_replays
from app.models.experiments import experiments
from app.models.organizations import projects
from app.models.program_events import remove_events
from app.models.queries import (
    changes_row,
    columns_of,
    delete_rows,
    find_row,
    insert_row,
    list_rows,
    pieces,
    update_rows,
)
from app.models.replays import UNFINISHED, ReplayRow, ReplaySetup, replays

ToolsMode = Literal["endpoint", "program"]
PLAYED_BY_PROGRAM = "program"
"""The claim of a replay that its program plays: no worker has it, and none gets it."""
AWAITS_PROGRAM = "awaits program"
"""The claim of a replay of an experiment that its program has not asked for yet."""
_TOKENS_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ProgramReplay:
    """The program's side of a replay, with sums of its events: see `app.models.program_events`.

    With `tools` "program" its tools ask the replay; else the endpoint answers the model's calls. If it is `offline`,
    calls of models that are no chat are refused. `events` is None if a release before 0046 began the replay.
    """

    id: int
    project_id: Annotated[int, BigInt]
    organization_id: int
    prompt_id: Annotated[int, BigInt]
    replay_id: Annotated[int, BigInt]
    tools: Annotated[ToolsMode, exact(8)]
    offline: Annotated[bool, Boolean(create_constraint=False)]
    expires_at: Annotated[datetime, Timestamp]
    # The API key that began the replay; None if a release before 0055 or no key did. The token ends with the key.
    key_id: Annotated[int | None, Integer]
    events: Annotated[int | None, Integer]
    # Calls of models and of tools, with calls under way and failed ones.
    calls: Annotated[int, Integer, DefaultClause("0")]
    # Calls of tools in the models' answers.
    asked: Annotated[int, Integer, DefaultClause("0")]
    # Bytes of the events' JSON.
    size: Annotated[int, Integer, DefaultClause("0")]
    # The turn that is played, counted from 0, and whether it can't go on.
    turn: Annotated[int, Integer, DefaultClause("0")]
    stopped: Annotated[bool, Boolean(create_constraint=False), DefaultClause("0")]
    # Rows of replies, and the steps of comparisons that made them.
    replied: Annotated[int, Integer, DefaultClause("0")]
    compared: Annotated[int, Integer, DefaultClause("0")]


program_replays = new_table(
    "program_replays",
    ProgramReplay,
    # The SHA-256 of the token.
    Column("digest", binary(32), nullable=False),
    # Counts the locks of the row.
    Column("version", Integer, server_default="0", nullable=False),
    # What releases before 0046 stored: JSON of all events, encrypted where the instance has a key.
    Column("transcript", MediumBlob),
    UniqueConstraint("replay_id"),
    Index("ix_program_replays_prompt_id", "prompt_id"),
    Index("ix_program_replays_project_id", "project_id"),
    Index("ix_program_replays_expires_at", "expires_at"),
)
_SUMS = ("events", "calls", "asked", "size", "turn", "stopped", "replied", "compared")
_C = program_replays.c
_ROW = select(*columns_of(ProgramReplay, program_replays, organization_id=projects.c.organization_id)).join(
    projects, projects.c.id == _C.project_id
)


def add_program(
    connection: Connection, *, setup: ReplaySetup | ReplayRow, replay_id: int, values: Mapping[str, Any]
) -> None:
    owner = {"project_id": setup.project_id, "prompt_id": setup.prompt_id, "replay_id": replay_id}
    insert_row(connection, program_replays, **owner, **values)


def claim_awaiting(connection: Connection, *, row: ReplayRow, now: datetime) -> bool:
    """Let a program play a replay that awaits it; returns False if another copy of the program has it."""
    c = replays.c
    awaiting = update(replays).where(c.id == row.id, c.project_id == row.project_id, *_awaiting())
    return changes_row(connection, awaiting.values(claim=PLAYED_BY_PROGRAM, started_at=now))


def first_awaiting(connection: Connection, *, project_id: int, experiment_id: int) -> int | None:
    """Return the id of the first replay of an experiment that awaits its program."""
    first = select(func.min(replays.c.id)).where(*_awaiting_in(project_id, experiment_id))
    replay_id: int | None = connection.scalar(first)
    return replay_id


def leave_awaiting(connection: Connection, *, project_id: int, experiment_id: int, values: Mapping[str, Any]) -> None:
    """Change the replays of an experiment that await their program."""
    c = replays.c
    ids = list(connection.scalars(select(c.id).where(*_awaiting_in(project_id, experiment_id))))
    for piece in pieces(ids):
        awaiting = update(replays).where(c.id.in_(piece), c.project_id == project_id, *_awaiting())
        # With the index on states it would lock replays that are given to other programs at the same time.
        by_id = awaiting.with_hint("FORCE INDEX (PRIMARY)", dialect_name="mysql")
        connection.execute(by_id.values(**values))


def list_abandoned(connection: Connection, *, before: datetime, limit: int) -> list[int]:
    """List the unfinished experiments of programs of which no replay was added, begun or ended since `before`."""
    e, c = experiments.c, replays.c
    seen_at = func.coalesce(c.finished_at, c.started_at, c.created_at)
    linked = experiment_replays.join(replays, c.id == experiment_replays.c.replay_id)
    seen = select(c.id).select_from(linked).where(experiment_replays.c.experiment_id == e.id, seen_at > before)
    unfinished = (e.status.in_(UNFINISHED), e.candidate_kind == "external", e.created_at <= before)
    return list(connection.scalars(select(e.id).where(*unfinished, ~seen.exists()).order_by(e.id).limit(limit)))


def _awaiting_in(project_id: int, experiment_id: int) -> tuple[ColumnElement[bool], ...]:
    linked = select(experiment_replays.c.replay_id).where(experiment_replays.c.experiment_id == experiment_id)
    return replays.c.project_id == project_id, replays.c.id.in_(linked), *_awaiting()


def _awaiting() -> tuple[ColumnElement[bool], ...]:
    return replays.c.status == "queued", replays.c.claim == AWAITS_PROGRAM


def find_program(connection: Connection, *, project_id: int, replay_id: int) -> ProgramReplay | None:
    statement = _ROW.where(_C.replay_id == replay_id, _C.project_id == project_id)
    return find_row(connection, ProgramReplay, statement)


def find_authenticated(
    connection: Connection, *, project_id: int, replay_id: int, digest: bytes
) -> ProgramReplay | None:
    """Return the program of a replay if its token has this digest. A wrong token costs what an unknown replay does."""
    statement = _ROW.where(_C.replay_id == replay_id, _C.project_id == project_id, _C.digest == digest)
    return find_row(connection, ProgramReplay, statement)


def lock_program(connection: Connection, *, project_id: int, replay_id: int) -> ProgramReplay | None:
    """Lock the row until the commit, and return it; None if it is removed."""
    locked = update(program_replays).where(_C.replay_id == replay_id, _C.project_id == project_id)
    is_locked = changes_row(connection, locked.values(version=_C.version + 1))
    return find_program(connection, project_id=project_id, replay_id=replay_id) if is_locked else None


def put_sums(connection: Connection, *, of: ProgramReplay) -> None:
    """Store the sums of a locked row."""
    key = {"id": of.id, "project_id": of.project_id}
    update_rows(connection, program_replays, key, **{name: getattr(of, name) for name in _SUMS})


def earlier_transcript(connection: Connection, *, of: ProgramReplay) -> bytes | None:
    """Return what a release before 0046 stored of the program."""
    statement = select(_C.transcript).where(_C.id == of.id, _C.project_id == of.project_id)
    transcript: bytes | None = connection.scalar(statement)
    return transcript


def remove_program(connection: Connection, *, project_id: int, replay_id: int) -> None:
    """Remove the record of a program's replay with its events."""
    remove_events(connection, project_id=project_id, replay_id=replay_id)
    delete_rows(connection, program_replays, project_id=project_id, replay_id=replay_id)


def list_expired(connection: Connection, *, before: datetime, limit: int) -> list[ProgramReplay]:
    """List programs that had time until `before`, the oldest first."""
    expired = _ROW.where(_C.expires_at <= before).order_by(_C.expires_at, _C.id).limit(limit)
    return list_rows(connection, ProgramReplay, expired)


def put_expiry(connection: Connection, *, of: ProgramReplay, expires_at: datetime) -> None:
    row = update(program_replays).where(_C.id == of.id, _C.project_id == of.project_id)
    connection.execute(row.values(expires_at=expires_at))


def leave_replay(connection: Connection, *, of: ProgramReplay, values: Mapping[str, Any]) -> bool:
    """Change a replay that its program plays; returns False if it is not played by the program any more."""
    return changes_row(connection, update(replays).where(*_played(of)).values(**values))


def is_played(connection: Connection, *, of: ProgramReplay) -> bool:
    """Return whether the program plays its replay now."""
    return connection.scalar(select(replays.c.id).where(*_played(of))) is not None


def _played(of: ProgramReplay) -> tuple[ColumnElement[bool], ...]:
    c = replays.c
    is_replay = (c.id == of.replay_id, c.project_id == of.project_id)
    return (*is_replay, c.status == "queued", c.claim == PLAYED_BY_PROGRAM)


def count_usage(connection: Connection, *, of: ProgramReplay, usage: Mapping[str, float]) -> None:
    """Add to the usage of the replay's calls, by column."""
    added = {name: _sum(name, amount) for name, amount in usage.items() if amount}
    if added:
        of_project = update(replays).where(replays.c.id == of.replay_id, replays.c.project_id == of.project_id)
        connection.execute(of_project.values(added))


def _sum(name: str, amount: float) -> ColumnElement[float]:
    """Return the sum of a column and an amount, which for tokens is at most what the column can have."""
    column = replays.c[name]
    if not name.endswith("_tokens"):
        return column + amount
    return case((column > _TOKENS_MAX - amount, _TOKENS_MAX), else_=column + amount)
