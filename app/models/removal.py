"""Removing what was stored, a bounded piece at a time: each function removes at most `limit` rows by their ids.

Rows are found by an index first and deleted by id after, so that a statement locks just what it removes.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import attrgetter

from sqlalchemy import ColumnElement, Connection, Select, Table, delete, select

from app.models.base import metadata
from app.models.bulk import pieces
from app.models.idempotency_keys import idempotency_keys
from app.models.rejected_spans import rejected_spans
from app.models.replays import UNFINISHED as UNFINISHED_REPLAYS
from app.models.replays import replays
from app.models.run_file_chunks import run_file_chunks
from app.models.runs import UNFINISHED as UNFINISHED_RUNS
from app.models.runs import runs
from app.models.sessions import settle
from app.models.spans import spans
from app.models.turns import turns

TURNS_AT_ONCE = 100
BATCH_ID_RANDOM_BITS = 21


@dataclass(frozen=True, slots=True)
class TurnScope:
    """Which turns are to go: of a project, those whose last span was received before `before`; or a prompt's; or a
    session's."""

    project_id: int
    prompt_id: int | None = None
    session_key: bytes | None = None
    before: datetime | None = None

    def condition(self) -> ColumnElement[bool]:
        c = turns.c
        found = c.project_id == self.project_id
        if self.prompt_id is not None:
            found &= c.prompt_id == self.prompt_id
        if self.session_key is not None:
            found &= c.session_key == self.session_key
        if self.before is not None:
            found &= c.batch_id < int(self.before.timestamp() * 1000) << BATCH_ID_RANDOM_BITS
        return found


def remove_turns(connection: Connection, scope: TurnScope, *, limit: int) -> int:
    """Remove spans of some turns, and the turns whose last span that was; their sessions shrink or go.

    The turns are locked before their spans are looked at, as ingest writes spans before it looks at turns: of two at
    the same turn one waits or is tried again.
    """
    c = turns.c
    picked = _ids(connection, select(c.id).where(scope.condition()).limit(TURNS_AT_ONCE))
    locked = select(c.id, c.project_id, c.prompt_id, c.trace_id, c.session_key)
    # Asked again under the lock: a span may have come meanwhile.
    found = connection.execute(locked.where(c.id.in_(picked), scope.condition()).order_by(c.id).with_for_update()).all()
    left, emptied = limit, []
    # By prompt: a trace may belong to another one, too, whose turn stays.
    for prompt_id, group in groupby(sorted(found, key=attrgetter("prompt_id", "id")), key=attrgetter("prompt_id")):
        rows = list(group)
        of_turns = select(spans.c.id).where(
            spans.c.project_id == scope.project_id,
            spans.c.trace_id.in_([row.trace_id for row in rows]),
            spans.c.prompt_id == prompt_id,
        )
        left -= _delete(connection, spans, _ids(connection, of_turns.limit(left)))
        if left <= 0:
            break
        emptied += rows
    _delete(connection, turns, [row.id for row in emptied])
    settle(connection, session_keys={row.session_key for row in emptied})
    return limit - left + len(emptied)


def remove_old_turns(connection: Connection, *, project_id: int, before: datetime, limit: int) -> int:
    """Those that nothing was added to since `before`, with their spans."""
    return remove_turns(connection, TurnScope(project_id, before=before), limit=limit)


def remove_old_runs(connection: Connection, *, project_id: int, before: datetime, limit: int) -> int:
    """Finished ones that were asked for before `before`."""
    c = runs.c
    old = select(c.id).where(c.project_id == project_id, c.created_at < before, c.status.not_in(UNFINISHED_RUNS))
    return _remove_runs(connection, _ids(connection, old.limit(limit)))


def remove_runs_of(connection: Connection, *, prompt_id: int, limit: int) -> int:
    """Unfinished ones, too: their workers find nothing to finish."""
    return _remove_runs(
        connection, _ids(connection, select(runs.c.id).where(runs.c.prompt_id == prompt_id).limit(limit))
    )


def _remove_runs(connection: Connection, ids: list[int]) -> int:
    for table in (run_file_chunks, idempotency_keys):
        if ids:
            connection.execute(delete(table).where(table.c.run_id.in_(ids)))
    return _delete(connection, runs, ids)


def remove_old_replays(connection: Connection, *, project_id: int, before: datetime, limit: int) -> int:
    """Finished ones that were asked for before `before`."""
    c = replays.c
    old = select(c.id).where(c.project_id == project_id, c.created_at < before, c.status.not_in(UNFINISHED_REPLAYS))
    return _delete(connection, replays, _ids(connection, old.limit(limit)))


def remove_old_rejected(connection: Connection, *, project_id: int, before: datetime, limit: int) -> int:
    c = rejected_spans.c
    old = select(c.id).where(c.project_id == project_id, c.received_at < before)
    return _delete(connection, rejected_spans, _ids(connection, old.limit(limit)))


def remove_rejected_of(connection: Connection, *, project_id: int, prompt_id: int | None, limit: int) -> int:
    """Those that named the prompt, or all of the project."""
    c = rejected_spans.c
    found = select(c.id).where(c.project_id == project_id)
    if prompt_id is not None:
        found = found.where(c.prompt_id == prompt_id)
    return _delete(connection, rejected_spans, _ids(connection, found.limit(limit)))


def remove_of_prompt(connection: Connection, table: str, *, prompt_id: int, limit: int) -> int:
    """Rows of `table`, which has a column `prompt_id` and nothing that refers to it."""
    c = metadata.tables[table].c
    found = select(c.id).where(c.prompt_id == prompt_id).limit(limit)
    return _delete(connection, metadata.tables[table], _ids(connection, found))


def remove_keys_of(connection: Connection, *, project_id: int, limit: int) -> int:
    """The project's API keys; their idempotency keys go with their runs, before."""
    c = metadata.tables["api_keys"].c
    found = select(c.id).where(c.project_id == project_id).limit(limit)
    ids = _ids(connection, found)
    if ids:
        connection.execute(delete(idempotency_keys).where(idempotency_keys.c.api_key_id.in_(ids)))
    return _delete(connection, metadata.tables["api_keys"], ids)


def _ids(connection: Connection, statement: Select[tuple[int]]) -> list[int]:
    return sorted(connection.scalars(statement))


def _delete(connection: Connection, table: Table, ids: Collection[int]) -> int:
    listed, count = list(ids), 0
    for some in pieces(listed):
        count += connection.execute(delete(table).where(table.c.id.in_(some))).rowcount
    return count
