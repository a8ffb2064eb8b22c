"""The states of schedules, which two clocks serve while a caller makes, changes and pauses them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from random import Random

from sqlalchemy import Connection, select

from app.errors import Conflict, Unavailable
from app.models.experiments import experiments
from app.models.replays import UNFINISHED
from app.models.schedules import schedule_runs, schedules
from app.services.experiments.schedules import NewSchedule, ScheduleService
from tests.states.machine import Machine
from tests.states.site import BEGAN, CLOCK, WEB, WORKERS, Site, Station
from tests.states.steps import Row, Rows, nth_of

CLOCKS = (CLOCK, *WORKERS)
"""Any process may be the second clock, while a new release replaces an old one."""
DATABASE = "database"
EVERY = {"0 * * * *": timedelta(hours=1), "0 */6 * * *": timedelta(hours=6)}
"""The time between two due times of each cron expression, counted from a midnight."""
SCHEDULES_MAX = 3
PAUSES_S = (600, 3_600, 5 * 3_600, 30 * 3_600)
JUMPS_S: Sequence[tuple[Sequence[str], float]] = (
    ((CLOCK,), -86_400),
    (WORKERS, 7_200),
    ((DATABASE,), -3_600),
    ((), 2 * 86_400),
)
"""The clocks that jump together, and by how many seconds they are ahead then; all clocks where none is named."""


class Schedules(Machine):
    """Each due time is served once at most, with its experiment or a reason; of several that passed, the latest.

    Here a due time is computed by division, without the library that reads cron expressions.
    """

    dead_after_s = 0.0

    def __init__(self, site: Site) -> None:
        self.ahead: dict[str, float] = dict.fromkeys((*site.stations, DATABASE), 0)
        self.schedules: Rows = {}
        self.statuses: dict[int, str] = {}
        """The status of each experiment."""
        super().__init__(site)

    def time_of(self, name: str) -> datetime:
        """Return the time of a process, or of the database."""
        return self.site.time.now() + timedelta(seconds=self.ahead[name])

    def earlier(self, name: str) -> datetime:
        """Return the earlier of the times of a process and of the database."""
        return min(self.time_of(name), self.time_of(DATABASE))

    def service(self, station: Station) -> ScheduleService:
        name = station.process.name

        def earlier_now(_connection: Connection, now: datetime) -> datetime:
            return min(now, self.time_of(DATABASE))

        return replace(
            station.container.services.schedules,
            now=partial(self.time_of, name),
            monotonic=self.site.time.monotonic,
            earlier_now=earlier_now,
        )

    def rows(self) -> Rows:
        c = schedule_runs.c
        columns = (c.id, c.schedule_id, c.due_at, c.missed, c.experiment_id, c.reason)
        with self.site.world.container.database.read() as connection:
            return {row.id: row._mapping for row in connection.execute(select(*columns))}

    def is_open(self, row: Row) -> bool:
        return False

    @property
    def is_done(self) -> bool:
        """Whether the latest due time of each schedule has been served."""
        now = self.earlier(CLOCK)
        return not any(row["enabled"] and self._is_due(row, now) for row in self.schedules.values())

    def _runs_of(self, schedule: Row) -> list[Row]:
        return [run for run in self.before.values() if run["schedule_id"] == schedule["id"]]

    def _served_until(self, schedule: Row, now: datetime) -> datetime | None:
        """Return the time until which all is served; None if the schedule was made or changed later than `now`."""
        known = [schedule["since"], *(run["due_at"] for run in self._runs_of(schedule))]
        return max((when for when in known if when <= now), default=None)

    def _is_due(self, schedule: Row, now: datetime) -> bool:
        until = self._served_until(schedule, now)
        return until is not None and until < latest_due(schedule, now)

    def check_change(self, name: str, before: Row | None, after: Row) -> None:
        self.require(before is None, f"{name} has changed a run")
        self.require(name in CLOCKS, f"{name} has served a schedule")
        schedule, now = self.schedules[after["schedule_id"]], self.earlier(name)
        self.require(schedule["enabled"], "a paused schedule was served")
        self.require(self._is_due(schedule, now), "a due time was served twice, or a time that was not due")
        self.require(after["due_at"] == latest_due(schedule, now), "an old due time was served")
        period, until = EVERY[schedule["cron"]], self._served_until(schedule, now)
        assert until is not None
        passed = (after["due_at"] - BEGAN) // period - (until - BEGAN) // period
        self.require(after["missed"] == passed - 1, f"{after['missed']} of {passed - 1} missed due times are counted")
        started = [run["experiment_id"] for run in self._runs_of(schedule) if run["experiment_id"] is not None]
        is_busy = bool(started) and self.statuses[max(started)] in UNFINISHED
        self.require((after["experiment_id"] is None) == is_busy, "an earlier experiment must have ended, and no other")
        self.require((after["reason"] is None) == (after["experiment_id"] is not None), "a run needs one outcome")

    def check(self) -> None:
        s, e = schedules.c, experiments.c
        columns = (s.id, s.cron, s.enabled, s.since, s.served_at)
        with self.site.world.container.database.read() as connection:
            self.schedules = {row.id: row._mapping for row in connection.execute(select(*columns))}
            self.statuses = {row.id: row.status for row in connection.execute(select(e.id, e.status))}
        started = [run["experiment_id"] for run in self.before.values() if run["experiment_id"] is not None]
        self.require(sorted(started) == sorted(self.statuses), "an experiment belongs to no run, or to two")
        for schedule in self.schedules.values():
            runs = self._runs_of(schedule)
            last = max(runs, key=lambda run: run["id"])["due_at"] if runs else None
            self.require(schedule["served_at"] == last, "a schedule has not noted its last due time")

    def sweeps(self, station: Station) -> list[Callable[[], object]]:
        return [self.service(station).sweep]

    def choices(self, random: Random) -> Iterator[tuple[int, Callable[[], str]]]:
        yield from super().choices(random)
        for name in WORKERS:
            if not self.is_busy(name):
                (job,) = self.sweeps(self.site.stations[name])
                yield 2, partial(self.sweep, job, name)

    def asked(self, nth: int) -> Callable[[Station], object]:
        """A caller makes a schedule, changes it, pauses it, or cancels the experiment of a run."""
        schedule = nth_of(sorted(self.schedules), nth) if self.schedules else None
        open_experiments = [key for key, status in self.statuses.items() if status in UNFINISHED]
        if schedule is None or (nth == 0 and len(self.schedules) < SCHEDULES_MAX):
            return self.making(nth)
        if open_experiments and nth > 3:
            return self.cancelling(nth_of(open_experiments, nth))
        old = self.schedules[schedule]
        return self.changing(schedule, {"enabled": not old["enabled"]} if nth % 2 else {"cron": nth_of([*EVERY], nth)})

    def making(self, nth: int) -> Callable[[Station], object]:
        new = NewSchedule(nth_of([*EVERY], nth), kind="watch" if nth % 3 == 0 else "experiment")
        owner = {"project_id": self.site.world.project_id, "prompt_id": self.site.prompt_id}
        return self.unless_unavailable(lambda station: self.service(station).create(**owner, new=new))

    def changing(self, schedule: int, values: dict[str, object]) -> Callable[[Station], object]:
        key = {"project_id": self.site.world.project_id, "schedule_id": schedule}
        return self.unless_unavailable(lambda station: self.service(station).change(**key, values=values))

    def cancelling(self, experiment: int) -> Callable[[Station], object]:
        key = {"project_id": self.site.world.project_id, "experiment_id": experiment}
        return self.unless_unavailable(lambda station: station.container.services.experiments.cancel(**key))

    def unless_unavailable(self, work: Callable[[Station], object]) -> Callable[[Station], object]:
        def attempted(station: Station) -> None:
            with suppress(Unavailable, Conflict):
                work(station)

        return attempted

    def change_outside(self, nth: int) -> None:
        """Time passes, or clocks jump, or are set right again."""
        if nth % 2 == 0:
            self.site.time.seconds += nth_of(PAUSES_S, nth // 2)
            return
        clocks, seconds = nth_of(JUMPS_S, nth // 2)
        names = clocks or tuple(self.ahead)
        self.ahead.update(dict.fromkeys(names, 0 if self.ahead[names[0]] else seconds))

    def hang(self, name: str, random: Random) -> None:
        """A caller asks for something while a clock hangs."""
        if name in CLOCKS:
            self.finish(WEB)
            self.ask(random.randrange(8))
        super().hang(name, random)

    def settle(self) -> None:
        """All clocks are right again."""
        self.ahead = dict.fromkeys(self.ahead, 0)
        super().settle()


def latest_due(schedule: Row, now: datetime) -> datetime:
    """Return the latest due time until `now`."""
    period = EVERY[schedule["cron"]]
    return BEGAN + (now - BEGAN) // period * period
