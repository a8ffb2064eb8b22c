"""Every statement names the project or a row of one, by which a sharding proxy routes it (docs/capacity.md)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from app.process import clock
from app.services.data.compression import COLUMNS
from tests.integration.ingest.test_log_records import chat, record
from tests.integration.test_tenancy import BODIES, PUBLIC
from tests.support.api_routes import ApiRoute, api_routes
from tests.support.everything import MARK, everything, organization
from tests.support.routing import Unrouted, unrouted_statements
from tests.support.world import World

# Small, and read by all projects: they stay together.
UNSHARDED = frozenset(
    {
        "alembic_version",
        "api_keys",
        "invitations",
        "known_origins",
        "language_models",
        "memberships",
        "organizations",
        "projects",
        "sign_ins",
        "users",
    }
)
# What is asked of every shard, and why that is bearable. No caller waits for any of it.
OF_EVERY_SHARD = {
    "models.alert_rules.all_rules": "The clock goes through the rules, some at a time.",
    "models.compression.last_id": "`reprise compress`, once for a column.",
    "models.compression.plain_rows": "`reprise compress`, a thousand ids at a time.",
    "models.data_policies.list_policies": "The clock reads one small row of each project that has a policy.",
    "models.experiment_replays.unfinished_behind": "The clock looks for experiments in work.",
    "models.idempotency_keys.delete_expired_keys": "The oldest keys of a day ago, by an index, some at a time.",
    "models.online_checks.due": "The clock looks for checks with turns that wait, some at a time.",
    "models.removal.erased_prompts": "The clock looks for prompts that were erased within the day.",
    "models.search.newest_waiting": "The clock takes the newest blocks that wait to be indexed, some at a time.",
    "models.search.note_everything": "Once, when the search is switched on.",
    "models.waiting.settle_waiting": "The clock takes what waits for its span, by an index, some at a time.",
    "models.webhook_deliveries.due_webhooks": "The clock looks for deliveries that are due, by an index.",
    "models.webhook_deliveries.remove_expired": "The clock removes old deliveries, some at a time.",
    "models.webhooks.forget_reused_ids": "The clock goes through the webhooks, a few of each project.",
    "models.webhooks.untold_rejections": "The clock goes through the webhooks, a few of each project.",
    "work.sweeper.sweep": "The clock looks for runs and replays that wait or are in work, by their status.",
}


@pytest.fixture
def recorded() -> Iterator[Unrouted]:
    with unrouted_statements(unsharded=UNSHARDED) as found:
        yield found


def walk(world: World, made: dict[str, Any]) -> None:
    """Ask every route for what the project has, what only reads first and what removes last."""
    order = ["GET", "PUT", "PATCH", "POST", "DELETE"]
    routes = [route for route in api_routes(world.client.app) if route.template not in PUBLIC]
    for route in sorted(routes, key=lambda route: (order.index(route.method), route.template)):
        ask(world, route, made)


def ask(world: World, route: ApiRoute, made: dict[str, Any]) -> None:
    body = None if route.method in {"GET", "DELETE"} else BODIES.get(str(route), {})
    world.client.simulate_request(route.method, route.path(made), json=body, headers=world.headers)


def tend(world: World) -> None:
    """Do all that is done without a request."""
    services = world.container.services
    for job in clock.jobs(world.container):
        job.run()
    for column in COLUMNS:
        for _ in services.compression.compress(column, until_id=services.compression.last_id(column)):
            pass


@pytest.mark.parametrize("container", [pytest.param("services", marks=pytest.mark.services)], indirect=True)
def test_statements_name_a_row_or_the_project(world: World, recorded: Unrouted) -> None:
    world.member(f"{MARK}-{world.organization_id}@example.org")
    world.put("/api/v1/credentials/ANTHROPIC", json={"apiKey": MARK, "baseUrl": f"http://{MARK}.invalid"})
    world.log([record(chat())])
    made = everything(world) | organization(world)
    tend(world)
    walk(world, made)
    made = everything(world)
    world.container.services.deletion.erase_prompt(project_id=world.project_id, prompt_id=made["prompt_id"])
    world.container.services.deletion.erase_project(project_id=world.project_id)
    tend(world)

    assert {name: text for name, text in recorded.items() if name not in OF_EVERY_SHARD} == {}
