"""What a caller gets of a database that hangs, and when a transaction is made again."""

import ast
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

import pytest
from sqlalchemy import QueuePool, create_engine, text
from sqlalchemy.exc import OperationalError

from app.concurrency.deadline import within
from app.database.engines import build_engine
from app.database.transactions import LOCK_ATTEMPTS, Database, LockConflict, build_database, retried, translated
from app.errors import Unavailable
from tests.support.waiting import wait_until


@pytest.fixture
def timeouts() -> list[None]:
    return []


@pytest.fixture
def database(tmp_path: Path, timeouts: list[None]) -> Iterator[Database]:
    """With one connection."""
    engine = create_engine(
        f"sqlite:///{tmp_path / 'db'}", poolclass=QueuePool, pool_size=1, max_overflow=0, pool_timeout=0.05
    )
    yield Database(engine, on_pool_timeout=lambda: timeouts.append(None))
    engine.dispose()


@pytest.mark.parametrize(("left_s", "words"), [(0, "another change holds the same rows"), (60, "is not available")])
def test_a_statement_that_its_deadline_ended_may_have_waited_for_rows(left_s: float, words: str) -> None:
    with within(left_s), pytest.raises(Unavailable, match=words), translated():
        raise OperationalError("UPDATE prompts", {}, Exception(2013, "Lost connection"))


def ask(database: Database) -> int:
    with database.read() as connection:
        return int(connection.execute(text("SELECT 7")).scalar_one())


def test_after_one_time_out_no_other_waits(database: Database, timeouts: list[None]) -> None:
    for breaker in database._breakers.values():
        breaker.monotonic = lambda: 0.0
    with database.read():
        with pytest.raises(Unavailable, match="All database connections are in use"):
            ask(database)
        for _ in range(50):
            with pytest.raises(Unavailable, match="not asked again"):
                ask(database)

    assert len(timeouts) == 1


@pytest.mark.slow
def test_it_is_asked_again_when_connections_came_back(database: Database) -> None:
    with database.read(), pytest.raises(Unavailable):
        ask(database)

    def answered() -> bool:
        try:
            return ask(database) == 7
        except Unavailable:
            return False

    wait_until(answered, "the database to be asked again")
    assert [ask(database) for _ in range(3)] == [7, 7, 7]


def test_a_change_of_one_statement_is_kept(database: Database) -> None:
    database.retrying(lambda connection: connection.execute(text("CREATE TABLE t (n INT)")), single=True)
    database.retrying(lambda connection: connection.execute(text("INSERT INTO t VALUES (1)")), single=True)

    with database.read() as connection:
        assert connection.scalar(text("SELECT count(*) FROM t")) == 1


@dataclass
class Counting:
    """A service with a transaction that MySQL gives up so many times; `made` are the begun ones."""

    database: Database
    conflicts: int
    made: int = 0

    @retried
    def insert(self, number: int) -> int:
        with self.database.write() as connection:
            self.made += 1
            connection.execute(text("INSERT INTO t VALUES (:number)"), {"number": number})
            if self.made <= self.conflicts:
                raise LockConflict("The database is busy; try again.")
        return number


@pytest.mark.parametrize("conflicts", [0, 1, LOCK_ATTEMPTS - 1])
def test_a_method_is_called_again_when_its_transaction_was_given_up(database: Database, conflicts: int) -> None:
    database.retrying(lambda connection: connection.execute(text("CREATE TABLE t (n INT)")))
    service = Counting(database, conflicts)
    assert service.insert(number=7) == 7
    assert service.made == conflicts + 1
    with database.read() as connection:
        assert connection.execute(text("SELECT n FROM t")).scalars().all() == [7]


@pytest.mark.slow
def test_a_method_fails_when_its_transaction_is_given_up_again_and_again(database: Database) -> None:
    database.retrying(lambda connection: connection.execute(text("CREATE TABLE t (n INT)")))
    service = Counting(database, LOCK_ATTEMPTS)
    with pytest.raises(LockConflict):
        service.insert(7)
    assert service.made == LOCK_ATTEMPTS


