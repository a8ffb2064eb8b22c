"""A key with `write` made any number of keys and versions, and each list of them was one answer in a web process."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import insert

from app.models import api_keys
from app.services.accounts import keys
from app.services.prompts import editor
from tests.support.world import World


def make_key(world: World) -> int:
    return world.post("/api/v1/api-keys", json={"name": "another", "scopes": ["read"]}).status_code


def test_a_project_has_a_limit_of_valid_keys(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "KEYS_MAX", 3)
    assert [make_key(world) for _ in range(3)] == [201, 201, 400]
    refused = world.post("/api/v1/api-keys", json={"name": "another"})
    assert refused.json["error"] == "A project may have 3 valid API keys; revoke one first."
    newest = world.get("/api/v1/api-keys").json["apiKeys"][-1]["id"]

    assert world.delete(f"/api/v1/api-keys/{newest}").status_code == 204

    assert [make_key(world) for _ in range(2)] == [201, 400]


def test_keys_that_are_made_at_once_keep_to_the_limit(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "KEYS_MAX", 3)

    with ThreadPoolExecutor(6) as pool:
        statuses = sorted(pool.map(lambda _: make_key(world), range(6)))

    assert statuses == [201, 201, 400, 400, 400, 400]


def test_only_the_newest_keys_that_have_ended_are_listed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_keys, "ENDED_LISTED", 2)
    now = world.container.now()
    common = {"project_id": world.project_id, "last_four": "abcd", "scopes": frozenset({"read"}), "created_at": now}
    digests = [f"{world.project_id:016x}{number:016x}".encode() for number in range(5)]
    rows = [common | {"name": f"ended {n}", "digest": digest, "expires_at": now} for n, digest in enumerate(digests)]
    with world.container.database.write() as connection:
        connection.execute(insert(api_keys.api_keys), rows)

    listed = world.get("/api/v1/api-keys").json["apiKeys"]

    assert [key["name"] for key in listed] == ["test", "ended 3", "ended 4"]


def test_a_prompt_has_a_limit_of_versions(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(editor, "VERSIONS_MAX", 2)
    path = f"/api/v1/prompts/{world.prompt()}"
    statuses = []
    for text in ("one", "two", "three"):
        assert world.patch(path, json={"value": text}).status_code == 200
        statuses.append(world.post(f"{path}/commit", json={"message": text}).status_code)

    assert statuses == [201, 201, 400]
    assert world.get(f"{path}?productive=false").json["value"] == "three"
