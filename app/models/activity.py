"""Sums of what happens around prompts and versions: runs, costs, passed test cases, and a project's first steps."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import Connection, case, exists, func, or_, select

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
    """Sum up the runs of prompts by UTC day, without the days that have none."""
    c = runs.c
    day = func.date(c.created_at)
    statement = (
        select(c.prompt_id, day, func.count(), func.sum(c.cost_usd))
        .where(c.prompt_id.in_(sorted(prompt_ids)), c.created_at >= since)
        .group_by(c.prompt_id, day)
    )
    # SQLite has no dates: its function returns text.
    return [DayOfRuns(p, date.fromisoformat(str(on)), n, cost) for p, on, n, cost in connection.execute(statement)]


def count_passed_cases(connection: Connection, *, prompt_ids: Collection[int]) -> dict[int, int]:
    """Return {prompt id: the number of test cases that passed in the newest of their finished replays}."""
    c = replays.c
    newest = (
        select(func.max(c.id))
        .where(c.prompt_id.in_(sorted(prompt_ids)), c.finished_at.is_not(None), c.status != "cancelled")
        .group_by(c.test_case_id)
    )
    alive = exists().where(test_cases.c.id == c.test_case_id)
    passed = select(c.prompt_id, func.count()).where(c.id.in_(newest), c.status == "passed", alive)
    return {row[0]: row[1] for row in connection.execute(passed.group_by(c.prompt_id))}


def first_steps(connection: Connection, *, project_id: int) -> tuple[bool, bool, bool]:
    """Tell if a project has a finished run, a session, and a passed replay."""
    own = select(prompts.c.id).where(prompts.c.project_id == project_id)
    has_run = exists().where(runs.c.project_id == project_id, runs.c.status == "done")
    has_session = exists().where(sessions.c.prompt_id.in_(own))
    has_passed = exists().where(replays.c.project_id == project_id, replays.c.status == "passed")
    row = connection.execute(select(has_run, has_session, has_passed)).one()
    return bool(row[0]), bool(row[1]), bool(row[2])


@dataclass(frozen=True, slots=True)
class VersionActivity:
    """Finished runs of one version, or of the draft (None); `failed` is the number of those without a usable answer.

    `average_ms` is the average time of the model calls, None without any; `cost_usd` is the sum.
    """

    commit_hash: str | None
    runs: int
    failed: int
    cost_usd: float
    average_ms: float | None


def activity_by_version(connection: Connection, *, prompt_id: int, since: datetime) -> list[VersionActivity]:
    """Sum up the runs that were created at `since` or later, by version."""
    c = runs.c
    unusable = or_(c.status == "failed", c.nok.is_not(None))
    statement = (
        select(
            c.commit_hash,
            func.count(),
            func.sum(case((unusable, 1), else_=0)),
            func.sum(c.cost_usd),
            func.avg(c.response_time_ms),
        )
        .where(c.prompt_id == prompt_id, c.created_at >= since, c.status.in_(("done", "failed")))
        .group_by(c.commit_hash)
    )
    return [
        VersionActivity(commit_hash, int(count), int(failed), float(cost), None if average is None else float(average))
        for commit_hash, count, failed, cost, average in connection.execute(statement)
    ]
