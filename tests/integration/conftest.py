"""The backends that every black-box test runs on."""

from collections.abc import Iterator

import pytest

from app.container import Container
from tests.support.deployment import Deployment, EmbeddedServer
from tests.support.http_client import Client
from tests.support.mariadb import MariaDB
from tests.support.redis_server import RedisServer
from tests.support.world import World, new_world, running_on, settings_for

# The key is shared by all tests of the session.
SETTINGS = {"REPRISE_RATE_LIMIT": "1000000", "REPRISE_PAGE_RATE_LIMIT": "1000000"}

# Of each process that executes runs: hundreds that are idle take as much processor time as the tests.
THREADS = 40


@pytest.fixture(
    scope="session", params=["embedded", pytest.param("services", marks=pytest.mark.services)], ids=lambda name: name
)
def backend(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EmbeddedServer | Deployment]:
    """A running Reprise, embedded and on MySQL + Redis in turn, for tests that only speak HTTP to it.

    It lives as long as the session: tests make the prompts they use. One that breaks or reconfigures its server
    starts its own `EmbeddedServer` or `Deployment`.
    """
    home = tmp_path_factory.mktemp(request.param)
    if request.param == "embedded":
        with EmbeddedServer(home, SETTINGS) as server:
            yield server
        return
    mariadb: MariaDB = request.getfixturevalue("mariadb")
    redis_server: RedisServer = request.getfixturevalue("redis_server")
    with (
        mariadb.database() as mysql_url,
        redis_server.database() as redis_url,
        Deployment(
            home,
            mysql_url=mysql_url,
            redis_url=redis_url,
            workers=1,
            processes=1,
            settings=SETTINGS,
            threads={"runs": THREADS},
        ) as deployment,
    ):
        yield deployment


@pytest.fixture
def client(backend: EmbeddedServer | Deployment) -> Client:
    return backend.client()


@pytest.fixture(
    scope="session", params=["embedded", pytest.param("services", marks=pytest.mark.services)], ids=lambda name: name
)
def container(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    """Services and actors in this process, on each backend in turn; shared by all tests of the session."""
    with running_on(request, tmp_path_factory.mktemp(request.param), settings_for) as container:
        yield container


@pytest.fixture
def world(container: Container) -> World:
    """A project of its own for every test."""
    return new_world(container)
