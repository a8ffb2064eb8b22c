"""A heartbeat is written while there is work, and notices that the work is no longer its worker's."""

import threading
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from sqlalchemy import select, update

from app.database.transactions import Database
from app.errors import Unavailable
from app.work.heartbeat import Heartbeat
from tests.support.waiting import wait_until
from tests.unit.work.conftest import JOBS, NOW, WORK


def clock() -> Callable[[], datetime]:
    seconds = count(1)
    return lambda: NOW + timedelta(seconds=next(seconds))


def heartbeat(database: Database, progress: Callable[[], Mapping[str, Any]] = dict) -> Heartbeat:
    return Heartbeat(database=database, now=clock(), table=WORK, every_s=0.02, progress=progress)


def claim(database: Database, job: int, token: str) -> None:
    with database.write() as connection:
        assert WORK.claim(connection, [job], token=token, now=NOW)


def column(database: Database, job: int, name: str) -> Any:
    with database.read() as connection:
        return connection.scalar(select(JOBS.c[name]).where(JOBS.c.id == job))


def test_progress_is_written_with_each_heartbeat(database: Database, job: int) -> None:
    claim(database, job, "mine")
    steps = count(1)
    beats = heartbeat(database, lambda: {"done": next(steps)})
    with beats.of(job, "mine"):
        wait_until(lambda: column(database, job, "done") >= 3, "the progress")

    assert not beats.lost()


def test_a_worker_notices_that_its_row_was_given_to_another_one(database: Database, job: int) -> None:
    claim(database, job, "mine")
    beats = heartbeat(database)
    with beats.of(job, "mine"):
        with database.write() as connection:
            connection.execute(update(JOBS).where(JOBS.c.id == job).values(claim="theirs", alive_at=NOW))
        wait_until(beats.lost, "the loss")

    assert column(database, job, "alive_at") == NOW


def test_a_worker_keeps_its_row_while_the_database_is_away(database: Database, job: int, monkeypatch) -> None:
    claim(database, job, "mine")
    beats, tried = heartbeat(database), threading.Event()

    def away(*_: Any, **__: Any) -> int:
        tried.set()
        raise Unavailable("away")

    with beats.of(job, "mine"):
        with monkeypatch.context() as outage:
            outage.setattr(type(WORK), "touch", away)
            assert tried.wait(60)
            assert not beats.lost()
        before = column(database, job, "alive_at")
        wait_until(lambda: column(database, job, "alive_at") != before, "the next heartbeat")


def test_a_process_that_was_stopped_looks_for_its_claim_before_it_goes_on(database: Database, job: int) -> None:
    claim(database, job, "mine")
    seconds = 0.0
    beats = Heartbeat(database=database, now=clock(), table=WORK, every_s=3600, monotonic=lambda: seconds)
    with beats.of(job, "mine"):
        with database.write() as connection:
            connection.execute(update(JOBS).where(JOBS.c.id == job).values(claim="theirs", alive_at=NOW))
        assert not beats.lost(), "a worker does not look at each of its steps"
        seconds += 9 * 3600
        assert beats.lost()
    beats = Heartbeat(database=database, now=clock(), table=WORK, every_s=3600, monotonic=lambda: seconds)
    seconds += 9 * 3600
    assert not beats.lost(), "it has no claims"