def test_a_method_that_waited_long_for_a_lock_does_not_wait_again(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.database.transactions.LOCK_WAIT_S", 0)
    database.retrying(lambda connection: connection.execute(text("CREATE TABLE t (n INT)")))
    service = Counting(database, 1)
    with pytest.raises(LockConflict):
        service.insert(7)
    assert service.made == 1


@pytest.mark.slow
def test_every_change_is_tried_again_when_its_transaction_was_given_up() -> None:
    """Those of services are made by `Database.retrying`, or by a method that is `retried`."""
    changes, once = 0, []
    for path in sorted(Path("app/services").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and ".database.write()" in ast.unparse(node):
                changes += 1
                if "retried" not in map(ast.unparse, node.decorator_list):
                    once.append(f"{path}: {node.name}")
    assert changes > 30
    assert once == []


class Door:
    """A lock that counts who waits for it, and who waited at most."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.counting = threading.Lock()
        self.before = self.most = 0

    def acquire(self, timeout: float) -> bool:
        self.count(1)
        acquired = self.lock.acquire(timeout=timeout)
        self.count(-1)
        return acquired

    def count(self, by: int) -> None:
        with self.counting:
            self.before += by
            self.most = max(self.most, self.before)

    def release(self) -> None:
        self.lock.release()


def test_changes_in_the_background_let_others_go_first(database: Database) -> None:
    """One of them at a time waits next to the others, so that a run never waits for all of them."""
    order: list[str] = []
    door = database._thread_lock = Door()  # type: ignore[assignment]
    background = database.background

    def change(of: Database, name: str) -> None:
        with of.write():
            order.append(name)

    with ThreadPoolExecutor(21) as pool, database.write():
        for _ in range(20):
            pool.submit(change, background, "background")
        wait_until(lambda: door.before >= 1, "one of them to wait for the writer, and the others for that one")
        pool.submit(change, database, "run")
        wait_until(lambda: door.before >= 2, "the run to wait next to it")
    assert (len(order), door.most) == (21, 2)


def test_sqlite_gets_times_of_plain_statements_as_sqlalchemy_writes_them(tmp_path: Path) -> None:
    engine = build_engine(f"sqlite:///{tmp_path}/dates.db")
    with engine.connect() as connection:
        found = connection.exec_driver_sql("SELECT ?, ?", (datetime(2026, 11, 23, 4, 5), date(2026, 11, 23))).one()  # noqa: DTZ001 - as the driver gets it
    engine.dispose()
    assert tuple(found) == ("2026-11-23 04:05:00.000000", "2026-11-23")


@pytest.mark.services
def test_a_change_ends_with_its_commit_and_one_that_fails_with_a_rollback(mysql_url: str) -> None:
    database = Database(build_engine(mysql_url, pool_size=1))

    def rollbacks() -> int:
        with database.write() as connection:
            status = dict(connection.execute(text("SHOW SESSION STATUS LIKE 'Com_rollback'")).all())
        return int(status["Com_rollback"])

    with database.write() as connection:
        connection.execute(text("CREATE TABLE kept (n INT)"))
    before = rollbacks()
    for number in range(3):
        with database.write() as connection:
            connection.execute(text(f"INSERT INTO kept VALUES ({number})"))
    assert rollbacks() == before

    with suppress(RuntimeError), database.write() as connection:
        connection.execute(text("INSERT INTO kept VALUES (7)"))
        raise RuntimeError
    # What leaves a connection without an end of its transaction is rolled back by the pool.
    with database.engine.connect() as connection:
        raw = connection.connection.cursor()
        raw.execute("INSERT INTO kept VALUES (8)")
    with database.write() as connection:
        assert connection.scalars(text("SELECT n FROM kept ORDER BY n")).all() == [0, 1, 2]
    database.dispose()


def test_the_connection_that_was_used_last_is_used_next(tmp_path: Path, mysql_url: str) -> None:
    for url in (f"sqlite:///{tmp_path / 'db'}", mysql_url):
        engine = build_engine(url)
        with engine.connect() as goes_back_last, engine.connect():
            used = goes_back_last.connection.driver_connection
        with engine.connect() as connection:
            assert connection.connection.driver_connection is used
        engine.dispose()


@pytest.mark.services
def test_a_block_of_queries_sees_new_commits_on_mysql_and_one_moment_on_sqlite(tmp_path: Path, mysql_url: str) -> None:
    for url, seen in ((f"sqlite:///{tmp_path / 'db'}", 0), (mysql_url, 1)):
        database = build_database(url, pool_size=4, on_lock_retry=lambda: None, on_pool_timeout=lambda: None)
        with database.write() as connection:
            connection.execute(text("CREATE TABLE kept (n INTEGER)"))
        with database.read() as connection:
            assert connection.scalar(text("SELECT COUNT(*) FROM kept")) == 0
            with database.write() as other:
                other.execute(text("INSERT INTO kept VALUES (1)"))
            assert connection.scalar(text("SELECT COUNT(*) FROM kept")) == seen
        database.dispose()
