"""Schedules of experiments, and their runs: one for each due time that was served. A watch has a reference, too."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

import msgspec
from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Double,
    ForeignKey,
    Index,
    Integer,
    UniqueConstraint,
    func,
    select,
    update,
)

from app.experiments.behaviour_watch import WatchedBehaviour
from app.experiments.cron import CRON_MAX, ZONE_MAX
from app.experiments.drift import Counts, DriftState, Watched
from app.experiments.types import Verdict
from app.models import queries
from app.models.base import BigInt, JsonStruct, MediumText, Timestamp, exact, lock_count, new_table, no_index
from app.models.experiments import experiments
from app.models.organizations import projects
from app.models.replays import UNFINISHED
from app.models.suites import SUITE_NAME_MAX

ScheduleKind = Literal["experiment", "watch", "suite-coverage"]


class WatchedCase(msgspec.Struct, frozen=True):
    """A test case, or a variant of one, that is watched. Another snapshot of it begins another reference."""

    test_case_id: int
    variant: int
    snapshot_id: int
    watched: Watched
    state: DriftState = "collecting"
    behaviour: WatchedBehaviour = WatchedBehaviour()


class VendorWatch(msgspec.Struct, frozen=True):
    """The watch of a schedule since its `content`, of a version and with a judge, was first played.

    `experiment_id` is the run that was started last. `snapshots` are the models that the vendor reported in the last
    run in which no test case was suspected.
    """

    since: datetime
    content: str
    commit_hash: str
    experiment_id: int
    cases: tuple[WatchedCase, ...] = ()
    snapshots: tuple[str, ...] = ()


class CaseCounts(msgspec.Struct, frozen=True):
    """What a run of the watch played of a test case, or of a variant of one."""

    test_case_id: int
    variant: int
    counts: Counts
    state: DriftState


class WatchedRun(msgspec.Struct, frozen=True):
    """What a run of the watch has found, and the models that the vendor reported meanwhile."""

    cases: tuple[CaseCounts, ...]
    snapshots: tuple[str, ...] = ()

    @property
    def played(self) -> Counts:
        return Counts(sum(case.counts.passed for case in self.cases), sum(case.counts.failed for case in self.cases))

    @property
    def dropped(self) -> int:
        return sum(case.state == "dropped" for case in self.cases)


class CoverageRun(msgspec.Struct, frozen=True):
    """What a run of the kind `suite-coverage` has found.

    `share` is what the tests represent of the last week's sessions, from 0 to 1; None for too few sessions. `new` is
    the number of things that sessions do and no test does. `is_low` if the share is below the limit of the schedule.
    """

    share: float | None
    sessions: int
    new: int
    is_low: bool


@dataclass(frozen=True, slots=True)
class ScheduleRow:
    """A schedule. Due times after `since` are served: the time of its creation, or of its last change.

    `min_coverage` is the least share of a schedule of the kind `suite-coverage`, from 0 to 1.
    """

    id: int
    project_id: Annotated[int, BigInt, ForeignKey("projects.id")]
    prompt_id: Annotated[int, BigInt, ForeignKey("prompts.id")]
    kind: Annotated[ScheduleKind, exact(16)]
    cron: Annotated[str, exact(CRON_MAX)]
    timezone: Annotated[str, exact(ZONE_MAX)]
    suite: Annotated[str | None, exact(SUITE_NAME_MAX)]
    repeats: Annotated[int | None, Integer]
    max_cost: Annotated[float | None, Double]
    min_coverage: Annotated[float | None, Double]
    enabled: Annotated[bool, Boolean]
    since: Annotated[datetime, Timestamp]
    # The due time of the last run, which outlives the history.
    served_at: Annotated[datetime | None, Timestamp]
    created_at: Annotated[datetime, Timestamp]


schedules = new_table(
    "schedules",
    ScheduleRow,
    # The state of a watch; NULL before its first run, and until the next run when a person begins a new reference.
    Column("watch", JsonStruct(VendorWatch)),
    lock_count(),
    Index("ix_schedules_project_id", "project_id"),
    Index("ix_schedules_prompt_id", "prompt_id"),
)


@dataclass(frozen=True, slots=True)
class ScheduleRunRow:
    """A served due time. `experiment_id` is None if no experiment could be started, and `reason` why.

    `missed` counts the due times before it that were not served, because no clock ran. `watched` is what the watch has
    found; None before it ends, and for an experiment. `coverage` is that of the kind `suite-coverage`, else None.
    """

    id: int
    project_id: Annotated[int, BigInt, ForeignKey("projects.id")]
    prompt_id: Annotated[int, BigInt, ForeignKey("prompts.id")]
    schedule_id: Annotated[int, BigInt]
    due_at: Annotated[datetime, Timestamp]
    missed: Annotated[int, Integer]
    experiment_id: Annotated[int | None, BigInt]
    reason: Annotated[str | None, MediumText]
    watched: Annotated[WatchedRun | None, JsonStruct(WatchedRun)]
    coverage: Annotated[CoverageRun | None, JsonStruct(CoverageRun)]
    created_at: Annotated[datetime, Timestamp]


schedule_runs = new_table(
    "schedule_runs",
    ScheduleRunRow,
    UniqueConstraint("schedule_id", "due_at"),
    Index("ix_schedule_runs_prompt_id", "prompt_id"),
    Index("ix_schedule_runs_project_id_created_at", "project_id", "created_at"),
)
_S, _R, _E = schedules.c, schedule_runs.c, experiments.c
_SCHEDULE = select(*queries.columns_of(ScheduleRow, schedules))


@dataclass(frozen=True, slots=True)
class ServedTime(ScheduleRunRow):
    """A run with the status and the verdict of its experiment; None if there is none any more."""

    status: str | None
    verdict: Verdict | None


_OF_RUN = (_E.id == _R.experiment_id) & (_E.project_id == _R.project_id)
_RUN = select(*queries.columns_of(ServedTime, schedule_runs, status=_E.status, verdict=_E.verdict)).select_from(
    schedule_runs.outerjoin(experiments, _OF_RUN)
)


def find_schedule(
    connection: Connection, *, project_id: int, schedule_id: int, lock: bool = False
) -> ScheduleRow | None:
    """Return the project's schedule, locked until the end of the transaction if `lock`."""
    statement = _SCHEDULE.where(_S.id == schedule_id, no_index(_S.project_id) == project_id)
    return queries.find_row(connection, ScheduleRow, statement.with_for_update() if lock else statement)


