"""Replays on both backends, with a fake upstream that speaks a vendor's format."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from sqlalchemy import select

from app.models.experiments import experiments
from app.models.replays import UNFINISHED
from app.providers.vendors import CUSTOM
from app.services.experiments.advance import ExperimentAdvancer
from app.wiring.container import Container
from tests.fakes.models import VENDORS
from tests.support.world import World, new_world, running_on, settings_for

KEY = "sk-very-secret"


@pytest.fixture(scope="package", params=["sqlite", pytest.param("services", marks=pytest.mark.services)])
def container(request, tmp_path_factory, shared_upstream) -> Iterator[Container]:
    home = tmp_path_factory.mktemp(request.param)
    credentials = {vendor: (KEY, shared_upstream.base_url(vendor)) for vendor in VENDORS if vendor != CUSTOM}

    def settings(home, **urls):
        return replace(settings_for(home, **urls), vendor_credentials=credentials, run_call_s=10)

    with running_on(request, home, settings) as container:
        container.services.models.sync_catalogue()
        yield container


@pytest.fixture
def world(container: Container) -> Iterator[World]:
    """A new project for every test. Its experiments end with the test, so that they ask no later test's vendor."""
    world = new_world(container)
    yield world
    with container.database.read() as connection:
        unfinished = select(experiments.c.id).where(
            experiments.c.project_id == world.project_id, experiments.c.status.in_(UNFINISHED)
        )
        ids = list(connection.scalars(unfinished))
    advancer = ExperimentAdvancer(database=container.database, now=container.now, metrics=container.metrics)
    for experiment_id in ids:
        advancer.cancel(experiment_id)
