"""Replays on both backends, with a fake upstream that speaks a vendor's format."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from app.bootstrap import Container
from tests.fakes.upstream import Upstream
from tests.support.mariadb import MariaDB
from tests.support.redis_server import RedisServer
from tests.support.world import World, new_world, running, settings_for

KEY = "sk-very-secret"


@pytest.fixture(scope="session")
def shared_upstream() -> Iterator[Upstream]:
    with Upstream() as upstream:
        yield upstream


@pytest.fixture
def upstream(shared_upstream: Upstream) -> Upstream:
    shared_upstream.reset()
    return shared_upstream


@pytest.fixture(scope="session", params=["sqlite", pytest.param("services", marks=pytest.mark.services)])
def container(request, tmp_path_factory, shared_upstream) -> Iterator[Container]:
    home = tmp_path_factory.mktemp(request.param)
    credentials = {"OPENAI": (KEY, shared_upstream.base_url("OPENAI"))}

    def settings(**urls):
        return replace(settings_for(home, **urls), vendor_credentials=credentials, run_call_s=10)

    if request.param == "sqlite":
        with running(settings()) as embedded:
            embedded.services.models.sync_catalogue()
            yield embedded
        return
    mariadb: MariaDB = request.getfixturevalue("mariadb")
    redis_server: RedisServer = request.getfixturevalue("redis_server")
    with (
        mariadb.database() as mysql_url,
        redis_server.database() as redis_url,
        running(settings(mysql_url=mysql_url, redis_url=redis_url)) as services,
    ):
        services.services.models.sync_catalogue()
        yield services


@pytest.fixture
def world(container: Container) -> World:
    return new_world(container)
