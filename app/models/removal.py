"""Removal of stored rows: each `remove_…` removes at most `limit` rows and returns how many it removed.

Rows are found by an index first and then deleted by id, so that a statement locks only the rows that it deletes. Erased
prompts and projects keep rows without content, so that runs and batches in progress find them erased.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    ScalarSelect,
    Select,
    Table,
    and_,
    delete,
    exists,
    func,
    select,
    update,
)

from app.models import search, span_packing
from app.models.base import metadata, no_index
from app.models.experiment_replays import experiment_replays, in_unfinished_experiment
from app.models.experiments import experiments
from app.models.idempotency_keys import idempotency_keys
from app.models.organizations import projects
from app.models.prompt_versions import is_unchanged
from app.models.prompts import prompts
from app.models.queries import changes_row, count_rows, first_batch_id, list_rows, pieces
from app.models.replays import replays
from app.models.runs import UNFINISHED, run_file_chunks
from app.models.scores import remove_of_turns, scores
from app.models.sessions import settle
from app.models.spans import IS_HOLDER, spans
from app.models.turns import turns
from app.models.waiting import TABLES as WITH_SPANS

TURNS_PER_REMOVAL = 100


@dataclass(frozen=True, slots=True)
class TurnScope:
    """A project's turns to remove: of a prompt, of a session, or with their last span received before `before`.

    `last`, of `present_turns`, leaves out later turns, so that the removal of a session ends while it goes on.
    """

    project_id: int
    prompt_id: int | None = None
    session_key: bytes | None = None
    before: datetime | None = None
    last: tuple[int, int] | None = None

    def condition(self, *, of_ids: bool = False) -> ColumnElement[bool]:
        """Return the condition; with `of_ids` the statement finds its rows by their ids."""
        c = turns.c
        has_key = self.prompt_id is not None or self.session_key is not None
        condition = (no_index(c.project_id) if has_key or of_ids else c.project_id) == self.project_id
        if self.prompt_id is not None:
            condition &= (no_index(c.prompt_id) if of_ids else c.prompt_id) == self.prompt_id
        if self.session_key is not None:
            condition &= (no_index(c.session_key) if of_ids else c.session_key) == self.session_key
        if self.before is not None:
            condition &= c.batch_id < first_batch_id(self.before)
        if self.last is not None:
            # SQLite gives the id of a removed turn again. The turn that gets it starts later.
            last_id, last_start_ns = self.last
            condition &= (c.id <= last_id) & (c.start_ns <= last_start_ns)
        return condition


def present_turns(connection: Connection, scope: TurnScope) -> TurnScope:
    """Return the scope without the turns that will be stored from now on."""
    newest = select(func.coalesce(func.max(turns.c.id), 0), func.coalesce(func.max(turns.c.start_ns), 0))
    last_id, last_start_ns = connection.execute(newest.where(scope.condition())).one()
    return replace(scope, last=(last_id, last_start_ns))


def remove_turns(connection: Connection, scope: TurnScope, *, limit: int) -> int:
    """Remove spans of some turns, turns without remaining spans, and sessions without remaining turns.

    The turns are locked before their spans are read, because ingest writes spans before it reads turns: of two
    transactions at one turn, one waits or is retried.
    """
    c = turns.c
    picked = _ids(connection, select(c.id).where(scope.condition()).limit(TURNS_PER_REMOVAL))
    locked = select(c.id, c.project_id, c.prompt_id, c.trace_id, c.session_key)
    # The condition is checked again under the lock: a span may have been added meanwhile. By the index of sessions,
    # SQLite would read all turns of the session for it.
    turn_rows = connection.execute(
        locked.where(c.id.in_(picked), scope.condition(of_ids=True)).order_by(c.id).with_for_update()
    ).all()
    left, emptied = limit, []
    # Grouped by prompt: a trace may have a turn of another prompt too, which stays.
    for prompt_id, group in groupby(sorted(turn_rows, key=attrgetter("prompt_id", "id")), key=attrgetter("prompt_id")):
        rows = list(group)
        of_turns = select(spans.c.id).where(
            spans.c.project_id == scope.project_id,
            spans.c.trace_id.in_([row.trace_id for row in rows]),
            spans.c.prompt_id == prompt_id,
        )
        picked_spans = _pick(connection, of_turns, left)
        _delete_what_names(connection, scope.project_id, picked_spans)
        block_ids = span_packing.blocks_of_rows(connection, project_id=scope.project_id, ids=picked_spans)
        left -= _delete(connection, spans, picked_spans, scope.project_id)
        span_packing.settle_blocks(connection, project_id=scope.project_id, block_ids=block_ids)
        if left <= 0:
            break
        emptied += rows
    remove_of_turns(connection, project_id=scope.project_id, trace_ids=[row.trace_id for row in emptied])
    # Update the words of the removed turns and of the turns that lose spans.
    search.note_turns(connection, project_id=scope.project_id, turn_ids=[row.id for row in turn_rows])
    _delete(connection, turns, [row.id for row in emptied], scope.project_id)
    keys = {row.session_key for row in emptied}
    settle(connection, project_id=scope.project_id, session_keys=keys, loses_all=scope.before is None)
    return limit - left + len(emptied)


def _pick(connection: Connection, of_turns: Select[tuple[int]], limit: int) -> list[int]:
    """Return ids of spans of turns. Holders of other bodies come last, so that the remaining bodies can be read.

    The spans are locked: `reprise compress` could otherwise move bodies into a row that was picked.
    """
    others, holders = (of_turns.where(condition).with_for_update() for condition in (~IS_HOLDER, IS_HOLDER))
    picked = _ids(connection, others.limit(limit))
    return picked if len(picked) == limit else picked + _ids(connection, holders.limit(limit - len(picked)))


def _delete_what_names(connection: Connection, project_id: int, span_ids: Sequence[int]) -> None:
    """Delete the log records and scores of spans; `span_ids` are ids of rows."""
    s = spans.c
    for piece in pieces(span_ids):
        named = and_(no_index(s.project_id) == project_id, s.id.in_(piece))
        trace_ids = list(connection.scalars(select(s.trace_id).where(named).distinct()))
        for table in WITH_SPANS:
            c = table.c
            of_span = exists().where(named, s.trace_id == c.trace_id, s.span_id == c.span_id)
            of_spans = select(c.id).where(c.project_id == project_id, c.trace_id.in_(trace_ids), of_span)
            _delete(connection, table, _ids(connection, of_spans), project_id)


# The columns that refer to rows of a table. The rows that have them are removed with the rows they refer to.
_REFERRING = {
    "runs": (run_file_chunks.c.run_id, idempotency_keys.c.run_id, scores.c.run_id),
    "api_keys": (idempotency_keys.c.api_key_id,),
    "experiments": (experiment_replays.c.experiment_id,),
}


def remove_old(connection: Connection, table: str, *, project_id: int, before: datetime, limit: int) -> int:
    """Remove runs, replays, calibrations and experiments requested before `before`, or spans rejected before it.

    What was decided about a finding counts from its last change.

    Unfinished rows stay, and so do all rows of an unfinished experiment.
    """
    return _remove(connection, table, project_id, *_old(table, project_id=project_id, before=before), limit=limit)


def count_old(connection: Connection, table: str, *, project_id: int, before: datetime, limit: int) -> int:
    """Count what `remove_old` would remove, or the turns that `remove_turns` would, up to `limit`."""
    turn_scope = TurnScope(project_id, before=before)
    conditions = [turn_scope.condition()] if table == "turns" else _old(table, project_id=project_id, before=before)
    return count_rows(connection, select(metadata.tables[table].c.id).where(*conditions).limit(limit))


def _old(table: str, *, project_id: int, before: datetime) -> list[ColumnElement[bool]]:
    c = metadata.tables[table].c
    time = next(c[name] for name in ("received_at", "changed_at", "created_at") if name in c)
    conditions = [c.project_id == project_id, time < before]
    if "status" in c:
        conditions.append(c.status.not_in(UNFINISHED))
    if table == "replays":
        conditions.append(~in_unfinished_experiment(c.id))
    if table == "calibrations":
        played = replays.c
        of_calibration = (no_index(played.project_id) == project_id, played.calibration_id == c.id)
        conditions.append(~exists().where(*of_calibration, played.status.in_(UNFINISHED)))
    return conditions


# The columns that refer to snapshots. An unfinished experiment refers to further snapshots of its prompt.
_USING: dict[str, tuple[Column[Any], ...]] = {
    "case_snapshots": (replays.c.case_snapshot_id,),
    "draft_snapshots": (
        replays.c.draft_snapshot_id,
        experiments.c.candidate_snapshot_id,
        experiments.c.baseline_snapshot_id,
    ),
}


def remove_unused_snapshots(connection: Connection, table: str, *, project_id: int, limit: int) -> int:
    """Remove a project's snapshots, of test cases or of candidates, that no replay, experiment or change needs."""
    rows = metadata.tables[table]
    c = rows.c
    of_project = select(prompts.c.id).where(prompts.c.project_id == project_id)
    in_work = exists().where(experiments.c.prompt_id == c.prompt_id, experiments.c.status.in_(UNFINISHED))
    unused = and_(~in_work, *(_first_using(column, rows).is_(None) for column in _USING[table]))
    if table == "draft_snapshots":
        unused = and_(unused, is_unchanged(rows))
    unused_ids = _ids(connection, select(c.id).where(c.prompt_id.in_(of_project), unused).limit(limit))
    if not unused_ids:
        return 0
    # The start of a replay locks its snapshots until the replay is stored: what is unused under this lock stays unused.
    locked = _ids(connection, select(c.id).where(c.id.in_(unused_ids)).order_by(c.id).with_for_update())
    return _delete(connection, rows, _ids(connection, select(c.id).where(c.id.in_(locked), unused)), project_id)


