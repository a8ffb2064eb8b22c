"""The states of runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from sqlalchemy import func, select

from app.errors import Unavailable
from app.models.runs import UNFINISHED, runs
from app.models.usage import usage_daily
from app.services.runs.new_runs import Idempotency
from app.services.runs.outcome import NOT_CALLED
from app.services.runs.request import RunCommand
from app.services.runs.sweeper import RunSweeper
from tests.states.machine import Machine
from tests.states.site import CLOCK, WEB, WORKERS, Site, Station
from tests.states.steps import Row, Rows

RUNS_MAX = 10


class Runs(Machine):
    """A run has one owner, calls its model once, ends once, and is counted once when it ends."""

    dead_after_s = RunSweeper.stale_s

    def __init__(self, site: Site) -> None:
        self.owners: dict[str, str] = {}
        self.started = 0
        self.accepted: list[int] = []
        super().__init__(site)

    def rows(self) -> Rows:
        c = runs.c
        columns = (c.id, c.status, c.claim, c.question, c.answer, c.outcome, c.error_kind, c.finished_at)
        with self.site.world.container.database.read() as connection:
            return {row.id: row._mapping for row in connection.execute(select(*columns))}

    def is_open(self, row: Row) -> bool:
        return row["status"] in UNFINISHED

    def check_change(self, name: str, before: Row | None, after: Row) -> None:
        if before is None:
            self.require(name == WEB and after["status"] == "queued", f"{name} has made a run")
            return
        self.require(self.is_open(before), f"{name} has changed a run that had ended")
        if after["status"] == "running":
            self.require(before["status"] == "queued" and name in WORKERS, f"{name} has claimed a run in work")
            self.owners[after["claim"]] = name
        elif before["status"] == "running" and name != CLOCK:
            self.require(self.owners[before["claim"]] == name, f"{name} has ended another worker's run")
        self.require(self._is_whole(after), f"{name} has stored {dict(after)}")

    def _is_whole(self, row: Row) -> bool:
        is_done = row["status"] == "done"
        is_answered = row["answer"] == row["question"] and row["outcome"] is not None
        return is_answered == is_done and (row["finished_at"] is None) == self.is_open(row)

    def check(self) -> None:
        calls = Counter(self.site.outside.questions)
        self.require(max(calls.values(), default=1) == 1, "a model was called twice for a run")
        ended = sum(not self.is_open(row) for row in self.before.values())
        with self.site.world.container.database.read() as connection:
            counted = connection.scalar(select(func.coalesce(func.sum(usage_daily.c.runs), 0)))
        self.require(counted == ended, f"{ended} runs have ended, and {counted} are counted")
        # A request that is repeated after a run without a call makes another run with the same question.
        callable_ = Counter(row["question"] for row in self.before.values() if row["error_kind"] not in NOT_CALLED)
        for question, number in calls.items():
            self.require(number <= callable_[question], "a run that was not called was called")

    def sweeps(self, station: Station) -> list[Callable[[], object]]:
        return [station.runs.sweep]

    def check_end(self) -> None:
        self.require(set(self.accepted) <= self.before.keys(), "an accepted run is missing")

    def asked(self, nth: int) -> Callable[[Station], object]:
        """A caller starts a run; those with the key `a` are repetitions of one request."""
        self.started += 1
        key = "a" if self.started >= RUNS_MAX or nth % 3 == 0 else ""
        question = f"Question {key or self.started}"

        def work(station: Station) -> None:
            service, project_id = station.runs.runs, self.site.world.project_id
            command = RunCommand(self.site.prompt_id, question, productive=False)
            idempotency = Idempotency.of(self.site.key_id, key, b"") if key else None
            try:
                started = service.start(command, project_id=project_id, idempotency=idempotency)
                station.runs.send(started)
            except Unavailable:
                return
            self.accepted.append(started.run_id)

        return work
