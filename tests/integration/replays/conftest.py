"""Replays on both backends, with a fake upstream that speaks a vendor's format."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial

import pytest
from sqlalchemy import Connection, select, update

from app.models.experiment_replays import cancel_replays
from app.models.experiments import experiments
from app.models.replays import UNFINISHED, replays
from app.providers.vendors import CUSTOM
from app.redis_store.keys import QueueKeys
from app.wiring.container import Container
from tests.fakes.models import VENDORS
from tests.support.waiting import wait_until
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
    """A new project for every test. Its experiments and replays end with the test, and ask no later test's vendor."""
    world = new_world(container)
    yield world
    ending = {"project_id": world.project_id, "now": container.now()}
    container.database.retrying(partial(_end_experiments, **ending))
    container.database.retrying(partial(_end_replays, **ending))
    # A worker that plays a cancelled replay may still be about to ask the vendor.
    in_work = QueueKeys("replays").messages
    wait_until(lambda: not container.redis.commands.hlen(in_work), "the end of the test's replays")


def _end_experiments(connection: Connection, *, project_id: int, now: datetime) -> None:
    of_project = (experiments.c.project_id == project_id, experiments.c.status.in_(UNFINISHED))
    for experiment_id in list(connection.scalars(select(experiments.c.id).where(*of_project))):
        cancel_replays(connection, experiment_id=experiment_id, now=now)
    connection.execute(update(experiments).where(*of_project).values(status="cancelled", finished_at=now))


def _end_replays(connection: Connection, *, project_id: int, now: datetime) -> None:
    """Cancel the replays that belong to no experiment, such as one of a program that the test left unfinished."""
    unfinished = (replays.c.project_id == project_id, replays.c.status.in_(UNFINISHED))
    for replay_id in list(connection.scalars(select(replays.c.id).where(*unfinished))):
        cancelled = update(replays).where(replays.c.id == replay_id, replays.c.status.in_(UNFINISHED))
        connection.execute(cancelled.values(status="cancelled", finished_at=now))
