"""The servers that tests run against behave as the tests' claims need."""

import contextlib
from collections.abc import Iterator

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

from tests.support.mariadb import MariaDB, mariadb_server
from tests.support.redis_server import RedisServer
from tests.support.redis_server import redis_server as own_redis_server

NO_RETRY = Retry(NoBackoff(), 0)


@contextlib.contextmanager
def connected(url: str) -> Iterator[Connection]:
    with create_engine(url, poolclass=NullPool).connect() as connection:
        yield connection


def test_a_database_is_empty_and_stores_any_unicode(mysql_url: str) -> None:
    with connected(mysql_url) as connection:
        assert connection.scalars(text("SHOW TABLES")).all() == []
        connection.execute(text("CREATE TABLE words (word VARCHAR(20) PRIMARY KEY)"))
        connection.execute(text("INSERT INTO words VALUES (:word)"), {"word": "роль 🦊"})
        assert connection.scalar(text("SELECT word FROM words")) == "роль 🦊"


def test_databases_of_two_tests_are_apart(mariadb: MariaDB) -> None:
    with mariadb.database() as one, mariadb.database() as other:
        with connected(one) as connection:
            connection.execute(text("CREATE TABLE notes (id INT PRIMARY KEY)"))
        with connected(other) as connection:
            assert connection.scalars(text("SHOW TABLES")).all() == []


def test_a_database_goes_although_a_transaction_was_left_open(mariadb: MariaDB) -> None:
    with mariadb.database() as url:
        connection = create_engine(url, poolclass=NullPool).connect()
        connection.execute(text("CREATE TABLE notes (id INT PRIMARY KEY)"))
        connection.execute(text("SELECT * FROM notes"))
    with pytest.raises(OperationalError):
        connection.execute(text("SELECT 1"))
    connection.invalidate()
    connection.close()


def test_a_read_only_server_refuses_the_apps_user(mariadb: MariaDB, mysql_url: str) -> None:
    with connected(mysql_url) as connection:
        mariadb.execute("SET GLOBAL read_only = 1")
        try:
            with pytest.raises(OperationalError, match="read-only"):
                connection.execute(text("CREATE TABLE notes (id INT PRIMARY KEY)"))
        finally:
            mariadb.execute("SET GLOBAL read_only = 0")


@pytest.mark.usefixtures("needs_mariadb")
def test_mariadb_keeps_commits_over_a_kill() -> None:
    with mariadb_server() as server, server.database() as url:
        with connected(url) as connection:
            connection.execute(text("CREATE TABLE notes (id INT PRIMARY KEY)"))
            connection.execute(text("INSERT INTO notes VALUES (7)"))
            connection.commit()
        server.restart()
        with connected(url) as connection:
            assert connection.scalars(text("SELECT id FROM notes")).all() == [7]


def test_redis_databases_start_empty(redis_server: RedisServer) -> None:
    for _ in range(2):
        with redis_server.database() as url, redis.Redis.from_url(url) as client:
            assert client.dbsize() == 0
            client.set("left", "behind")


@pytest.mark.usefixtures("needs_redis")
@pytest.mark.parametrize(("durable", "kept"), [(False, None), (True, b"1")])
def test_redis_forgets_over_a_kill_unless_durable(durable: bool, kept: bytes | None) -> None:
    with own_redis_server(durable=durable) as server:
        with server.client() as client:
            client.set("key", "1")
        server.restart()
        with server.client() as client:
            assert client.get("key") == kept


def test_a_paused_server_hangs_instead_of_refusing(redis_server: RedisServer) -> None:
    redis_server.pause()
    try:
        with (
            redis.Redis(port=redis_server.port, socket_timeout=0.2, retry=NO_RETRY) as client,
            pytest.raises(redis.TimeoutError),
        ):
            client.ping()
    finally:
        redis_server.resume()
    with redis_server.client() as client:
        assert client.ping()
