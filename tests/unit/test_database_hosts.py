"""Several hosts of a database: each is watched once, and left when it does not answer, not when it has no room."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import make_url, text

from app import database_hosts
from app.database_hosts import UNANSWERED, DatabaseHosts
from app.db import Database, build_database
from tests.support.mariadb import MariaDB
from tests.support.waiting import LOOPBACK, free_port, wait_until

pytestmark = pytest.mark.services
USER = "with_one_connection"


@pytest.fixture
def database(mariadb: MariaDB, mysql_url: str) -> Iterator[Database]:
    """On a server that serves and one that is down."""
    built = build_database(
        mysql_url.replace(f":{mariadb.port}/", f":{mariadb.port},{LOOPBACK}:{free_port()}/"),
        pool_size=2,
        on_lock_retry=lambda: None,
        on_pool_timeout=lambda: None,
    )
    yield built
    built.dispose()


@pytest.fixture
def only_one(mariadb: MariaDB, mysql_url: str) -> Iterator[str]:
    """The URL of the database for a user who may have one connection."""
    name = make_url(mysql_url).database
    mariadb.execute(f"CREATE USER {USER}@'%' IDENTIFIED BY 'secret' WITH MAX_USER_CONNECTIONS 1")
    mariadb.execute(f"GRANT ALL ON {name}.* TO {USER}@'%'")
    yield f"mysql://{USER}:secret@{LOOPBACK}:{mariadb.port},{LOOPBACK}:{free_port()}/{name}"
    mariadb.execute(f"DROP USER {USER}@'%'")


def test_a_server_that_takes_no_more_connections_keeps_those_that_it_has(
    only_one: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from MySQLdb import Error  # compiled, so not on every machine

    refused: list[object] = []
    opened = DatabaseHosts._open

    def noted(*args: Any) -> Any:
        try:
            return opened(*args)
        except Error as error:
            refused.append(error.args[0])
            raise

    monkeypatch.setattr(DatabaseHosts, "_open", staticmethod(noted))
    monkeypatch.setattr(database_hosts, "WATCH_S", 0.01)
    database = build_database(only_one, pool_size=2, on_lock_retry=lambda: None, on_pool_timeout=lambda: None)
    with database.write() as connection:
        wait_until(lambda: len(refused) > UNANSWERED + 1, "the server to be asked again and again")
        assert set(refused) == {1226}
        assert connection.scalar(text("SELECT 7")) == 7
    database.dispose()


def test_the_hosts_of_both_engines_are_watched_by_one_thread(database: Database) -> None:
    before = set(threading.enumerate())
    with database.read() as reading, database.write() as writing:
        assert {reading.scalar(text("SELECT 7")), writing.scalar(text("SELECT 7"))} == {7}
        assert [one.name for one in set(threading.enumerate()) - before] == ["database-hosts"]
