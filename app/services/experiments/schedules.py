"""Schedules: made and changed by people, and served by the clock, once for each due time.

The clock writes the run of a due time and its experiment in one transaction, under the lock of the schedule's row. So
a clock that dies has done both or nothing, and of two clocks only one does it. Due times that pass while no clock runs
are served once, by the latest of them. The latest due time is computed from the present time, so a clock that was ahead
for a while does no lasting harm.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import structlog
from sqlalchemy import Connection

from app.database.transactions import Database, retried
from app.errors import Conflict, Invalid, NotFound, ServiceError, Unavailable, require
from app.experiments.cron import Due, check_cron, check_zone, latest_due, next_due
from app.experiments.drift import DriftState
from app.metrics import Metrics
from app.metrics.registry import COVERAGE_RUNS
from app.models import audit_log, organizations, schedules
from app.models.audit_log import SYSTEM, Action, Actor
from app.models.base import earlier_now
from app.models.prompts import require_head
from app.models.queries import delete_rows, insert_row, update_rows
from app.models.schedules import CoverageRun, ScheduleKind, ScheduleRow, ServedTime, VendorWatch, WatchedCase
from app.models.suites import cases_of
from app.models.webhook_deliveries import add_event
from app.models.webhooks import WebhookEvent
from app.pagination import ListPage, page_by_id
from app.services.experiments import watch as watches
from app.services.experiments.request import NewExperiment
from app.services.experiments.service import ExperimentService
from app.services.suites.coverage import CoverageService
from app.services.suites.service import case_ids
from app.timestamps import Now
from app.work.remover import SWEEP_S
from app.work.round_robin import RoundRobin

log = structlog.get_logger(__name__)

SCHEDULES_MAX = 20
"""Schedules of one prompt."""
COVERED, COVERED_MIN = timedelta(days=7), 20
"""The time before now of which a schedule of coverage reads sessions, and how many of them it needs."""
STATES: Sequence[DriftState] = ("dropped", "suspected", "collecting", "steady")
"""The order in which a watch shows its test cases."""
NO_SCHEDULE = "There is no such schedule."


@dataclass(frozen=True, slots=True)
class NewSchedule:
    """A schedule to make. `suite` None means all test cases; `repeats` None the repeats of an experiment.

    The kind `suite-coverage` plays nothing. It compares `min_coverage`, a share from 0 to 1, with what the suite, or
    all suites, represent of the last week's sessions.
    """

    cron: str
    kind: ScheduleKind = "experiment"
    timezone: str = "UTC"
    suite: str | None = None
    repeats: int | None = None
    max_cost: float | None = None
    min_coverage: float | None = None
    enabled: bool = True

    @property
    def experiment(self) -> NewExperiment:
        """The experiment of each run of the kind: the draft against the newest version, with fresh replays."""
        return NewExperiment(suite=self.suite, repeats_min=self.repeats, max_cost=self.max_cost, reuse=False)


@dataclass(frozen=True, slots=True)
class ScheduleView:
    """A schedule with its next due time; None while it is paused."""

    row: ScheduleRow
    next_due_at: datetime | None


@dataclass(frozen=True, slots=True)
class NamedCase:
    """A watched test case with its name; None for one that was deleted."""

    case: WatchedCase
    name: str | None


@dataclass(frozen=True, slots=True)
class WatchView:
    """What a watch has shown since its reference began; `watch` is None before the first run of the reference."""

    watch: VendorWatch | None
    cases: Sequence[NamedCase]

    @property
    def changed(self) -> Sequence[NamedCase]:
        """The test cases with warnings that their answers differ from the reference."""
        return [case for case in self.cases if case.case.behaviour.changes]


@dataclass(slots=True, kw_only=True)
class ScheduleService:
    """Schedules of a project; `earlier_now` returns the earlier of this process's time and the database's."""

    database: Database
    now: Now
    experiments: ExperimentService
    coverage: CoverageService
    metrics: Metrics
    monotonic: Callable[[], float] = time.monotonic
    earlier_now: Callable[[Connection, datetime], datetime] = earlier_now
    _round_robin: RoundRobin = field(default_factory=RoundRobin, init=False)

    def list(self, *, project_id: int, prompt_id: int) -> Sequence[ScheduleView]:
        """Return the schedules of a prompt, oldest first."""
        with self.database.read() as connection:
            require_head(connection, project_id=project_id, prompt_id=prompt_id)
            rows = schedules.list_schedules(connection, project_id=project_id, prompt_id=prompt_id)
        return [self._view(row) for row in rows]

    def get(self, *, project_id: int, schedule_id: int) -> ScheduleView:
        with self.database.read() as connection:
            return self._view(_schedule(connection, project_id, schedule_id))

    def runs(
        self, *, project_id: int, schedule_id: int, limit: int = 50, cursor: str | None = None
    ) -> ListPage[ServedTime]:
        """Return the runs of a schedule, newest first."""
        with self.database.read() as connection:
            _schedule(connection, project_id, schedule_id)
            read = partial(schedules.list_runs, connection, project_id=project_id, schedule_id=schedule_id)
            return page_by_id(read, limit=limit, cursor=cursor)

    def watch(self, *, project_id: int, schedule_id: int) -> WatchView:
        """Return what a watch has shown, the test cases that dropped first."""
        with self.database.read() as connection:
            _schedule(connection, project_id, schedule_id)
            state = schedules.watch_of(connection, project_id=project_id, schedule_id=schedule_id)
            cases = sorted(state.cases, key=lambda case: STATES.index(case.state)) if state else []
            ids = {case.test_case_id for case in cases}
            names = {case.id: case.name for case in cases_of(connection, project_id=project_id, test_case_ids=ids)}
        return WatchView(state, [NamedCase(case, names.get(case.test_case_id)) for case in cases])

    @retried
    def begin_reference(self, *, project_id: int, schedule_id: int, actor: Actor = SYSTEM) -> None:
        """Let the next run begin a new reference; a run that goes on is not counted."""
        with self.database.write() as connection:
            row = _schedule(connection, project_id, schedule_id)
            which = {"id": schedule_id, "project_id": project_id}
            update_rows(connection, schedules.schedules, which, watch=None)
            self._note(connection, row, Action.SCHEDULE_CHANGED, actor, {"changed": "reference"})

    @retried
    def create(self, *, project_id: int, prompt_id: int, new: NewSchedule, actor: Actor = SYSTEM) -> ScheduleView:
        """Make a schedule; `Invalid` for a suite that the prompt does not have, `NotFound` for an unknown prompt."""
        with self.database.write() as connection:
            organizations.lock_owner(connection, project_id)
            require_head(connection, project_id=project_id, prompt_id=prompt_id)
            _check(connection, project_id, prompt_id, new)
            if len(schedules.list_schedules(connection, project_id=project_id, prompt_id=prompt_id)) >= SCHEDULES_MAX:
                raise Invalid(f"cron: A prompt has at most {SCHEDULES_MAX} schedules; delete one first.")
            owner, now = {"project_id": project_id, "prompt_id": prompt_id}, self._earlier_now(connection)
            values = {**owner, **asdict(new), "since": now, "created_at": now}
            schedule_id = insert_row(connection, schedules.schedules, **values)
            row = _schedule(connection, project_id, schedule_id)
            self._note(connection, row, Action.SCHEDULE_CREATED, actor)
            return self._view(row)

    @retried
    def change(
        self, *, project_id: int, schedule_id: int, values: Mapping[str, Any], actor: Actor = SYSTEM
    ) -> ScheduleView:
        """Change the named fields of `NewSchedule`; due times before the change are not caught up any more."""
        with self.database.write() as connection:
            old = require(
                schedules.find_schedule(connection, project_id=project_id, schedule_id=schedule_id, lock=True),
                NO_SCHEDULE,
            )
            before = _fields_of(old)
            new = replace(before, **values)
            if new != before:
                _check(connection, project_id, old.prompt_id, new)
                which = {"id": schedule_id, "project_id": project_id}
                update_rows(connection, schedules.schedules, which, **asdict(new), since=self._earlier_now(connection))
                changed = [name for name in values if getattr(before, name) != getattr(new, name)]
                self._note(connection, old, Action.SCHEDULE_CHANGED, actor, {"changed": ", ".join(changed)})
            return self._view(_schedule(connection, project_id, schedule_id))

    @retried
    def delete(self, *, project_id: int, schedule_id: int, actor: Actor = SYSTEM) -> None:
        """Delete a schedule with its history; its experiments stay."""
        with self.database.write() as connection:
            row = _schedule(connection, project_id, schedule_id)
            delete_rows(connection, schedules.schedule_runs, schedule_id=schedule_id, project_id=project_id)
            delete_rows(connection, schedules.schedules, id=schedule_id, project_id=project_id)
            self._note(connection, row, Action.SCHEDULE_DELETED, actor)

    def sweep(self) -> None:
        """Serve the schedules that are due, of each organization in turn; the clock calls it."""
        until = self.monotonic() + SWEEP_S
        with self.database.read() as connection:
            owners = schedules.owners(connection)
        self._round_robin.serve(owners, self._serve_one, is_over=lambda: self.monotonic() >= until)

    def _serve_one(self, schedule_id: int) -> bool:
        """Serve the latest due time of a schedule. Returns False, because it comes again in the next sweep."""
        with self.database.read() as connection:
            row = schedules.find_enabled(connection, schedule_id=schedule_id)
            is_due = row is not None and self._due(connection, row) is not None
        if is_due:
            self.serve(schedule_id)
        return False

    def serve(self, schedule_id: int) -> None:
        """Write the run of the latest due time with its experiment or coverage, unless another clock has."""
        try:
            coverage = self._coverage(schedule_id)
        except Unavailable as error:
            # The next sweep tries again.
            log.info("coverage_not_read", schedule_id=schedule_id, error=str(error))
            return
        except (Invalid, NotFound) as error:
            self._refuse(schedule_id, error)
            return
        try:
            serve = partial(self._serve, schedule_id=schedule_id, refused=None, coverage=coverage)
            if self.database.retrying(serve) and coverage:
                self.metrics.count(COVERAGE_RUNS, _outcome(coverage))
        except (Invalid, NotFound, Conflict) as error:
            self._refuse(schedule_id, error)

    def _refuse(self, schedule_id: int, error: ServiceError) -> None:
        log.warning("schedule_not_started", schedule_id=schedule_id, error=str(error))
        self.database.retrying(partial(self._serve, schedule_id=schedule_id, refused=str(error)))

    def _coverage(self, schedule_id: int) -> CoverageRun | None:
        """Return what a due schedule of coverage finds now; None for another schedule.

        It is read before the run is written: a reading is longer than a transaction may be.
        """
        with self.database.read() as connection:
            row = schedules.find_enabled(connection, schedule_id=schedule_id)
        if row is None or row.kind != "suite-coverage":
            return None
        recent = self.coverage.recent(
            project_id=row.project_id,
            prompt_id=row.prompt_id,
            suite=row.suite,
            since=self.now() - COVERED,
            least=COVERED_MIN,
        )
        is_low = row.min_coverage is not None and recent.share is not None and recent.share < row.min_coverage
        return CoverageRun(recent.share, recent.sessions, len(recent.new), is_low)

    def _serve(
        self, connection: Connection, schedule_id: int, refused: str | None, coverage: CoverageRun | None = None
    ) -> bool:
        """Write a run; returns False if none is due any more."""
        row = schedules.find_enabled(connection, schedule_id=schedule_id, lock=True)
        due = self._due(connection, row) if row else None
        if row is None or due is None:
            return False
        owner = {"project_id": row.project_id, "prompt_id": row.prompt_id}
        experiment_id = None
        if refused is None and (coverage is None) == (row.kind == "suite-coverage"):
            # Its kind was changed after the coverage was read. The next sweep serves it.
            return False
        if coverage is not None:
            self._report(connection, row, coverage)
        elif refused is None and schedules.unfinished_experiment(connection, row) is not None:
            refused = "The experiment of an earlier run had not ended."
        elif refused is None:
            experiment_id = self._started(connection, row)
        run = {"schedule_id": row.id, "due_at": due.at, "missed": due.missed}
        outcome = {"experiment_id": experiment_id, "reason": refused, "coverage": coverage, "created_at": self.now()}
        insert_row(connection, schedules.schedule_runs, **owner, **run, **outcome)
        which = {"id": row.id, "project_id": row.project_id}
        update_rows(connection, schedules.schedules, which, served_at=due.at)
        return True

    def _report(self, connection: Connection, row: ScheduleRow, coverage: CoverageRun) -> None:
        """Report a coverage below the limit, unless the run before it was below it, too."""
        before = schedules.newest_coverage(connection, row)
        if coverage.is_low and not (before and before.is_low):
            data: dict[str, Any] = {"projectId": row.project_id, "scheduleId": row.id, "suite": row.suite}
            data |= {"share": coverage.share, "minCoverage": row.min_coverage, "sessions": coverage.sessions}
            data |= {"new": coverage.new}
            key = {"project_id": row.project_id, "prompt_id": row.prompt_id}
            add_event(connection, self.now(), WebhookEvent.COVERAGE_FELL, data, **key)

    def _started(self, connection: Connection, row: ScheduleRow) -> int:
        """Add the experiment of a run and return its id."""
        owner = {"project_id": row.project_id, "prompt_id": row.prompt_id}
        if row.kind == "experiment":
            return self.experiments.add(connection, **owner, new=_fields_of(row).experiment)
        version = self.experiments.candidates.newest(connection, **owner)
        if version is None:
            raise Conflict("The prompt has no version to watch: commit one.")
        experiment_id = self.experiments.add(connection, **owner, new=watches.run_of(row, version))
        watches.note_begun(connection, row, experiment_id, self.now())
        return experiment_id

    def _due(self, connection: Connection, row: ScheduleRow) -> Due | None:
        """Return the latest due time, unless it was served."""
        now = self._earlier_now(connection)
        served = schedules.last_served(connection, row, until=now)
        known = [when for when in (row.since, row.served_at, served) if when is not None and when <= now]
        return latest_due(row.cron, ZoneInfo(row.timezone), after=max(known), now=now) if known else None

    def _earlier_now(self, connection: Connection) -> datetime:
        return self.earlier_now(connection, self.now())

    def _view(self, row: ScheduleRow) -> ScheduleView:
        return ScheduleView(row, next_due(row.cron, ZoneInfo(row.timezone), self.now()) if row.enabled else None)

    def _note(
        self,
        connection: Connection,
        row: ScheduleRow,
        action: Action,
        actor: Actor,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        audit_log.note(connection, self.now(), actor, action, row.cron, details, project_id=row.project_id)


def _outcome(coverage: CoverageRun) -> str:
    return "unknown" if coverage.share is None else "low" if coverage.is_low else "enough"


def _fields_of(row: ScheduleRow) -> NewSchedule:
    return NewSchedule(**{field_.name: getattr(row, field_.name) for field_ in fields(NewSchedule)})


def _check(connection: Connection, project_id: int, prompt_id: int, new: NewSchedule) -> None:
    """Raise `Invalid` for an impossible cron expression, zone or suite."""
    for name, check in (("cron", partial(check_cron, new.cron)), ("timezone", partial(check_zone, new.timezone))):
        try:
            check()
        except ValueError as error:
            raise Invalid(f"{name}: {error}") from error
    if new.kind == "suite-coverage" and (new.repeats is not None or new.max_cost is not None):
        raise Invalid("repeats: The kind suite-coverage plays nothing: it has neither repeats nor a cost.")
    if new.kind != "suite-coverage" and new.min_coverage is not None:
        raise Invalid("minCoverage: Only the kind suite-coverage has a least coverage.")
    if new.suite is not None:
        case_ids(connection, project_id=project_id, prompt_id=prompt_id, name=new.suite)


def _schedule(connection: Connection, project_id: int, schedule_id: int) -> ScheduleRow:
    return require(schedules.find_schedule(connection, project_id=project_id, schedule_id=schedule_id), NO_SCHEDULE)
