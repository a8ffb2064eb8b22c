"""What the processes of a site do, one step at a time, and the checks of each step; after the faults all work ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn, TypeVar

import redis
from dramatiq import Message

from app.errors import Unavailable
from tests.states.processes import Killed, Process
from tests.states.site import CLOCK, WEB, WORKERS, Site, Station

ROUND_S = 6.0
"""The time between two rounds of the clock, the most that it counts."""
ROUNDS_MAX = 40
"""Rounds of the clock until all work has ended, after the faults."""

T = TypeVar("T")
Row = Mapping[str, Any]
Rows = dict[int, Row]


def nth_of(members: Sequence[T], nth: int) -> T:
    return members[nth % len(members)]


class Broken(AssertionError):
    """A promise was broken, in an example that is counted from 1."""

    example = 0


class Steps:
    """The processes of a site; a subclass adds the work and its promises."""

    def __init__(self, site: Site) -> None:
        super().__init__()
        self.site = site
        self.is_settling = False
        self.problem: Broken | None = None
        site.empty()
        self.before = self.rows()

    # What a subclass defines.

    def rows(self) -> Rows:
        """Return the rows that are checked when they change, by id."""
        raise NotImplementedError

    def check_change(self, name: str, before: Row | None, after: Row) -> None:
        """Check what a step of a process has done to a row."""
        raise NotImplementedError

    def check(self) -> None:
        """Check what holds after each step."""

    def sweeps(self, station: Station) -> list[Callable[[], object]]:
        """Return the clock's jobs."""
        raise NotImplementedError

    def asked(self, nth: int) -> Callable[[Station], object]:
        """Return the work of a request."""
        raise NotImplementedError

    def is_open(self, row: Row) -> bool:
        """Return whether a row has not ended."""
        raise NotImplementedError

    @property
    def is_done(self) -> bool:
        """Whether all work has ended."""
        return not any(map(self.is_open, self.before.values()))

    def check_end(self) -> None:
        """Check what holds when all work has ended."""

    def change_outside(self, nth: int) -> None:
        """Something outside of the processes changes."""

    # Steps.

    def require(self, holds: object, what: str) -> None:
        if not holds:
            self.fail(what)

    def fail(self, what: str, cause: BaseException | None = None) -> NoReturn:
        self.problem = Broken(what)
        raise self.problem from cause

    def go(self, name: str) -> None:
        """Do one step of a process, and check what others can see of it, also in a transaction."""
        process = self.site.stations[name].process
        error = process.go()
        while process.is_busy and process.in_transaction:
            process.has_acted()
            self.observe(name)
            error = process.go()
        if error is not None and not isinstance(error, Unavailable):
            if not isinstance(error, Killed):
                self.fail(f"{name} has failed: {error!r}", error)
            self.restart(name)
        if process.has_acted():
            self.observe(name)

    def restart(self, name: str) -> None:
        self.site.stations[name].process.restart()
        self.site.stations[name].restart()

    def observe(self, name: str) -> None:
        rows = self.rows()
        for row_id, row in rows.items():
            before = self.before.get(row_id)
            if row != before:
                self.check_change(name, before, row)
        self.require(self.before.keys() <= rows.keys(), "a row was removed")
        self.before = rows
        self.check()

    def begin(self, name: str, work: Callable[[Station], object]) -> None:
        station = self.site.stations[name]
        station.process.begin(lambda: work(station))

    def finish(self, name: str) -> None:
        while self.is_busy(name):
            self.go(name)

    def go_on(self, name: str, changes: int, queries: int) -> None:
        """Let a process make so many changes, then so many queries."""
        for _ in range(changes):
            if self.is_busy(name):
                self.go(name)
            while self.is_busy(name) and self.process(name).next == "query":
                self.go(name)
        for _ in range(queries):
            if self.is_busy(name):
                self.go(name)

    def process(self, name: str) -> Process:
        return self.site.stations[name].process

    def is_busy(self, name: str) -> bool:
        return self.process(name).is_busy

    @property
    def busy(self) -> list[str]:
        """The names of the processes with work."""
        return [name for name in self.site.stations if self.is_busy(name)]

    def ask(self, nth: int) -> str:
        """The web process begins work that a caller asks for."""
        self.begin(WEB, self.asked(nth))
        return WEB

    def receive(self, worker: str, message: Message[Any], *, is_copied: bool) -> str:
        """A worker receives a message, which may come once more."""
        messages = self.site.outside.mail.messages
        if not is_copied:
            messages.remove(message)

        def work(station: Station) -> None:
            try:
                station.receive(message)
            except Unavailable:  # Dramatiq sends it again
                messages.append(message)

        self.begin(worker, work)
        return worker

    def sweep(self, job: Callable[[], object], name: str = CLOCK) -> str:
        """A clock begins one of its jobs."""
        self.site.time.seconds += ROUND_S

        def work(_station: Station) -> None:
            # The clock logs such an error, and does the job again in its next round.
            with suppress(Unavailable, redis.RedisError):
                job()

        self.begin(name, work)
        return name

    def receive_all(self, worker: str) -> None:
        messages = self.site.outside.mail.messages
        while messages:
            self.receive(worker, messages[0], is_copied=False)
            self.finish(worker)

    def do_round(self) -> None:
        self.finish(CLOCK)
        for job in self.sweeps(self.site.stations[CLOCK]):
            self.sweep(job)
            self.finish(CLOCK)

    def settle(self) -> None:
        """Let all processes go on without faults until no work is left, and check the result."""
        self.is_settling = True
        self.site.outside.repair()
        for station in self.site.stations.values():
            station.process.be_whole()
        for name in (WEB, *WORKERS, CLOCK):
            self.finish(name)
        for number in range(ROUNDS_MAX):
            self.receive_all(WORKERS[number % len(WORKERS)])
            if self.is_done:
                self.check_end()
                return
            self.do_round()
        self.fail(f"work never ends: {list(self.before.values())}")

    def warm_up(self) -> None:
        """Do undisturbed work in each process, so that each has cached what it caches."""
        for worker in WORKERS:
            self.ask(1)
            self.finish(WEB)
            self.receive_all(worker)
            self.do_round()
        self.settle()
