"""The clock does each job when it is due, whatever becomes of the others."""

import threading
import time

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
    begun = threading.Event()

    def note() -> None:
        rarely()
        begun.set()

    def follow() -> None:
        assert begun.wait(10)
        often()

    run([PeriodicJob("rarely", 3600, note), PeriodicJob("often", 0, follow)], stop, Metrics())
    assert (rarely.calls, often.calls) == (1, 5)


def test_a_job_that_hangs_holds_up_no_other() -> None:
    stop = threading.Event()
    tally = Tally(stop, 3)
    run([PeriodicJob("hanging", 0, lambda: stop.wait(10)), PeriodicJob("well", 0, tally)], stop, Metrics())
    assert tally.calls == 3


def test_the_clock_ends_after_the_job_that_is_in_work() -> None:
    stop = threading.Event()
    ended: list[bool] = []

    def work() -> None:
        stop.set()
        time.sleep(0.01)
        ended.append(True)

    run([PeriodicJob("long", 0, work)], stop, Metrics())
    assert ended == [True]


def test_a_failing_job_stops_neither_itself_nor_the_others() -> None:
    stop = threading.Event()
    failures, tally = Tally(stop, 0), Tally(stop, 3)

    def fail() -> None:
        failures()
        raise Unavailable("The database is not available; try again.")

    def follow() -> None:
        while failures.calls <= tally.calls:
            time.sleep(0.001)
        tally()

    metrics = Metrics()
    run([PeriodicJob("failing", 0, fail), PeriodicJob("well", 0, follow)], stop, metrics)
    assert (failures.calls >= 3, tally.calls) == (True, 3)
    counts = metrics.pending()
    assert counts[CLOCK_JOBS, ("failing", "failed"), ""] == failures.calls
    assert counts[CLOCK_JOBS, ("well", "done"), ""] == 3


def test_nothing_to_do_waits_for_the_end() -> None:
    stop = threading.Event()
    stop.set()
    run([], stop, Metrics())
