"""A Reprise on both backends that calls one fake upstream for all models; a call is tried once."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from app.providers import catalogue
from app.providers.breaker import CallBreaker
from app.providers.router import Providers, Retry
from app.wiring.container import Container
from tests.fakes.upstream import PATHS
from tests.integration.web.conftest import PASSWORD, Browser, address
from tests.support.world import World, running_on, settings_for

KEY = "sk-very-secret"


class BreakerClock:
    """The circuit breaker's window is over before each next call, so that none is spared by those before it."""

    def __init__(self):
        self.now, self.step = 0.0, 1000.0

    def __call__(self):
        self.now += self.step
        return self.now


@pytest.fixture(scope="package")
def breaker_clock() -> BreakerClock:
    return BreakerClock()


@pytest.fixture(scope="package", params=["sqlite", pytest.param("services", marks=pytest.mark.services)])
def container(request, tmp_path_factory, shared_upstream, breaker_clock) -> Iterator[Container]:
    credentials = {vendor: (KEY, shared_upstream.base_url(vendor)) for vendor in PATHS}
    home = tmp_path_factory.mktemp(request.param)

    def settings(home, **urls):
        # No clock runs here: a run that does not end by itself is not answered in time.
        return replace(
            settings_for(home, **urls), vendor_credentials=credentials, run_call_s=15, run_wait_s=20, web_threads=64
        )

    breaker = CallBreaker(monotonic=breaker_clock)
    providers = Providers(catalogue=catalogue.load(), retry=Retry(attempts=1), breaker=breaker)
    with running_on(request, home, settings, providers) as container:
        container.services.models.sync_catalogue()
        yield container


@pytest.fixture
def browser(world: World) -> Browser:
    """Signed in as an admin of the world's organization."""
    email = address()
    world.member(email, PASSWORD)
    browser = Browser(world, email)
    browser.sign_in(email)
    return browser
