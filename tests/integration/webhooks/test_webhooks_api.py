"""The API of webhooks: what it refuses, what it shows, and what it writes into the audit log."""

from __future__ import annotations

import pytest

from app.services.webhooks.service import WEBHOOKS_MAX
from tests.integration.webhooks.conftest import Hook, new_hook
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.world import World

pytestmark = EMBEDDED_CONTAINER
URL = "https://example.com/hooks"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"url": "ftp://example.com"}, "url: Must be a whole address"),
        ({"url": "https://user:word@example.com"}, "url: Must have no user"),
        ({"url": "http://169.254.169.254/latest"}, "url: Must not name a link-local, metadata"),
        ({"url": "http://[::ffff:10.0.0.8]/"}, "url: The address is not public"),
        ({"url": "http://10.1/"}, "url: The address is not public"),
        ({"url": URL, "events": []}, "events: Must have 1 to"),
        ({"url": URL, "events": ["prompt.deleted"]}, "events.0: Must be one of"),
        ({"url": URL, "format": "xml"}, "format: Must be one of"),
        ({"url": URL, "enabled": "false"}, "enabled: Must be true or false"),
        ({"url": "https://example.com/\0"}, "url: Must not contain a NUL"),
    ],
)
def test_what_can_not_be_a_webhook_is_refused_with_the_field(
    world: World, body: dict[str, object], message: str
) -> None:
    refused = world.post("/api/v1/webhooks", json={"events": ["label.moved"]} | body)
    assert refused.status_code == 400
    assert refused.json["error"].startswith(message)
    assert world.count("webhooks") == 0


def test_the_secret_is_shown_once_and_stored_sealed(world: World) -> None:
    hook = new_hook(world, URL)
    assert hook.secret.startswith("whsec_")
    assert hook.secret not in world.get(hook.path).text + world.get("/api/v1/webhooks").text
    with world.container.database.read() as connection:
        stored = connection.exec_driver_sql("SELECT secret FROM webhooks").scalars().all()
    assert not any(hook.secret in secret for secret in stored)


def test_a_change_keeps_the_other_fields(world: World) -> None:
    hook = new_hook(world, URL)
    changed = world.patch(hook.path, json={"events": ["spans.rejected", "label.moved", "label.moved"]})
    assert (changed.json["url"], changed.json["events"]) == (URL, ["label.moved", "spans.rejected"])
    assert world.patch(hook.path, json={"url": "http://10.0.0.8"}).status_code == 400
    assert world.get(hook.path).json["url"] == URL


def test_a_project_has_at_most_so_many_webhooks(world: World) -> None:
    for _ in range(WEBHOOKS_MAX):
        new_hook(world, URL)
    assert world.post("/api/v1/webhooks", json={"url": URL, "events": ["label.moved"]}).status_code == 400
    assert world.count("webhooks") == WEBHOOKS_MAX


def test_a_test_of_a_disabled_webhook_is_refused(world: World) -> None:
    hook = new_hook(world, URL, enabled=False)
    assert world.post(f"{hook.path}/test", json={}).status_code == 409


def test_changes_are_audited_with_only_the_host(world: World) -> None:
    hook = new_hook(world, "https://hooks.slack.com/services/T0/B0/token")
    world.patch(hook.path, json={"enabled": False})
    world.post(f"{hook.path}/secret", json={})
    world.delete(hook.path)
    log = world.get("/api/v1/audit-log")
    assert [(entry["action"], entry["subject"]) for entry in log.json["entries"][:4]] == [
        (f"webhook.{action}", "hooks.slack.com") for action in ("removed", "secret_rotated", "changed", "created")
    ]
    assert "token" not in log.text


def test_a_key_without_the_scope_admin_sees_no_webhook(world: World, hook: Hook) -> None:
    key = world.post("/api/v1/api-keys", json={"name": "writer", "scopes": ["read", "write"]}).json["key"]
    assert world.get("/api/v1/webhooks", headers={"Authorization": f"Bearer {key}"}).status_code == 403
