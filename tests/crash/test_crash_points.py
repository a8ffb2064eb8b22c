"""A process that is killed between two of its writes loses nothing and stores nothing twice: a sample of all points."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from app.process.bootstrap import bootstrap
from app.wiring.container import Container
from tests.crash.migration import try_migration
from tests.crash.trial import NO_QUEUES, OPERATIONS, Victim, try_all, victim_of
from tests.support import crash_points
from tests.support.backends import empty_servers
from tests.support.world import running, settings_for

POINTS = 3

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(crash_points.missing()), reason=str(crash_points.missing())),
]


@pytest.fixture(scope="module", params=["embedded", pytest.param("services", marks=pytest.mark.services)])
def container(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    home = tmp_path_factory.mktemp(request.param)
    with (
        empty_servers(request) if request.param == "services" else nullcontext({}) as urls,
        running(settings_for(home, **urls), queues=NO_QUEUES) as container,
    ):
        yield container


@pytest.fixture(scope="module")
def victim(container: Container) -> Iterator[Victim]:
    with victim_of(container.settings, container.settings.home) as running:
        yield running


@pytest.mark.parametrize("name", OPERATIONS)
def test_what_was_acknowledged_is_stored_once_and_the_rest_whole_or_not_at_all(
    container: Container, victim: Victim, name: str
) -> None:
    result = try_all(container, victim, name, at_most=POINTS)

    assert result.wrong == []
    assert result.points


@pytest.mark.parametrize("name", ["a new batch", "an experiment's first advance"])
def test_work_that_is_committed_in_two_halves_is_noticed(container: Container, tmp_path: Path, name: str) -> None:
    with victim_of(container.settings, tmp_path, torn=True) as victim:
        assert try_all(container, victim, name, at_most=8).wrong


@pytest.mark.parametrize("backend", ["embedded", pytest.param("services", marks=pytest.mark.services)])
def test_an_upgrade_of_the_schema_continues_where_it_was_killed(
    request: pytest.FixtureRequest, tmp_path: Path, backend: str
) -> None:
    with empty_servers(request) if backend == "services" else nullcontext({}) as urls:
        settings = settings_for(tmp_path, **urls)
        container = bootstrap(settings)
        with victim_of(settings, tmp_path) as victim:
            result = try_migration(container.database, victim, at_most=POINTS)
        container.close()

    assert result.wrong == []
    assert result.points == POINTS