def _first_using(column: Column[Any], snapshots: Table) -> ScalarSelect[int]:
    """Return the query for a row that refers to a snapshot. Its limit keeps MariaDB from reading all rows."""
    c = column.table.c
    statement = select(c.id).where(column == snapshots.c.id, no_index(c.prompt_id) == snapshots.c.prompt_id)
    return statement.limit(1).scalar_subquery()


WITHOUT_INDEX_OF_PROMPTS = frozenset({"insight_daily", "rejected_spans"})
"""Tables in which the rows of a prompt are found by the project's index."""


def remove_of(connection: Connection, table: str, *, limit: int, project_id: int, prompt_id: int | None = None) -> int:
    """Remove rows of a project or of one of its prompts. Workers of unfinished runs then find no row to finish."""
    rows = metadata.tables[table]
    if prompt_id is None:
        conditions = [rows.c.project_id == project_id]
    elif table in WITHOUT_INDEX_OF_PROMPTS:
        conditions = [rows.c.project_id == project_id, rows.c.prompt_id == prompt_id]
    else:
        conditions = [*_of_project(rows, project_id), rows.c.prompt_id == prompt_id]
    return _remove(connection, table, project_id, *conditions, limit=limit)


def _of_project(table: Table, project_id: int) -> list[ColumnElement[bool]]:
    """Return a condition on the project if the table has its column; no index is chosen by it."""
    return [no_index(table.c.project_id) == project_id] if "project_id" in table.c else []