def list_schedules(connection: Connection, *, project_id: int, prompt_id: int) -> list[ScheduleRow]:
    """List the schedules of a prompt, oldest first."""
    statement = _SCHEDULE.where(_S.prompt_id == prompt_id, no_index(_S.project_id) == project_id)
    return queries.list_rows(connection, ScheduleRow, statement.order_by(_S.id))


def owners(connection: Connection) -> dict[int, int]:
    """Return {schedule id: organization id} of the enabled schedules of all projects."""
    enabled = select(_S.id, projects.c.organization_id).join(projects, projects.c.id == _S.project_id)
    return queries.id_pairs(connection, enabled.where(_S.enabled))


def find_enabled(connection: Connection, *, schedule_id: int, lock: bool = False) -> ScheduleRow | None:
    """Return the schedule, unless it was paused or deleted; locked until the end of the transaction if `lock`."""
    statement = _SCHEDULE.where(_S.id == schedule_id, _S.enabled)
    return queries.find_row(connection, ScheduleRow, statement.with_for_update() if lock else statement)


def last_served(connection: Connection, schedule: ScheduleRow, *, until: datetime) -> datetime | None:
    """Return the latest due time until `until` that was served."""
    of_schedule = (_R.schedule_id == schedule.id, no_index(_R.project_id) == schedule.project_id)
    served: datetime | None = connection.scalar(select(func.max(_R.due_at)).where(*of_schedule, _R.due_at <= until))
    return served


def unfinished_experiment(connection: Connection, schedule: ScheduleRow) -> int | None:
    """Return the id of an experiment of the schedule that has not ended."""
    started = select(_R.experiment_id).where(
        _R.schedule_id == schedule.id, no_index(_R.project_id) == schedule.project_id, _R.experiment_id.is_not(None)
    )
    newest = connection.scalar(started.order_by(_R.id.desc()).limit(1))
    unfinished = select(_E.id).where(
        _E.id == newest, no_index(_E.project_id) == schedule.project_id, _E.status.in_(UNFINISHED)
    )
    return connection.scalar(unfinished)


def newest_coverage(connection: Connection, schedule: ScheduleRow) -> CoverageRun | None:
    """Return what the newest run with a coverage has found."""
    of_schedule = (_R.schedule_id == schedule.id, no_index(_R.project_id) == schedule.project_id)
    known = select(_R.coverage).where(*of_schedule, _R.coverage.is_not(None)).order_by(_R.id.desc()).limit(1)
    coverage: CoverageRun | None = connection.scalar(known)
    return coverage


def newest_watched(connection: Connection, *, project_id: int, prompt_id: int) -> ServedTime | None:
    """Return the newest run of a watch of the prompt that has ended."""
    of_prompt = (_R.prompt_id == prompt_id, no_index(_R.project_id) == project_id, _R.watched.is_not(None))
    newest = _RUN.where(*of_prompt).order_by(_R.id.desc()).limit(1)
    return queries.find_row(connection, ServedTime, newest)


def list_runs(
    connection: Connection, *, project_id: int, schedule_id: int, before_id: int | None, limit: int
) -> list[ServedTime]:
    """List the runs of a schedule, newest first."""
    statement = _RUN.where(_R.schedule_id == schedule_id, no_index(_R.project_id) == project_id)
    if before_id is not None:
        statement = statement.where(_R.id < before_id)
    return queries.list_rows(connection, ServedTime, statement.order_by(_R.id.desc()).limit(limit))


def watch_of(connection: Connection, *, project_id: int, schedule_id: int, lock: bool = False) -> VendorWatch | None:
    """Return the watch of the project's schedule, locked until the end of the transaction if `lock`."""
    statement = select(_S.watch).where(_S.id == schedule_id, no_index(_S.project_id) == project_id)
    watch: VendorWatch | None = connection.scalar(statement.with_for_update() if lock else statement)
    return watch


def note_watched(
    connection: Connection, *, project_id: int, schedule_id: int, experiment_id: int, run: WatchedRun
) -> None:
    """Store what the run that started the experiment has found."""
    of_schedule = (_R.schedule_id == schedule_id, no_index(_R.project_id) == project_id)
    started = update(schedule_runs).where(*of_schedule, _R.experiment_id == experiment_id)
    connection.execute(started.values(watched=run))
