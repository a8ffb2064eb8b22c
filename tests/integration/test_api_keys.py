"""API keys over the API: made, listed and revoked; what their scopes and their expiry allow."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from falcon.testing import TestClient

from app.process.application import build_app
from app.services.accounts.keys import KeyService
from app.timestamps import iso
from tests.support.api_routes import ApiRoute, api_routes
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.full_project import everything, organization
from tests.support.world import World

DEFAULT = ("ingest", "read", "run", "write")
SCOPES = ("admin", *DEFAULT)
KEYS = "/api/v1/api-keys"
MODELS = {(noun, method) for noun in ("models", "model-prices") for method in ("POST", "PATCH", "DELETE")}
PUBLIC = {"/api/openapi.json", "/api/docs"}


def made(world: World, **body: Any) -> Any:
    answer = world.post(KEYS, json={"name": "Made", **body})
    assert answer.status_code == 201, answer.text
    return answer.json


def with_key(world: World, secret: str) -> World:
    return replace(world, key=secret)


def test_a_key_is_shown_once_and_then_works(world: World) -> None:
    answer = world.post(KEYS, json={"name": "Deploy"})

    assert answer.status_code == 201
    assert answer.json["scopes"] == list(DEFAULT), "admin is given when it is asked for, and only then"
    shown = world.get(answer.headers["Location"]).json
    assert answer.json == shown | {"key": answer.json["key"]}
    assert shown["lastFour"] == answer.json["key"][-4:]
    assert with_key(world, answer.json["key"]).get("/api/v1/prompts").status_code == 200
    assert answer.json["key"] not in world.get(KEYS).text


@EMBEDDED_CONTAINER
@pytest.mark.parametrize("form", ["Bearer%20{}", "bearer%20{}", "Bearer%20%20{}", "Bearer {}%20", " Bearer  {} "])
def test_a_key_is_accepted_from_an_exporter_that_does_not_decode_its_headers(world: World, form: str) -> None:
    for method, path in (("GET", "/api/v1/prompts"), ("POST", "/api/public/otel/v1/traces")):
        headers = {"Authorization": form.format(world.key), "Content-Type": "application/json"}
        assert world.client.simulate_request(method, path, headers=headers, body="{}").status_code == 200


@EMBEDDED_CONTAINER
@pytest.mark.parametrize("form", ["Bearer%2520{}", "Bearer{}", "{}", "Basic%20{}", "Bearer%20{}%00"])
def test_a_header_that_is_no_bearer_after_decoding_is_401(world: World, form: str) -> None:
    headers = {"Authorization": form.format(world.key)}
    assert world.client.simulate_get("/api/v1/prompts", headers=headers).status_code == 401


def test_a_revoked_key_is_refused_at_once_in_this_process(world: World) -> None:
    key = made(world)
    mine = with_key(world, key["key"])
    assert mine.get("/api/v1/prompts").status_code == 200

    assert world.delete(f"{KEYS}/{key['id']}").status_code == 204

    assert mine.get("/api/v1/prompts").status_code == 401
    assert world.delete(f"{KEYS}/{key['id']}").status_code == 404
    assert world.get(f"{KEYS}/{key['id']}").json["revokedAt"] is not None


def test_a_key_without_the_scope_admin_revokes_none_that_has_it(world: World) -> None:
    ordinary = with_key(world, made(world)["key"])
    admins = made(world, scopes=["write", "admin"])

    refused = ordinary.delete(f"{KEYS}/{admins['id']}")

    assert (refused.status_code, "lacks the scope admin" in refused.json["error"]) == (403, True)
    assert with_key(world, admins["key"]).get(KEYS).status_code == 200
    assert world.delete(f"{KEYS}/{admins['id']}").status_code == 204


def test_making_and_revoking_are_in_the_audit_log_with_the_key_that_did_it(world: World) -> None:
    key = made(world, name="Nightly")
    world.delete(f"{KEYS}/{key['id']}")

    page = world.container.services.audit.page(organization_id=world.organization_id, limit=10, cursor=None)

    found = [(e.action, e.subject, e.actor_kind, e.actor_name) for e in page.entries if e.subject == "Nightly"]
    assert found == [
        ("api_key.revoked", "Nightly", "api_key", "test"),
        ("api_key.created", "Nightly", "api_key", "test"),
    ]
    assert key["key"] not in str(page.entries)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": " "}, "name"),
        ({"name": "x" * 129}, "name"),
        ({"name": "a\0b"}, "name"),
        ({"name": "x", "scopes": []}, "scopes"),
        ({"name": "x", "scopes": ["root"]}, "scopes.0"),
        ({"name": "x", "scopes": "read"}, "scopes"),
        ({"name": "x", "expiresAt": "tomorrow"}, "expiresAt"),
        ({"name": "x", "expiresAt": "2030-01-01T00:00:00"}, "expiresAt"),
        ({"name": "x", "expiresAt": "2001-01-01T00:00:00Z"}, "expiresAt"),
        ({"name": "x", "expiresAt": "9999-12-31T23:59:59-12:00"}, "expiresAt"),
        ({"name": "x", "projectId": 1}, "projectId"),
    ],
)
def test_a_bad_request_names_the_field(world: World, body: dict[str, Any], field: str) -> None:
    answer = world.post(KEYS, json=body)
    assert answer.status_code == 400
    assert answer.json["error"].startswith(f"{field}: ")


def test_a_key_can_not_give_what_it_lacks(world: World) -> None:
    writer = with_key(world, made(world, scopes=["write"])["key"])

    for more in ("read", "admin"):
        assert writer.post(KEYS, json={"name": "More", "scopes": [more, "write"]}).status_code == 403
    assert made(writer)["scopes"] == ["write"]


def test_a_key_that_expires_makes_none_that_outlives_it(world: World) -> None:
    now = world.container.now()
    soon, later = iso(now + timedelta(hours=1)), iso(now + timedelta(days=1))
    short = with_key(world, made(world, expiresAt=soon)["key"])

    assert short.post(KEYS, json={"name": "Longer", "expiresAt": later}).status_code == 403
    assert made(short)["expiresAt"] == soon


def test_an_expired_key_is_refused(world: World) -> None:
    now = world.container.now()
    key = made(world, expiresAt=iso(now + timedelta(hours=1)))
    times = {"now": now + timedelta(minutes=59)}
    container = world.container
    keys = KeyService(database=container.database, now=lambda: times["now"], metrics=container.metrics)
    services = replace(container.services, keys=keys)
    client = TestClient(build_app(replace(container, services=services)))
    mine = replace(world, client=client, key=key["key"])
    assert mine.get("/api/v1/prompts").status_code == 200

    times["now"] = now + timedelta(hours=1)

    refused = mine.get("/api/v1/prompts")
    assert refused.status_code == 401
    assert "expired" in refused.json["error"]


def needed(route: ApiRoute) -> str:
    """Return the scope that a route needs (docs/security.md): changes need `write`, but for those in the lists."""
    if route.template.startswith("/api/public/"):
        return "ingest"
    if route.template.startswith("/api/v1/api-keys"):
        return "write"
    if str(route) == "POST /api/v1/scores":
        return "ingest"
    administered = ("credentials", "projects", "members", "invitations", "audit-log", "webhooks", "alert-rules")
    if route.template.split("/")[3] in administered or (route.template.split("/")[3], route.method) in MODELS:
        return "admin"
    if str(route) in {
        "POST /api/v1/prompts/run",
        "POST /api/v1/test-cases/{test_case_id}/replays",
        "POST /api/v1/prompts/{prompt_id}/replays",
        "POST /api/v1/test-cases/{test_case_id}/calibrations",
        "POST /api/v1/replays/{replay_id}/cancel",
        "POST /api/v1/replays/{replay_id}/turns",
        "POST /api/v1/replays/{replay_id}/turns/{turn}/answer",
        "POST /api/v1/prompts/{prompt_id}/experiments",
        "POST /api/v1/experiments/{experiment_id}/cancel",
        "POST /api/v1/prompts/{prompt_id}/experiments/forecast",
        "POST /api/v1/suites/{suite_id}/calibrations",
        "POST /api/v1/prompts/{prompt_id}/guard-maps",
        "POST /api/v1/prompts/{prompt_id}/guard-maps/forecast",
        "POST /api/v1/guard-maps/{map_id}/cancel",
        "POST /api/v1/prompts/{prompt_id}/schedules",
        "PATCH /api/v1/schedules/{schedule_id}",
        "DELETE /api/v1/schedules/{schedule_id}",
        "DELETE /api/v1/schedules/{schedule_id}/reference",
        "POST /api/v1/experiments/{experiment_id}/program-replays",
        "POST /api/v1/prompts/{prompt_id}/judge-audits",
        "POST /api/v1/judge-audits/{audit_id}/cancel",
        "POST /api/v1/calibrations/{calibration_id}/cancel",
        "POST /api/v1/runs/{run_id}/cancel",
    }:
        return "run"
    return (
        "read"
        if route.method == "GET" or route.template.endswith(("/render", "/preview", "/suite-proposals"))
        else "write"
    )


def test_every_route_accepts_its_scope_and_no_other(world: World) -> None:
    world.member(f"{world.organization_id}@example.org")
    owned = everything(world) | organization(world)
    keys = {scope: with_key(world, made(world, scopes=[scope])["key"]) for scope in SCOPES}
    wrong = []
    refused_later = {"unknown": True}  # so that nothing is started that would outlive the test
    # Deletions last: the others need what they delete.
    for route in sorted(api_routes(world.client.app), key=lambda route: route.method == "DELETE"):
        if route.template in PUBLIC or route.template.startswith("/api/replay/"):
            continue  # open to all, or to the token of one replay
        for scope, holder in sorted(keys.items(), key=lambda item: item[0] == needed(route)):
            answer = world.client.simulate_request(
                route.method, route.path(owned), json=refused_later, headers=holder.headers
            )
            if (answer.status_code == 403) == (scope == needed(route)):
                wrong.append((str(route), scope, answer.status_code, answer.text))
            if answer.status_code == 403:
                assert answer.json["error"] == f"This API key lacks the scope {needed(route)}."
    assert wrong == []
