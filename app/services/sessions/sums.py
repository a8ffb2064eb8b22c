"""Adds up sessions that ingest did not add up: from earlier releases, and long ones that lost turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from sqlalchemy import Connection

from app.database.transactions import Database
from app.models import organizations, queries, sessions, spans, turns
from app.models.sessions import SessionRow
from app.models.spans import TurnKey
from app.models.turns import TurnRow
from app.sessions.facts import EDITION, dump, load, recounted
from app.work.remover import SWEEP_S
from app.work.round_robin import RoundRobin

# Turns with their spans that are in memory at once.
TURNS_IN_MEMORY = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSumService:
    """Adds up sessions; `monotonic` returns seconds."""

    database: Database
    monotonic: Callable[[], float] = time.monotonic
    _turns: RoundRobin = field(default_factory=RoundRobin, init=False)

    def sweep(self) -> None:
        """Add up sessions until none are left or the time is used up."""
        until = self.monotonic() + SWEEP_S
        last: dict[int, int] = {}
        with self.database.read() as connection:
            owners = organizations.owners(connection)

        def add_up_next(project_id: int) -> bool:
            row = self._next(project_id, after_id=last.get(project_id, 0))
            if row is not None:
                self._add_up(row)
                last[project_id] = row.id
            return row is not None

        self._turns.serve(owners, add_up_next, is_over=lambda: self.monotonic() >= until)

    def _next(self, project_id: int, *, after_id: int) -> SessionRow | None:
        with self.database.read() as connection:
            rows = sessions.not_added_up(connection, project_id=project_id, after_id=after_id, limit=1)
        return rows[0] if rows else None

    def _add_up(self, row: SessionRow) -> None:
        project_id, key, database = row.project_id, row.session_key, self.database.background
        with database.read() as connection:
            listed = turns.turns_in_pieces(connection, project_id=project_id, session_keys=[key])
            outdated = [turn.key for piece in listed for turn in piece if _is_outdated(turn)]
        for piece in queries.pieces(outdated, TURNS_IN_MEMORY):
            database.retrying(partial(_complete, project_id=project_id, keys=piece))
        database.retrying(partial(sessions.add_up, project_id=project_id, session_key=key))


def _is_outdated(turn: TurnRow) -> bool:
    return load(turn.facts).edition < EDITION


def _complete(connection: Connection, *, project_id: int, keys: Sequence[TurnKey]) -> None:
    """Add the missing facts to turns, from their spans."""
    locked = turns.lock_existing(connection, project_id=project_id, keys=keys)
    outdated = [turn for turn in locked if _is_outdated(turn)]
    turns.replace(connection, [_completed(connection, turn) for turn in outdated])


def _completed(connection: Connection, turn: TurnRow) -> TurnRow:
    of_turn = spans.spans_of(
        connection, project_id=turn.project_id, prompt_id=turn.prompt_id, trace_ids=[turn.trace_id]
    )
    return replace(turn, facts=dump(recounted(load(turn.facts), of_turn)))
