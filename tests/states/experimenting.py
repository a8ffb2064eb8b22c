"""The states of experiments and their replays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from sqlalchemy import func, select

from app.errors import Conflict, Unavailable
from app.models.experiment_replays import experiment_replays
from app.models.experiments import experiments
from app.models.replays import UNFINISHED
from app.models.webhook_deliveries import webhook_deliveries
from app.services.experiments.advance import IN_WORK_MAX
from app.services.experiments.request import NewExperiment
from app.services.replays.claims import ReplaySweeper
from tests.states.machine import Machine
from tests.states.replaying import Claims, is_open, replay_rows
from tests.states.site import Site, Station
from tests.states.steps import Row, Rows, nth_of

EXPERIMENTS_MAX = 4
REPEATS_MIN, REPEATS_MAX = 2, 4
ENDED = "experiment.finished"


class Experiments(Machine):
    """An experiment adds each replay once, ends once with its result and one event, and leaves no replay open."""

    dead_after_s = ReplaySweeper.stale_s

    def __init__(self, site: Site) -> None:
        self.claims = Claims(self.require)
        self.accepted: list[int] = []
        self.experiments: Rows = {}
        super().__init__(site)

    def rows(self) -> Rows:
        return replay_rows(self.site)

    def is_open(self, row: Row) -> bool:
        return is_open(row)

    @property
    def is_done(self) -> bool:
        return all(row["status"] not in UNFINISHED for row in self.experiments.values()) and super().is_done

    def check_change(self, name: str, before: Row | None, after: Row) -> None:
        self.claims.check(name, before, after)

    def check(self) -> None:
        c, links = experiments.c, experiment_replays.c
        columns = (c.id, c.status, c.verdict, c.done, c.total, c.result.is_not(None).label("has_result"), c.finished_at)
        link_columns = (links.experiment_id, links.arm, links.ordinal, links.replay_id, links.reused)
        events = select(func.count()).where(webhook_deliveries.c.event == ENDED)
        with self.site.world.container.database.read() as connection:
            rows = {row.id: row._mapping for row in connection.execute(select(*columns))}
            linked = connection.execute(select(*link_columns).order_by(links.ordinal)).all()
            ended_events = connection.scalar(events)
        for row_id, row in rows.items():
            self._check_experiment(self.experiments.get(row_id), row)
        ended = [row_id for row_id, row in rows.items() if row["status"] not in UNFINISHED]
        self.require(ended_events == len(ended), f"{len(ended)} experiments have ended with {ended_events} events")
        self._check_links(linked, ended)
        self.experiments = rows

    def _check_experiment(self, before: Row | None, row: Row) -> None:
        if before is not None and before["status"] not in UNFINISHED:
            self.require(row == before, "an experiment that had ended was changed")
        is_ended = row["status"] not in UNFINISHED
        self.require(bool(row["has_result"]) == is_ended, "an experiment has ended without its result")
        self.require((row["finished_at"] is not None) == is_ended, "an experiment has ended without a time")
        self.require((row["verdict"] is not None) == (row["status"] == "finished"), "an experiment without a verdict")

    def _check_links(self, linked: Any, ended: list[int]) -> None:
        of_series, in_work = defaultdict(list), defaultdict(int)
        for link in linked:
            of_series[link.experiment_id, link.arm].append(link.ordinal)
            in_work[link.experiment_id] += is_open(self.before[link.replay_id])
        for ordinals in of_series.values():
            self.require(ordinals == list(range(len(ordinals))), f"the replays {ordinals} of one side")
            self.require(len(ordinals) <= REPEATS_MAX, "more replays than were requested")
        self.require(max(in_work.values(), default=0) <= IN_WORK_MAX, "too many replays are in work")
        started = [link.replay_id for link in linked if not link.reused]
        self.require(sorted(started) == sorted(self.before), "a replay that belongs to no experiment, or to two")
        users = {link.replay_id for link in linked if link.experiment_id not in ended}
        left = [row_id for row_id, row in self.before.items() if is_open(row) and row_id not in users]
        self.require(not left, "an experiment has ended and left a replay open")

    def sweeps(self, station: Station) -> list[Callable[[], object]]:
        delivery = station.experiments

        def advance() -> None:
            for experiment_id in delivery.advancer.behind():
                delivery.advance(experiment_id)

        return [station.replays.sweep, advance]

    def check_end(self) -> None:
        self.require(set(self.accepted) <= self.experiments.keys(), "an accepted experiment is missing")

    def asked(self, nth: int) -> Callable[[Station], object]:
        """A caller starts an experiment, or cancels one."""
        is_full = len(self.experiments) == EXPERIMENTS_MAX
        is_cancelled = is_full or (self.experiments and nth == 0)
        if is_cancelled:
            return self.cancelling(nth)
        self.change_outside(nth)
        return self.starting(reuse=nth % 2 == 0)

    def starting(self, *, reuse: bool) -> Callable[[Station], object]:
        new = NewExperiment(repeats_min=REPEATS_MIN, repeats_max=REPEATS_MAX, reuse=reuse)

        def work(station: Station) -> None:
            key = {"project_id": self.site.world.project_id, "prompt_id": self.site.prompt_id}
            try:
                row = station.container.services.experiments.start(**key, new=new)
            except Unavailable:
                return
            self.accepted.append(row.id)
            station.experiments.begin(row)

        return work

    def cancelling(self, nth: int) -> Callable[[Station], object]:
        experiment_id = nth_of(sorted(self.experiments), nth)
        key = {"project_id": self.site.world.project_id, "experiment_id": experiment_id}

        def work(station: Station) -> None:
            try:
                station.container.services.experiments.cancel(**key)
            except (Conflict, Unavailable):
                return

        return work

    def change_outside(self, nth: int) -> None:
        self.site.outside.wrong_every = nth % 4
