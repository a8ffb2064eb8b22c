"""A project with something of every kind, and its clock moved on."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import text

from app.models.data_policies import DataPolicy
from app.services.data.removal import RetentionService
from app.wiring.container import Container
from app.work.remover import Remover
from tests.support.world import World

TABLES = ("spans", "turns", "sessions", "runs", "replays", "calibrations", "test_cases", "rejected_spans", "findings")


class Days:
    """Retention as the clock would apply it so many days from now, in pieces of a few rows."""

    def __init__(self, container: Container) -> None:
        self._container = container

    def pass_by(self, days: float) -> None:
        database, later = self._container.database, self._container.now() + timedelta(days=days)
        RetentionService(
            database=database,
            now=lambda: later,
            earlier_now=lambda _connection, now: now,
            remover=Remover(database=database, at_once=3, pause_s=0),
            budget_s=60,
        ).apply()


@pytest.fixture
def days(world: World, no_policies_of_others: None) -> Days:
    return Days(world.container)


@pytest.fixture
def no_policies_of_others(world: World) -> None:
    """The container is every test's: what one keeps for a day only, another's clock must not remove."""
    with world.container.database.write() as connection:
        connection.execute(text("DELETE FROM data_policies"))


def keep(world: World, **days: int) -> None:
    world.container.services.data_policies.put(project_id=world.project_id, policy=DataPolicy(**days))


def counts(world: World) -> dict[str, int]:
    return {table: world.count(table) for table in TABLES}
