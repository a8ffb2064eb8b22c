"""However much one organization has waiting, a periodic job does another's work in its next sweep."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Table, insert, select, update

from app.models import alert_rules, online_checks, webhook_deliveries
from app.models.webhooks import WebhookEvent, webhooks
from tests.integration.webhooks.test_alert_rules import rule, session
from tests.support.exports import export, span
from tests.support.world import World, new_world

MANY = 2000


@pytest.fixture
def flooded(world: World) -> World:
    """The organization that has thousands of everything."""
    return world


@pytest.fixture
def other(world: World) -> World:
    """The organization that has one of everything, the newest."""
    return new_world(world.container)


def add(world: World, table: Table, *, count: int, **values: Any) -> list[int]:
    """Insert equal rows of the world's project; returns their ids."""
    with world.container.database.write() as connection:
        connection.execute(insert(table), [{"project_id": world.project_id, **values}] * count)
        owned = select(table.c.id).where(table.c.project_id == world.project_id)
        return list(connection.scalars(owned))


def add_webhooks(world: World, count: int, **values: Any) -> list[int]:
    now = world.container.now() - timedelta(days=1)
    columns = {"url": "https://example.org", "format": "json", "events": [*WebhookEvent], "enabled": True, "secret": ""}
    times = {"created_at": now, "updated_at": now}
    return add(world, webhooks, count=count, rejected_id=0, **columns, **times, **values)


def add_deliveries(world: World, webhook_ids: list[int]) -> None:
    """Give each webhook a delivery that is due."""
    now = world.container.now() - timedelta(hours=1)
    with world.container.database.write() as connection:
        webhook_deliveries.add_deliveries(
            connection, now, WebhookEvent.LABEL_MOVED, {}, project_id=world.project_id, webhook_ids=webhook_ids
        )


def forget(*worlds: World) -> None:
    """Pause what these worlds have added, so that it is not due for other tests."""
    with worlds[0].container.database.write() as connection:
        for world in worlds:
            for table in (webhooks, online_checks.online_checks, alert_rules.alert_rules):
                connection.execute(update(table).where(table.c.project_id == world.project_id).values(enabled=False))


def test_thousands_of_webhooks_with_deliveries_hold_up_no_other_webhook(flooded: World, other: World) -> None:
    add_deliveries(flooded, add_webhooks(flooded, MANY))
    (webhook_id,) = add_webhooks(other, 1)
    add_deliveries(other, [webhook_id])
    try:
        due = other.container.services.webhook_deliverer.due()
        assert webhook_id in {webhook.webhook_id for webhook in due}
        assert flooded.project_id in {webhook.project_id for webhook in due}
    finally:
        forget(flooded, other)


def test_thousands_of_webhooks_with_rejected_spans_hold_up_no_other_webhook(flooded: World, other: World) -> None:
    add_webhooks(flooded, MANY)
    add_webhooks(other, 1)
    for world in (flooded, other):
        world.send(export(span(spanId="none")))
    try:
        other.container.services.rejection_notifier.sweep()
        assert other.count("webhook_deliveries") == 1
        assert 0 < flooded.count("webhook_deliveries") < MANY
    finally:
        forget(flooded, other)


def test_thousands_of_online_checks_hold_up_no_other_check(flooded: World, other: World) -> None:
    runner = other.container.services.online_check_runner
    checks = {}
    for world, count in ((flooded, MANY), (other, 1)):
        prompt_id = world.prompt()
        session(world, prompt_id)
        now = world.container.now()
        columns = {"prompt_id": prompt_id, "name": "", "kind": "contains", "value": "", "share": 1.0, "enabled": True}
        start = {"position": 0, "position_id": 0, "scored": 0, "spent_on": "", "spent_usd": 0.0, "max_cost_per_day": 1}
        times = {"held_until": now, "created_at": now}
        checks[world.project_id] = add(world, online_checks.online_checks, count=count, **columns, **start, **times)
    try:
        later = replace(runner, now=lambda: other.container.now() + timedelta(minutes=5))
        due = later.due()
        (check_id,) = checks[other.project_id]
        assert due[check_id] == other.organization_id
        assert due.keys() & set(checks[flooded.project_id])
    finally:
        forget(flooded, other)


def test_thousands_of_alert_rules_hold_up_no_other_rule(flooded: World, other: World) -> None:
    now = other.container.now()
    columns = {"metric": "errorShare", "threshold": 0.5, "window_minutes": 60, "min_sessions": 1}
    times = {"created_at": now, "revision": 0, "enabled": True}
    add(flooded, alert_rules.alert_rules, count=MANY, **columns, **times)
    session(other, other.prompt())
    path = rule(other)
    try:
        service = other.container.services.alerts
        with other.container.database.read() as connection:
            count = len(set(alert_rules.owners(connection).values()))
        # The time is over after one rule of each organization.
        monotonic = iter([0.0] * count + [10.0]).__next__
        replace(service, monotonic=monotonic).evaluate()
        assert other.get(path).json["value"] == 0.0
    finally:
        forget(flooded, other)
