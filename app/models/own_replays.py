"""A prompt's own replays: of its draft or a version, started directly. They show how its test cases do.

Replays of experiments and calibrations repeat test cases for another purpose. Overlays are not the prompt's content.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import ColumnElement, Connection, Text, func, or_, select, type_coerce

from app.models.base import no_index
from app.models.experiment_replays import made_for_experiment
from app.models.queries import columns_of, count_rows, list_rows
from app.models.replays import Outcome, ReplayRow, Status, get_replays, replays

_C = replays.c


def is_own() -> ColumnElement[bool]:
    """Return the condition that a replay is one of its prompt's own. An experiment may reuse it."""
    # SQLite counts no rows, and would go through the replays of all projects that have no calibration.
    of_no_calibration = no_index(_C.calibration_id).is_(None)
    return of_no_calibration & _C.candidate_kind.not_in(("overlay", "external")) & ~made_for_experiment(_C.id)


def newest_of_cases(connection: Connection, *, test_case_ids: Collection[int], replays_max: int) -> list[Outcome]:
    """Return the newest `replays_max` own replays of every test case without faults, by test case, oldest first."""
    nth = func.row_number().over(partition_by=_C.test_case_id, order_by=_C.id.desc()).label("nth")
    columns = columns_of(Outcome, replays)
    recorded = (_C.test_case_id.in_(sorted(test_case_ids)), _C.faults.is_(None), is_own())
    ranked = select(*columns, nth).where(*recorded).subquery()
    newest = select(*(ranked.c[column.name] for column in columns)).where(ranked.c.nth <= replays_max)
    return list_rows(connection, Outcome, newest.order_by(ranked.c.test_case_id, ranked.c.id))


def list_batch(connection: Connection, *, of: ReplayRow, limit: int) -> list[ReplayRow]:
    """List the replays that one request started together with `of`, including `of`: they share moment and content."""
    together = select(_C.id).where(*_together(of)).order_by(_C.id).limit(limit)
    return get_replays(connection, ids=list(connection.scalars(together)))


def count_batch(connection: Connection, *, of: ReplayRow) -> int:
    return count_rows(connection, select(_C.id).where(*_together(of)))


def newest_batch(connection: Connection, *, prompt_id: int, limit: int) -> list[Outcome]:
    """Return the outcomes of the prompt's newest own replay and of those started together with it, in their order."""
    newest = select(_C.id).where(_C.prompt_id == prompt_id, is_own()).order_by(_C.id.desc()).limit(1)
    newest_rows = get_replays(connection, ids=list(connection.scalars(newest)))
    if not newest_rows:
        return []
    outcomes = select(*columns_of(Outcome, replays)).where(*_together(newest_rows[0]))
    return list_rows(connection, Outcome, outcomes.order_by(_C.id).limit(limit))


def _together(of: ReplayRow) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions of a batch. An experiment starts its replays one by one, sometimes at the same moment."""
    moment = (_C.project_id == of.project_id, _C.created_at == of.created_at, _C.prompt_id == of.prompt_id)
    played = (_C.draft_snapshot_id == of.draft_snapshot_id, _C.calibration_id.is_not_distinct_from(of.calibration_id))
    return (*moment, *played, or_(_C.id == of.id, ~made_for_experiment(_C.id)))


def decided_before(
    connection: Connection, *, test_case_ids: Collection[int], replay_id: int
) -> dict[tuple[int, str | None], Status]:
    """Return the status of the last own replay before `replay_id` that passed or failed, by test case and faults."""
    faults = type_coerce(_C.faults, Text)
    earlier = (_C.id < replay_id) & _C.status.in_(("passed", "failed")) & is_own()
    of_cases = select(func.max(_C.id)).where(_C.test_case_id.in_(sorted(test_case_ids)), earlier)
    ids = list(connection.scalars(of_cases.group_by(_C.test_case_id, faults)))
    rows = connection.execute(select(_C.test_case_id, faults, _C.status).where(_C.id.in_(ids)))
    return {(row[0], row[1]): row[2] for row in rows}
