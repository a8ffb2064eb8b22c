"""A due time is served once, though clocks jump, processes die and two clocks run: the real statements, any history."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch
from zoneinfo import ZoneInfo

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from sqlalchemy import update

from app.experiments.cron import latest_due, next_due
from app.models.experiments import experiments
from app.models.schedules import ScheduleRunRow
from app.services.experiments import schedules as service
from app.services.experiments.schedules import NewSchedule, ScheduleService
from tests.integration.replays.test_schedules_api import with_case
from tests.support.world import World, new_world

ZONE = "Europe/Berlin"
START = datetime(2026, 10, 23, 12, 7, tzinfo=UTC)  # two days before the clocks are turned back
CRONS = ("0 3 * * *", "30 2 * * *", "0 * * * *")


class Died(Exception):
    """The process of a clock ended before its commit."""


def machine(world: World) -> type[RuleBasedStateMachine]:
    class Schedules(RuleBasedStateMachine):
        """Two clocks; `skew` is that of the second one."""

        def __init__(self) -> None:
            super().__init__()
            self.time, self.skew = START, timedelta()
            self.project = new_world(world.container)
            self.clocks = [self.clock(lambda: self.time), self.clock(lambda: self.time + self.skew)]

        def clock(self, now: Any) -> ScheduleService:
            return ScheduleService(
                database=world.container.database,
                now=now,
                experiments=world.container.services.experiments,
                coverage=world.container.services.schedules.coverage,
                metrics=world.container.services.schedules.metrics,
                earlier_now=lambda _connection, when: when,
            )

        @initialize(cron=st.sampled_from(CRONS))
        def make(self, cron: str) -> None:
            self.cron = cron
            view = self.clocks[0].create(
                project_id=self.project.project_id,
                prompt_id=with_case(self.project),
                new=NewSchedule(cron, timezone=ZONE),
            )
            self.id = view.row.id

        def runs(self) -> list[ScheduleRunRow]:
            return self.clocks[0].runs(project_id=self.project.project_id, schedule_id=self.id, limit=1_000).entries

        @rule(minutes=st.integers(1, 60 * 30))
        def time_passes(self, minutes: int) -> None:
            self.time += timedelta(minutes=minutes)

        @rule(hours=st.integers(-80, 80))
        def a_clock_jumps(self, hours: int) -> None:
            self.skew = timedelta(hours=hours)

        @rule()
        def both_clocks_serve_at_once(self) -> None:
            with ThreadPoolExecutor(2) as pool:
                for served in [pool.submit(clock.serve, self.id) for clock in self.clocks]:
                    served.result()

        @rule(number=st.sampled_from([0, 1]))
        def a_clock_serves(self, number: int) -> None:
            clock = self.clocks[number]
            clock.serve(self.id)
            due = self.latest(clock.now())
            assert due is None or due in {run.due_at for run in self.runs()}

        @rule(place=st.sampled_from(["insert_row", "update_rows"]), number=st.sampled_from([0, 1]))
        def a_clock_dies_while_it_serves(self, place: str, number: int) -> None:
            before = self.runs()
            with patch.object(service, place, side_effect=Died):
                try:
                    self.clocks[number].serve(self.id)
                except Died:
                    assert self.runs() == before

        @rule()
        def the_experiments_end(self) -> None:
            with world.container.database.write() as connection:
                of_project = update(experiments).where(experiments.c.project_id == self.project.project_id)
                connection.execute(of_project.values(status="cancelled"))

        def latest(self, now: datetime) -> datetime | None:
            due = latest_due(self.cron, ZoneInfo(ZONE), after=START, now=now)
            return due.at if due else None

        @invariant()
        def each_due_time_is_served_once_by_one_experiment_at_most(self) -> None:
            if not hasattr(self, "id"):
                return
            runs = self.runs()
            assert max(Counter(run.due_at for run in runs).values(), default=1) == 1
            for run in runs:
                assert next_due(self.cron, ZoneInfo(ZONE), run.due_at - timedelta(minutes=1)) == run.due_at
                assert (run.experiment_id is None) == (run.reason is not None)
            started = [run.experiment_id for run in runs if run.experiment_id is not None]
            assert len(set(started)) == len(started) == self.project.count("experiments")

    return Schedules


def test_a_due_time_is_served_once_whatever_happens_to_the_clocks(world: World) -> None:
    run_state_machine_as_test(
        machine(world),
        settings=settings(
            max_examples=12, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
