"""What goes on around prompts, in sums: their runs by day, their test cases, and whether a project has begun."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import Connection, Exists, exists, func, select

from app.models.cases import test_cases
from app.models.prompts import prompts
from app.models.replays import replays
from app.models.runs import runs
from app.models.sessions import sessions


@dataclass(frozen=True, slots=True)
class DayOfRuns:
    prompt_id: int
    day: date
    runs: int
    cost_usd: float


def runs_by_day(connection: Connection, *, prompt_ids: Collection[int], since: datetime) -> list[DayOfRuns]:
    """By UTC days; days without runs are left out."""
    c = runs.c
    day = func.date(c.created_at)
    statement = (
        select(c.prompt_id, day, func.count(), func.sum(c.cost_usd))
        .where(c.prompt_id.in_(sorted(prompt_ids)), c.created_at >= since)
        .group_by(c.prompt_id, day)
    )
    # SQLite has no dates: its function gives text.
    return [DayOfRuns(p, date.fromisoformat(str(on)), n, cost) for p, on, n, cost in connection.execute(statement)]


def count_test_cases(connection: Connection, *, prompt_ids: Collection[int]) -> dict[int, int]:
    """By prompt id; prompts without any are left out."""
    c = test_cases.c
    statement = select(c.prompt_id, func.count()).where(c.prompt_id.in_(sorted(prompt_ids))).group_by(c.prompt_id)
    return {row[0]: row[1] for row in connection.execute(statement)}


def count_passed_cases(connection: Connection, *, prompt_ids: Collection[int]) -> dict[int, int]:
    """How many test cases passed in the newest of their finished replays, by prompt id."""
    c = replays.c
    newest = (
        select(func.max(c.id))
        .where(c.prompt_id.in_(sorted(prompt_ids)), c.finished_at.is_not(None), c.status != "cancelled")
        .group_by(c.test_case_id)
    )
    alive = exists().where(test_cases.c.id == c.test_case_id)
    passed = select(c.prompt_id, func.count()).where(c.id.in_(newest), c.status == "passed", alive)
    return {row[0]: row[1] for row in connection.execute(passed.group_by(c.prompt_id))}


def has_runs(connection: Connection, *, project_id: int) -> bool:
    return _any(connection, exists().where(runs.c.project_id == project_id, runs.c.status == "done"))


def has_sessions(connection: Connection, *, project_id: int) -> bool:
    ours = select(prompts.c.id).where(prompts.c.project_id == project_id)
    return _any(connection, exists().where(sessions.c.prompt_id.in_(ours)))


def has_passed_replays(connection: Connection, *, project_id: int) -> bool:
    return _any(connection, exists().where(replays.c.project_id == project_id, replays.c.status == "passed"))


def _any(connection: Connection, found: Exists) -> bool:
    return bool(connection.scalar(select(found)))
