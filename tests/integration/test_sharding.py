"""What the tests execute on MySQL fits a proxy that shards by project, as docs/capacity.md describes.

That nothing else is executed is checked at the end of every process of the tests: see `routed_statements`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select, update

from app.models import idempotency_keys, runs
from app.models.base import metadata
from app.models.log_records import log_records
from app.models.schema import exclusive
from app.models.turns import turns
from app.process import clock
from app.services.data.compression import COMPRESSED_COLUMNS
from app.wiring.container import Container
from tests.integration.ingest.test_log_records import chat, record
from tests.integration.test_tenancy import BODIES, PUBLIC
from tests.support.api_routes import ApiRoute, api_routes
from tests.support.full_project import MARK, everything, organization
from tests.support.routing import (
    Statement,
    documented_kinds,
    documented_vindexes,
    statements_of_every_shard,
    unrouted,
)
from tests.support.statements import executed_on_mysql
from tests.support.uncompressed import store_spans_plain
from tests.support.world import World, running_on, settings_for


@pytest.fixture(params=[pytest.param("services", marks=pytest.mark.services)])
def container(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Container]:
    """A separate database: to remove what other tests have put into the index of the search would need minutes."""
    with running_on(request, tmp_path, settings_for) as container:
        yield container


def walk(world: World, made: dict[str, Any]) -> None:
    """Ask every route for what the project has, what only reads first and what removes last."""
    order = ["GET", "PUT", "PATCH", "POST", "DELETE"]
    routes = [route for route in api_routes(world.client.app) if route.template not in PUBLIC]
    for route in sorted(routes, key=lambda route: (order.index(route.method), route.template)):
        ask(world, route, made)


def ask(world: World, route: ApiRoute, made: dict[str, Any]) -> None:
    body = None if route.method in {"GET", "DELETE"} else BODIES.get(str(route), {})
    world.client.simulate_request(route.method, route.path(made), json=body, headers=world.headers)


def store_plain(world: World) -> None:
    """Store bodies and facts as releases without compression did."""
    store_spans_plain(world)
    with world.container.database.write() as connection:
        for column in (log_records.c.body, turns.c.facts):
            table = column.table
            for id_, plain in connection.execute(select(table.c.id, column)).all():
                connection.execute(update(table).where(table.c.id == id_).values({column: plain}))


def begin_again(connection: Connection, run_id: int) -> None:
    """Begin a run twice more, as if two callers had asked for it at the same time."""
    row = dict(connection.execute(select(runs.runs).where(runs.runs.c.id == run_id)).mappings().one())
    del row["id"]
    runs.add_runs(connection, [row, row])


def tend(world: World) -> None:
    """Do all that is done without a request."""
    services = world.container.services
    for job in clock.jobs(world.container):
        job.run()
    for column in COMPRESSED_COLUMNS:
        for _ in services.compression.compress(column, until_id=services.compression.last_id(column)):
            pass


def test_what_asks_every_shard_is_listed_and_executed(world: World) -> None:
    services = world.container.services
    with executed_on_mysql() as found:
        world.member(f"{MARK}-{world.organization_id}@example.org")
        world.log([record(chat())])
        made = everything(world) | organization(world)
        store_plain(world)
        run = {"id": made["prompt_id"], "question": MARK}
        world.post("/api/v1/prompts/run", json=run, headers={"Idempotency-Key": MARK})
        tend(world)
        walk(world, made)
        made = everything(world)
        world.get(f"/api/v1/prompts/{made['prompt_id']}/logs", params={"search": MARK})
        with world.container.database.write() as connection:
            soon = services.deletion.now() + timedelta(days=2)
            idempotency_keys.delete_expired_keys(connection, before=soon, limit=100)
            begin_again(connection, made["run_id"])
            with exclusive(connection):
                pass
        services.deletion.erase_prompt(project_id=world.project_id, prompt_id=made["prompt_id"])
        services.deletion.erase_project(project_id=world.project_id)
        replace(services.search_indexer, enabled=False).sweep()
        tend(world)

    assert sorted(unrouted(found)) == sorted(statements_of_every_shard())
    assert {kind for text in found for kind in Statement(text).kinds} == documented_kinds()


def test_every_table_and_column_of_the_schema_is_documented() -> None:
    documented = documented_vindexes()

    assert {*documented.of} - {"alembic_version", "DUAL"} == {*metadata.tables}
    for name, columns in documented.of.items():
        # A lookup does not find NULL.
        assert not any(metadata.tables[name].c[column].nullable for column in columns), name
