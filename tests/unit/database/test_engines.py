"""Connections to MySQL end their waits at the deadline, and a cut connection is not used again."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.concurrency.deadline import ServerTimeout, within
from app.database.engines import POOL_WAIT_S, build_engine
from app.database.transactions import Database, ServerHangs, build_database
from app.errors import Unavailable
from tests.support.mariadb import MariaDB
from tests.support.still_server import Behaviour, StillServer
from tests.support.waiting import wait_until

pytestmark = pytest.mark.services
SOON_S = 0.3
# Less than the driver's time-outs, and enough for a busy machine.
IN_TIME_S = 9.0


@pytest.fixture
def in_front(mariadb: MariaDB) -> Iterator[StillServer]:
    with StillServer(mariadb.port) as server:
        yield server


@pytest.fixture
def url(mariadb: MariaDB, in_front: StillServer, mysql_url: str) -> str:
    return mysql_url.replace(f":{mariadb.port}/", f":{in_front.port}/")


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    built = build_database(url, pool_size=4, on_lock_retry=lambda: None, on_pool_timeout=lambda: None)
    yield built
    built.dispose()


def ask(database: Database, statement: str = "SELECT 7") -> int:
    with database.read() as connection:
        return int(connection.execute(text(statement)).scalar_one())


@pytest.mark.parametrize("behaviour", ["silent", "dripping"])
def test_a_connection_is_waited_for_until_the_deadline(url: str, in_front: StillServer, behaviour: Behaviour) -> None:
    engine, began = build_engine(url), time.monotonic()
    with in_front.stands_still(behaviour), within(SOON_S), pytest.raises(OperationalError) as raised:
        engine.connect()
    assert isinstance(raised.value.orig, ServerTimeout)
    assert time.monotonic() - began < IN_TIME_S
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT 7")) == 7
    engine.dispose()


@pytest.mark.parametrize("behaviour", ["silent", "dripping"])
def test_a_statement_is_waited_for_until_the_deadline(
    database: Database, in_front: StillServer, behaviour: Behaviour
) -> None:
    assert ask(database) == 7
    began = time.monotonic()
    with in_front.stands_still(behaviour), within(SOON_S), pytest.raises(Unavailable):
        ask(database)
    assert time.monotonic() - began < IN_TIME_S
    assert ask(database) == 7


def test_a_free_connection_is_waited_for_until_the_deadline(url: str) -> None:
    engine = build_engine(url, pool_size=1)
    with engine.connect():
        began = time.monotonic()
        with within(SOON_S), pytest.raises(PoolTimeout):
            engine.connect()
        assert time.monotonic() - began < POOL_WAIT_S
    engine.dispose()


def test_a_connection_that_was_cut_while_it_was_idle_in_its_block_is_replaced(database: Database) -> None:
    """Its thread computes at the deadline, and executes nothing after it."""
    with within(SOON_S), database.read() as connection:
        cut = connection.connection.driver_connection
        wait_until(lambda: cut._wait.ended, "the connection to be cut")  # type: ignore[union-attr]
    assert ask(database) == 7
    with database.read() as connection:
        assert connection.connection.driver_connection is not cut


def test_a_change_past_its_deadline_is_not_committed(database: Database) -> None:
    with database.write() as connection:
        connection.execute(text("CREATE TABLE late (n INT)"))

    def change_slowly() -> None:
        with within(SOON_S), database.write() as connection:
            connection.execute(text("INSERT INTO late VALUES (1)"))
            connection.execute(text("DO SLEEP(2)"))

    with pytest.raises(Unavailable):
        change_slowly()
    assert ask(database, "SELECT count(*) FROM late") == 0


def test_after_a_statement_to_a_server_that_hangs_one_asks_it_and_the_others_fail_at_once(
    database: Database, in_front: StillServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.database.engines.OUTAGE_S", 0)
    assert ask(database) == 7
    for breaker in database._breakers.values():
        breaker.monotonic = lambda: 0.0  # no time passes in which it would be asked again
    with in_front.stands_still("silent"):
        for _ in range(2):
            with within(SOON_S), pytest.raises(Unavailable, match=r"is not available|does not answer"):
                ask(database)
        for _ in range(20):
            with pytest.raises(Unavailable, match="not asked again"):
                ask(database)


def test_a_slow_statement_makes_no_other_fail_while_the_server_answers_others(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.database.engines.OUTAGE_S", 0)
    slow_ended = threading.Event()

    def slow() -> None:
        with pytest.raises(Unavailable), within(SOON_S):
            ask(database, "SELECT SLEEP(5)")
        slow_ended.set()

    thread = threading.Thread(target=slow)
    thread.start()
    while not slow_ended.is_set():
        assert ask(database) == 7
    thread.join()
    assert ask(database) == 7


def test_a_slow_statement_makes_no_other_fail_after_it(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.database.engines.OUTAGE_S", 0)
    with pytest.raises(Unavailable), within(SOON_S):
        ask(database, "SELECT SLEEP(5)")
    assert ask(database) == 7


def test_a_short_deadline_shows_no_outage(
    database: Database, in_front: StillServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.database.transactions.OUTAGE_S", math.inf)
    with in_front.stands_still("silent"), within(SOON_S), pytest.raises(Unavailable) as raised:
        ask(database)
    assert not isinstance(raised.value, ServerHangs)
    assert ask(database) == 7


def test_without_a_deadline_a_server_that_drips_is_connected_to_for_some_seconds(
    url: str, in_front: StillServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.database.engines.CONNECT_S", SOON_S)
    engine = build_engine(url)
    with in_front.stands_still("dripping"), pytest.raises(OperationalError):
        engine.connect()
    engine.dispose()
