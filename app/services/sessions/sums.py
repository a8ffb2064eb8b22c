"""Adds up sessions that ingest did not add up: from earlier releases, and long ones that lost turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from sqlalchemy import Connection

from app.database.transactions import Database
from app.models import organizations, queries, sessions, spans, turns
from app.models.sessions import SessionRow
from app.models.spans import TurnKey
from app.models.turns import BlockVersion, TurnRow
from app.sessions.facts import EDITION, dump, load, recounted
from app.sessions.sums import SessionTotals
from app.work.remover import SWEEP_S
from app.work.round_robin import RoundRobin

# Turns with their spans that are in memory at once.
TURNS_IN_MEMORY = 10

ATTEMPTS = 3
CHANGED_MAX = 2_000
"""Turns of blocks that have changed which are read while the session is locked."""
LONG_TURNS, REST_FACTOR = 1_000, 20
"""A session of more turns is added up again after so many times the time that it needed."""


@dataclass(slots=True, kw_only=True)
class SessionSumService:
    """Adds up sessions; `monotonic` returns seconds.

    Turns are read before the transaction that writes their sums, which reads only the few that have changed since.
    """

    database: Database
    monotonic: Callable[[], float] = time.monotonic
    _round_robin: RoundRobin = field(default_factory=RoundRobin, init=False)
    _rests: dict[bytes, float] = field(default_factory=dict, init=False)

    def sweep(self) -> None:
        """Add up sessions until none are left or the time is used up."""
        now = self.monotonic()
        until = now + SWEEP_S
        self._rests = {key: rest for key, rest in self._rests.items() if rest > now}
        last: dict[int, int] = {}
        with self.database.read() as connection:
            owners = organizations.owners(connection)

        def add_up_next(project_id: int) -> bool:
            row = self._next(project_id, after_id=last.get(project_id, 0))
            if row is not None:
                if row.session_key not in self._rests:
                    self._add_up(row)
                last[project_id] = row.id
            return row is not None

        self._round_robin.serve(owners, add_up_next, is_over=lambda: self.monotonic() >= until)

    def _next(self, project_id: int, *, after_id: int) -> SessionRow | None:
        with self.database.read() as connection:
            rows = sessions.not_added_up(connection, project_id=project_id, after_id=after_id, limit=1)
        return rows[0] if rows else None

    def _add_up(self, row: SessionRow) -> None:
        """Add up a session; one that changes all the while is left to the next sweep."""
        project_id, key, database, begin = row.project_id, row.session_key, self.database.background, self.monotonic()
        blocks = TurnBlocks(project_id, key)
        with database.read() as connection:
            blocks.update(connection)
            outdated = blocks.outdated(connection)
        for piece in queries.pieces(outdated, TURNS_IN_MEMORY):
            database.retrying(partial(_complete, project_id=project_id, keys=piece))
        if outdated:
            blocks = TurnBlocks(project_id, key)
        for _ in range(ATTEMPTS):
            with database.read() as connection:
                stored = sessions.find_session(connection, project_id=project_id, session_key=key)
                blocks.update(connection)
            if stored is None or database.retrying(partial(_put, mark=stored.uncounted, blocks=blocks)):
                break
        if blocks.turns > LONG_TURNS:
            end = self.monotonic()
            self._rests[key] = end + REST_FACTOR * (end - begin)


@dataclass(slots=True)
class TurnBlocks:
    """The totals of a session's turns by block. Only blocks that have changed are read again."""

    project_id: int
    session_key: bytes
    versions: dict[int, BlockVersion] = field(default_factory=dict, init=False)
    _totals: dict[int, SessionTotals] = field(default_factory=dict, init=False)

    @property
    def turns(self) -> int:
        return sum(version.turns for version in self.versions.values())

    @property
    def totals(self) -> SessionTotals:
        """The totals of all blocks together, added up for each call."""
        totals = SessionTotals()
        for of_block in self._totals.values():
            totals.join(of_block)
        return totals

    def update(self, connection: Connection, most: int | None = None) -> bool:
        """Read the blocks that have changed; returns False, and reads none, if these have more than `most` turns."""
        of_session: dict[str, Any] = {"project_id": self.project_id, "session_key": self.session_key}
        versions = turns.block_versions(connection, **of_session)
        changed = {block for block, version in versions.items() if version != self.versions.get(block)}
        if most is not None and sum(versions[block].turns for block in changed) > most:
            return False
        # A change that comes after the versions were read is found by the next update.
        self.versions = versions
        self._totals = {block: totals for block, totals in self._totals.items() if block in versions.keys() - changed}
        for block, piece in turns.turns_in_blocks(connection, **of_session, blocks=changed):
            totals = self._totals.setdefault(block, SessionTotals())
            for turn in piece:
                totals.add(load(turn.facts))
            totals.join_names()
        return True

    def outdated(self, connection: Connection) -> list[TurnKey]:
        """Return the turns with facts of an earlier release."""
        blocks = {block for block, totals in self._totals.items() if totals.sums.errors is None}
        listed = turns.turns_in_blocks(
            connection, project_id=self.project_id, session_key=self.session_key, blocks=blocks
        )
        return [turn.key for _, piece in listed for turn in piece if _is_outdated(turn)]


def _put(connection: Connection, *, mark: int | None, blocks: TurnBlocks) -> bool:
    """Write the sums to the session; returns False if too many turns have changed since they were read.

    The row is locked before turns are read: a transaction that changes a turn writes the row after that.
    """
    row = sessions.lock_session(connection, project_id=blocks.project_id, session_key=blocks.session_key)
    if row is None:
        return True
    if row.uncounted != mark and not blocks.update(connection, most=CHANGED_MAX):
        return False
    if blocks.turns:
        sessions.put_totals(connection, row, blocks.totals)
    return True


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
