"""Usage and activity: sums of runs, costs and passed test cases of projects, prompts and versions.

The usage of runs is summed by day as they end, in the transaction that ends them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from operator import add, attrgetter
from typing import Annotated, Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Date,
    Double,
    Integer,
    Select,
    UniqueConstraint,
    Update,
    bindparam,
    case,
    exists,
    func,
    or_,
    select,
)

from app.models.base import BigInt, exact, new_table
from app.models.bulk import upsert
from app.models.cases import test_cases
from app.models.language_models import language_models
from app.models.own_replays import is_own
from app.models.prompt_versions import draft_snapshots
from app.models.prompts import prompts
from app.models.replays import replays
from app.models.runs import runs
from app.models.sessions import sessions

# The number of rows over which processes spread runs that end at the same moment, so that none waits for another's
# commit.
SLOTS = 8


@dataclass(frozen=True, slots=True, order=True)
class UsageKey:
    """The key by which runs are summed. 0 and the empty text mean none; `day` is an ISO date of UTC."""

    project_id: int
    day: str
    prompt_id: int
    commit_hash: str
    language_model_id: int
    api_key_id: int
    source: str


@dataclass(frozen=True, slots=True)
class Spent:
    """Totals. Cache and reasoning tokens are already included in prompt and completion tokens."""

    runs: Annotated[int, Integer] = 1
    failed: Annotated[int, Integer] = 0
    prompt_tokens: Annotated[int, BigInt] = 0
    completion_tokens: Annotated[int, BigInt] = 0
    cache_read_tokens: Annotated[int, BigInt] = 0
    cache_write_tokens: Annotated[int, BigInt] = 0
    reasoning_tokens: Annotated[int, BigInt] = 0
    cost_usd: Annotated[float, Double] = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(*map(add, _SUMS_OF(self), _SUMS_OF(other)))


_KEY = (*UsageKey.__dataclass_fields__, "slot")

SUMS = tuple(Spent.__dataclass_fields__)
_KEY_OF, _SUMS_OF = attrgetter(*UsageKey.__dataclass_fields__), attrgetter(*SUMS)

# No foreign keys: usage outlives the things that it belongs to. No NULLs: they would escape the unique key.
usage_daily = new_table(
    "usage_daily",
    Column("project_id", BigInt, nullable=False),
    Column("day", Date, nullable=False),
    Column("prompt_id", BigInt, nullable=False),
    Column("commit_hash", exact(64), nullable=False),
    Column("language_model_id", BigInt, nullable=False),
    Column("api_key_id", BigInt, nullable=False),
    Column("source", exact(8), nullable=False),
    Column("slot", Integer, nullable=False),
    Spent,
    UniqueConstraint(*_KEY, name="uq_usage_daily"),
)


@dataclass(frozen=True, slots=True)
class UsageFilter:
    """Days of UTC, both included."""

    since: date
    until: date
    prompt_id: int | None = None


# By the names of the API's groupBy. A model is identified by its id, vendor and name.
GROUPS: dict[str, tuple[ColumnElement[Any], ...]] = {
    "day": (usage_daily.c.day,),
    "prompt": (usage_daily.c.prompt_id,),
    "version": (usage_daily.c.prompt_id, usage_daily.c.commit_hash),
    "model": (usage_daily.c.language_model_id, language_models.c.vendor, language_models.c.name),
    "key": (usage_daily.c.api_key_id,),
    "source": (usage_daily.c.source,),
}
_GROUPS_OF_REPLAYS: dict[str, tuple[ColumnElement[Any], ...]] = {
    "day": (func.date(replays.c.created_at).label("day"),),
    "prompt": (replays.c.prompt_id,),
    "version": (replays.c.prompt_id,),
    "model": (draft_snapshots.c.language_model_id, language_models.c.vendor, language_models.c.name),
}


def count_runs(connection: Connection, ended: Iterable[tuple[UsageKey, Spent]], *, slot: int) -> None:
    """Add ended runs to their days. Call it last in a transaction, because others wait for these rows.

    Rows are changed in the order of their keys, so that two transactions can't wait for each other.
    """
    sums: dict[UsageKey, Spent] = {}
    for key, spent in ended:
        sums[key] = sums[key] + spent if key in sums else spent
    rows = [(*_KEY_OF(key), slot, *_SUMS_OF(sums[key])) for key in sorted(sums)]
    upsert(connection, usage_daily.name, [*_KEY, *SUMS], rows, key=_KEY, update=dict.fromkeys(SUMS, "plus"))


def runs_of_day(connection: Connection, *, project_id: int, day: date, source: str) -> int:
    """Return how many runs of a source a project has had on a day of UTC."""
    c = usage_daily.c
    of_day = select(func.sum(c.runs)).where(c.project_id == project_id, c.day == day, c.source == source)
    return int(connection.scalar(of_day) or 0)


def counting(end: Update) -> Update:
    """Return an UPDATE that ends a run and adds it to its day's usage; it does neither if the day has no row.

    Only for MySQL. `counted` returns its additional parameters to those of `end`.
    """
    of_day = (usage_daily.c[name] == bindparam(f"of_{name}") for name in _KEY)
    sums = {usage_daily.c[name]: usage_daily.c[name] + bindparam(f"more_{name}") for name in SUMS}
    same_project = runs.c.project_id == bindparam("of_project_id"), usage_daily.c.project_id == runs.c.project_id
    return end.where(*same_project, *of_day).values(sums)


def counted(key: UsageKey, spent: Spent, *, slot: int) -> dict[str, Any]:
    """Return the parameters of `counting` for a run that has ended."""
    of_day = zip(_KEY, (*_KEY_OF(key), slot), strict=True)
    sums = zip(SUMS, _SUMS_OF(spent), strict=True)
    return {f"of_{name}": value for name, value in of_day} | {f"more_{name}": value for name, value in sums}


def sum_usage(
    connection: Connection, *, project_id: int, filters: UsageFilter, group_by: Collection[str], limit: int
) -> list[dict[str, Any]]:
    """Return the sums of each group, in its order, by the names of columns; groups without runs are left out."""
    columns = list(dict.fromkeys(column for group in group_by for column in GROUPS[group]))
    c = usage_daily.c
    statement = (
        select(*columns, *(func.sum(c[name]).label(name) for name in SUMS))
        .select_from(usage_daily.outerjoin(language_models, language_models.c.id == c.language_model_id))
        .where(c.project_id == project_id, c.day.between(filters.since, filters.until))
        .group_by(*columns)
        .order_by(*columns)
        .limit(limit)
    )
    return _sums(connection, statement, c.prompt_id, filters)


def sum_replays(
    connection: Connection, *, project_id: int, filters: UsageFilter, group_by: Collection[str], limit: int
) -> list[dict[str, Any]]:
    """Return the sums of replays like `sum_usage`, without the columns that replays do not have.

    A replay counts on the day (UTC) it was started. Replays are few compared to runs, and change until their last
    worker has recorded its usage. Therefore they are summed when they are read.
    """
    c = replays.c
    columns = list(dict.fromkeys(column for group in group_by for column in _GROUPS_OF_REPLAYS.get(group, ())))
    sums = {name: func.sum(c[name]) for name in SUMS if name in c} | {
        "runs": func.count(),
        "failed": func.sum(case((c.status == "error", 1), else_=0)),
        "cost_usd": func.sum(c.prompt_cost_usd + c.completion_cost_usd),
    }
    since, until = (datetime.combine(day, time(), UTC) for day in (filters.since, filters.until + timedelta(days=1)))
    statement = (
        select(*columns, *(column.label(name) for name, column in sums.items()))
        .join(draft_snapshots, draft_snapshots.c.id == c.draft_snapshot_id)
        .join(language_models, language_models.c.id == draft_snapshots.c.language_model_id)
        .where(c.project_id == project_id, c.created_at >= since, c.created_at < until)
        .group_by(c.project_id, *columns)
        .limit(limit)
    )
    return _sums(connection, statement, c.prompt_id, filters)


def _sums(
    connection: Connection, statement: Select[Any], prompt_id: ColumnElement[int], filters: UsageFilter
) -> list[dict[str, Any]]:
    if filters.prompt_id is not None:
        statement = statement.where(prompt_id == filters.prompt_id)
    return [dict(row) for row in connection.execute(statement).mappings()]


@dataclass(frozen=True, slots=True)
class DayOfRuns:
    """The number and the cost of the runs of a prompt on a day (UTC)."""

    prompt_id: int
    day: date
    runs: int
    cost_usd: float


def runs_by_day(connection: Connection, *, prompt_ids: Collection[int], since: datetime) -> list[DayOfRuns]:
    """Sum up the runs of prompts by UTC day; days without runs are left out."""
    c = runs.c
    day = func.date(c.created_at)
    statement = (
        select(c.prompt_id, day, func.count(), func.sum(c.cost_usd))
        .where(c.prompt_id.in_(sorted(prompt_ids)), c.created_at >= since)
        .group_by(c.prompt_id, day)
    )
    # SQLite has no dates: its function returns text.
    return [DayOfRuns(p, date.fromisoformat(str(on)), n, cost) for p, on, n, cost in connection.execute(statement)]


def count_replayed_cases(connection: Connection, *, prompt_ids: Collection[int]) -> dict[int, tuple[int, int]]:
    """Return, by prompt, the number of replayed test cases, and how many of them passed their newest own replay.

    Cancelled and unfinished replays do not count.
    """
    c = replays.c
    finished = c.finished_at.is_not(None) & (c.status != "cancelled")
    newest = (
        select(func.max(c.id)).where(c.prompt_id.in_(sorted(prompt_ids)), finished, is_own()).group_by(c.test_case_id)
    )
    alive = exists().where(test_cases.c.id == c.test_case_id)
    passed = func.sum(case((c.status == "passed", 1), else_=0))
    counted = select(c.prompt_id, func.count(), passed).where(c.id.in_(newest), alive).group_by(c.prompt_id)
    return {prompt_id: (replayed, int(good)) for prompt_id, replayed, good in connection.execute(counted)}


def first_steps(connection: Connection, *, project_id: int, demo: str) -> tuple[bool, bool, bool]:
    """Return whether a project has a finished run, a session (not the conversation `demo`), and a passed replay."""
    of_project = select(prompts.c.id).where(prompts.c.project_id == project_id)
    has_run = exists().where(runs.c.project_id == project_id, runs.c.status == "done")
    conversation = sessions.c.conversation_id
    has_session = exists().where(
        sessions.c.prompt_id.in_(of_project), or_(conversation.is_(None), conversation != demo)
    )
    has_passed = exists().where(replays.c.project_id == project_id, replays.c.status == "passed")
    row = connection.execute(select(has_run, has_session, has_passed)).one()
    return bool(row[0]), bool(row[1]), bool(row[2])


@dataclass(frozen=True, slots=True)
class VersionActivity:
    """Finished runs of one version, or of the draft (None); `failed` is the number of runs without a usable answer.

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