def _remove(connection: Connection, table: str, project_id: int, *conditions: ColumnElement[bool], limit: int) -> int:
    rows = metadata.tables[table]
    ids = _ids(connection, select(rows.c.id).where(*conditions).limit(limit))
    for column in _REFERRING.get(table, ()) if ids else ():
        connection.execute(delete(column.table).where(*_of_project(column.table, project_id), column.in_(ids)))
    return _delete(connection, rows, ids, project_id)


def _ids(connection: Connection, statement: Select[tuple[int]]) -> list[int]:
    return sorted(connection.scalars(statement))


def _delete(connection: Connection, table: Table, ids: Sequence[int], project_id: int) -> int:
    of_project = delete(table).where(*_of_project(table, project_id))
    return sum(connection.execute(of_project.where(table.c.id.in_(piece))).rowcount for piece in pieces(ids))


def mark_prompt(connection: Connection, *, project_id: int, prompt_id: int, now: datetime) -> bool:
    """Empty and hide the prompt, archived or not; False if there is none."""
    c = prompts.c
    statement = update(prompts).where(c.id == prompt_id, c.project_id == project_id, c.erased_at.is_(None))
    empty = {"name": "", "value": "", "assertion_value": "", "config": {}, "placeholders": [], "labels": {}}
    gone = {"newest_version_id": None, "committed": False, "changed_by": None}
    times = {"archived_at": now, "erased_at": now, "updated_at": now}
    return changes_row(connection, statement.values(revision=c.revision + 1, **empty, **gone, **times))


def mark_project(connection: Connection, *, project_id: int, now: datetime) -> list[int]:
    """Hide the project and empty its prompts; returns their ids, none if there is no such project."""
    statement = update(projects).where(projects.c.id == project_id, projects.c.erased_at.is_(None))
    if not changes_row(connection, statement.values(name="", erased_at=now)):
        return []
    ids = list(connection.scalars(select(prompts.c.id).where(prompts.c.project_id == project_id)))
    for prompt_id in ids:
        mark_prompt(connection, project_id=project_id, prompt_id=prompt_id, now=now)
    return ids


@dataclass(frozen=True, slots=True)
class Erased:
    """An erased prompt or project."""

    id: int
    project_id: int
    organization_id: int
    erased_at: datetime


def erased_prompts(connection: Connection, *, since: datetime) -> list[Erased]:
    """List the prompts that were erased since then."""
    c = prompts.c
    owned = select(c.id, c.project_id, projects.c.organization_id, c.erased_at).join(
        projects, projects.c.id == c.project_id
    )
    return list_rows(connection, Erased, owned.where(c.erased_at >= since))


def erased_projects(connection: Connection, *, since: datetime) -> list[Erased]:
    """List the projects that were erased since then."""
    c = projects.c
    owned = select(c.id, c.id, c.organization_id, c.erased_at).where(c.erased_at >= since)
    return list_rows(connection, Erased, owned)
