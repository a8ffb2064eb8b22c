"""Runs on both backends, with a fake upstream that speaks the vendors' formats."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from app.wiring.container import Container
from tests.fakes.upstream import PATHS
from tests.support.world import running_on, settings_for

KEY = "sk-very-secret"


@pytest.fixture(scope="package", params=["sqlite", pytest.param("services", marks=pytest.mark.services)])
def container(request, tmp_path_factory, shared_upstream) -> Iterator[Container]:
    """OPENAI and GOOGLE have a credential from the settings; DEEPSEEK has none."""
    credentials = {vendor: (KEY, shared_upstream.base_url(vendor)) for vendor in PATHS if vendor != "DEEPSEEK"}
    home = tmp_path_factory.mktemp(request.param)

    def settings(home, **urls):
        return replace(
            settings_for(home, **urls),
            vendor_credentials=credentials,
            run_body_bytes=2_000_000,
            web_threads=64,
        )

    with running_on(request, home, settings) as container:
        container.services.models.sync_catalogue()
        yield container


@pytest.fixture
def impatient(container: Container) -> Iterator[None]:
    """A model call may last half a second: for tests of a model that does not answer at all."""
    caller = container.services.runs.executor.caller
    timeout_s = caller.timeout_s
    object.__setattr__(caller, "timeout_s", 0.5)  # the actors hold this very object, which is frozen
    yield
    object.__setattr__(caller, "timeout_s", timeout_s)
