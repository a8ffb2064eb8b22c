"""The backends that tests run on: marks for what no database can change, and the servers of the other one."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypedDict

import pytest

from tests.support.mariadb import MariaDB
from tests.support.redis_server import RedisServer

# How a path is spelled is decided before a database is asked, by the same code in front of each.
EMBEDDED_CONTAINER = pytest.mark.parametrize("container", ["embedded"], indirect=True)
EACH_CONTAINER = pytest.mark.parametrize(
    "container", ["embedded", pytest.param("services", marks=pytest.mark.services)], indirect=True
)
# Where packages have a container.
SQLITE_CONTAINER = pytest.mark.parametrize("container", ["sqlite"], indirect=True)


class Urls(TypedDict):
    mysql_url: str
    redis_url: str


@contextmanager
def empty_servers(request: pytest.FixtureRequest) -> Iterator[Urls]:
    """Open an empty database and an empty Redis on the session's servers, which start when a test first needs them."""
    mariadb: MariaDB = request.getfixturevalue("mariadb")
    redis_server: RedisServer = request.getfixturevalue("redis_server")
    with mariadb.database() as mysql_url, redis_server.database() as redis_url:
        yield {"mysql_url": mysql_url, "redis_url": redis_url}
