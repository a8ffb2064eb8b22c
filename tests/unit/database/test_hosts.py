"""Several hosts of a database: each is watched once, and left when it does not answer, not when it has no room."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock

import pytest
import structlog
from sqlalchemy import text

from app.database import hosts as database_hosts
from app.database.engines import STATEMENT_S
from app.database.hosts import UNANSWERED, DatabaseHosts
from app.database.transactions import Database, build_database
from app.errors import Unavailable
from tests.support.mariadb import PASSWORD, USER, MariaDB
from tests.support.waiting import LOOPBACK, free_port, wait_until

pytestmark = pytest.mark.services
LIMITED = "limited"


def beside_one_that_is_down(url: str) -> Database:
    server, _, name = url.rpartition("/")
    url = f"{server},{LOOPBACK}:{free_port()}/{name}"
    return build_database(url, pool_size=2, on_lock_retry=lambda: None, on_pool_timeout=lambda: None)


@pytest.fixture
def database(mysql_url: str) -> Iterator[Database]:
    built = beside_one_that_is_down(mysql_url)
    yield built
    built.dispose()


@pytest.fixture
def of_one_connection(mysql_url: str, mariadb: MariaDB) -> Iterator[Database]:
    """The database for a user who may have one connection."""
    mariadb.execute(f"CREATE USER {LIMITED}@'%' IDENTIFIED BY '{PASSWORD}' WITH MAX_USER_CONNECTIONS 1")
    mariadb.execute(f"GRANT ALL ON {mysql_url.rpartition('/')[2]}.* TO {LIMITED}@'%'")
    built = beside_one_that_is_down(mysql_url.replace(f"//{USER}:", f"//{LIMITED}:"))
    yield built
    built.dispose()
    mariadb.execute(f"DROP USER {LIMITED}@'%'")


@pytest.fixture
def errors(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the errors by which connections were refused; servers are asked a hundred times a second."""
    import MySQLdb  # compiled, so not on every machine

    found: list[int] = []
    opened = DatabaseHosts._open

    def noted(*args: Any) -> Any:
        try:
            return opened(*args)
        except MySQLdb.Error as error:
            found.append(error.args[0])
            raise

    monkeypatch.setattr(DatabaseHosts, "_open", staticmethod(noted))
    monkeypatch.setattr(database_hosts, "WATCH_S", 0.01)
    return found


def test_a_server_that_accepts_no_more_connections_keeps_those_that_it_has(
    of_one_connection: Database, errors: list[int]
) -> None:
    with of_one_connection.write() as connection:
        wait_until(lambda: len(errors) > 3 * UNANSWERED, "the server to refuse further ones")
        assert set(errors) == {1226}
        assert connection.scalar(text("SELECT 7")) == 7


def test_a_server_that_does_not_answer_is_left_and_reported_once(
    database: Database, mariadb: MariaDB, errors: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the statement that waits for the server ends."""
    from MySQLdb import OperationalError

    def lost_while_a_statement_waits(*_: Any) -> None:
        if ("User sleep",) in mariadb.execute("SELECT state FROM information_schema.processlist"):
            raise OperationalError(2013, "Lost connection to server during query")

    def use() -> None:
        with database.write() as connection:
            monkeypatch.setattr(database_hosts, "_prepare", lost_while_a_statement_waits)
            connection.execute(text(f"DO SLEEP({STATEMENT_S - 5})"))

    with structlog.testing.capture_logs() as logs, database.read():
        with pytest.raises(Unavailable):
            use()
        # The other connection still has the server watched.
        wait_until(lambda: len(errors) > 3 * UNANSWERED, "the server to be asked again and again")
    assert [line["event"] for line in logs].count("database_host_left") == 1


def test_a_server_that_answers_now_and_then_is_kept(
    database: Database, errors: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    from MySQLdb import OperationalError

    lost, refused = OperationalError(2013, "Lost connection to server"), OperationalError(1040, "Too many connections")
    with database.write() as connection:
        monkeypatch.setattr(database_hosts, "_prepare", Mock(side_effect=itertools.cycle((lost, refused))))
        wait_until(lambda: len(errors) > 3 * UNANSWERED, "the server to be asked again and again")
        assert connection.scalar(text("SELECT 7")) == 7


def test_a_connection_that_is_made_while_the_thread_ends_begins_another_one() -> None:
    hosts = DatabaseHosts([])
    hosts._watcher = threading.current_thread()
    hosts._watch(None, (), {})
    assert hosts._watcher is None


def test_the_hosts_of_both_engines_are_watched_by_one_thread(database: Database) -> None:
    before = set(threading.enumerate())
    with database.read() as reading, database.write() as writing:
        assert {reading.scalar(text("SELECT 7")), writing.scalar(text("SELECT 7"))} == {7}
        assert [one.name for one in set(threading.enumerate()) - before] == ["database-hosts"]
