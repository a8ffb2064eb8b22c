"""Sessions as people read them: built from the stored spans when they are asked for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from app.db import Database
from app.errors import NotFound
from app.models import sessions, spans, turns
from app.models.sessions import SessionRow
from app.models.turns import TurnRow
from app.sessions.build import build_session
from app.sessions.facts import TurnFacts, load
from app.sessions.types import Turn, Usage


@dataclass(frozen=True, slots=True)
class Session:
    """A session with its turns, in order."""

    id: str
    prompt_id: int
    conversation_id: str | None
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A session as a log lists it: what its turns' facts say, without reading any span."""

    id: str
    row_id: int
    conversation_id: str | None
    start_ns: int
    last_ns: int
    turns: int
    preview: str | None
    models: tuple[str, ...]
    prompt_versions: tuple[str, ...]
    usage: Usage
    errors: int


class SessionService:
    def __init__(self, *, database: Database) -> None:
        self._database = database

    def get(self, *, project_id: int, session_id: str) -> Session:
        """`NotFound` for an id that is none, belongs to another project, or whose turns have joined another session."""
        key = session_key_of(session_id)
        with self._database.read() as connection:
            row = sessions.find_session(connection, project_id=project_id, session_key=key) if key else None
            if row is None:
                raise NotFound("There is no such session.")
            found = turns.turns_of_session(connection, session_key=row.session_key)
            stored = spans.spans_of(
                connection,
                project_id=project_id,
                prompt_id=row.prompt_id,
                trace_ids=[turn.trace_id for turn in found],
            )
        return Session(session_id, row.prompt_id, row.conversation_id, build_session(_by_trace(stored)))


def _by_trace(stored: Sequence[spans.StoredSpan]) -> list[list[spans.StoredSpan]]:
    traces: dict[bytes, list[spans.StoredSpan]] = defaultdict(list)
    for span in stored:
        traces[span.trace_id].append(span)
    return list(traces.values())


def session_key_of(session_id: str) -> bytes | None:
    """The key behind a session's id (its hex, 32 digits); None for what is none."""
    try:
        return (
            bytes.fromhex(session_id) if len(session_id) == 32 and session_id.islower() | session_id.isdigit() else None
        )
    except ValueError:
        return None


def summarise(connection: Connection, rows: Sequence[SessionRow]) -> list[SessionSummary]:
    """The summaries of sessions, in their order; one query for all."""
    by_session: dict[bytes, list[TurnRow]] = defaultdict(list)
    for turn in turns.turns_of_sessions(connection, session_keys=[row.session_key for row in rows]):
        by_session[turn.session_key].append(turn)
    return [_summary(row, [load(turn.facts) for turn in by_session[row.session_key]]) for row in rows]


def _summary(row: SessionRow, facts: Sequence[TurnFacts]) -> SessionSummary:
    opening = next((one.opening for one in facts if one.opening), None)
    return SessionSummary(
        id=row.session_key.hex(),
        row_id=row.id,
        conversation_id=row.conversation_id,
        start_ns=row.start_ns,
        last_ns=row.last_ns,
        turns=len(facts),
        preview=opening[1] if opening else None,
        models=tuple(sorted(frozenset().union(*(one.models for one in facts)))),
        prompt_versions=tuple(sorted(frozenset().union(*(one.prompt_versions for one in facts)))),
        usage=sum((one.usage for one in facts), Usage()),
        errors=sum(one.errors for one in facts),
    )
