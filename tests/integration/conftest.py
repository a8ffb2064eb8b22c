"""The containers that most tests run on."""

from collections.abc import Iterator

import pytest

from app.services.data import compression
from app.wiring.container import Container
from tests.fakes.upstream import Upstream
from tests.support.world import World, new_world, running_on, settings_for


@pytest.fixture(
    scope="session", params=["embedded", pytest.param("services", marks=pytest.mark.services)], ids=lambda name: name
)
def container(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    """Services and actors in this process, on each backend in turn; shared by all tests of the session."""
    with running_on(request, tmp_path_factory.mktemp(request.param), settings_for) as container:
        yield container


@pytest.fixture
def world(container: Container) -> World:
    """A new project for every test."""
    return new_world(container)


@pytest.fixture
def spans_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have `reprise compress` look at all spans together, however many other tests have stored before."""
    monkeypatch.setattr(compression, "SPANS_AT_ONCE", 10**6)


@pytest.fixture(scope="session")
def shared_upstream() -> Iterator[Upstream]:
    """Return a fake model vendor, for the settings of what is started once."""
    with Upstream() as upstream:
        yield upstream


@pytest.fixture
def upstream(shared_upstream: Upstream) -> Upstream:
    """Return the fake vendor without another test's script and requests."""
    shared_upstream.reset()
    return shared_upstream
