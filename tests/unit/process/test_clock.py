"""The clock does each job when it is due, whatever becomes of the others."""

import threading

from app.errors import Unavailable
from app.metrics import Metrics
from app.metrics.registry import CLOCK_JOBS
from app.process.clock import PeriodicJob, run


class Tally:
    """Counts calls, and stops the clock at the last one that is wanted."""

    def __init__(self, stop: threading.Event, wanted: int) -> None:
        self.calls = 0
        self._stop, self._wanted = stop, wanted

    def __call__(self) -> None:
        self.calls += 1
        if self.calls == self._wanted:
            self._stop.set()


def test_a_job_is_done_again_and_again() -> None:
    stop = threading.Event()
    tally = Tally(stop, 3)
    run([PeriodicJob("often", 0, tally)], stop, Metrics())
    assert tally.calls == 3


def test_a_job_is_not_done_before_it_is_due_again() -> None:
    stop = threading.Event()
    rarely, often = Tally(stop, 0), Tally(stop, 5)
    run([PeriodicJob("rarely", 3600, rarely), PeriodicJob("often", 0, often)], stop, Metrics())
    assert (rarely.calls, often.calls) == (1, 5)


def test_a_failing_job_stops_neither_itself_nor_the_others() -> None:
    stop = threading.Event()
    failures, tally = Tally(stop, 0), Tally(stop, 3)

    def fail() -> None:
        failures()
        raise Unavailable("The database is not available; try again.")

    metrics = Metrics()
    run([PeriodicJob("failing", 0, fail), PeriodicJob("well", 0, tally)], stop, metrics)
    assert (failures.calls, tally.calls) == (3, 3)
    assert metrics.pending() == {(CLOCK_JOBS, ("failing", "failed"), ""): 3, (CLOCK_JOBS, ("well", "done"), ""): 3}


def test_nothing_to_do_waits_for_the_end() -> None:
    stop = threading.Event()
    stop.set()
    run([], stop, Metrics())
