"""The limits of requests: reads never starve ingest, every answer reports both, and so do HEAD and 304."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.wiring.container import Container
from config.settings import Settings
from tests.support.api_routes import api_routes
from tests.support.full_project import everything
from tests.support.protobuf import traces
from tests.support.world import World, new_world, running_on, settings_for

EMPTY = traces({"resourceSpans": []})


@pytest.fixture(scope="module", params=["embedded", pytest.param("services", marks=pytest.mark.services)])
def limited(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    """A separate container that lets 8 requests through, and 5 of ingest."""
    home = tmp_path_factory.mktemp("limits")
    with running_on(
        request, home, lambda *args, **urls: replace(settings_for(*args, **urls), rate_limit=8, ingest_rate_limit=5)
    ) as container:
        yield container


def test_reads_never_starve_ingest_nor_does_ingest_its_own_limit_past(limited: Container) -> None:
    world = new_world(limited)
    prompt_id = world.prompt()
    reads = [world.get("/api/v1/prompts").status_code for _ in range(9)]
    sent = [world.send_to(prompt_id, EMPTY) for _ in range(6)]

    assert reads == [200] * 8 + [429]
    assert [answer.status_code for answer in sent] == [200] * 5 + [429]
    assert [answer.headers["RateLimit-Remaining"] for answer in sent] == ["4", "3", "2", "1", "0", "0"]
    assert 0 < int(sent[-1].headers["Retry-After"]) <= 60


def test_ingest_counts_toward_what_all_have(limited: Container) -> None:
    world = new_world(limited)
    prompt_id = world.prompt()
    for _ in range(5):
        assert world.send_to(prompt_id, EMPTY).status_code == 200
    answers = [world.get("/api/v1/prompts") for _ in range(4)]

    assert [answer.status_code for answer in answers] == [200] * 3 + [429]
    assert [answer.headers["RateLimit-Limit"] for answer in answers] == ["8"] * 4


def test_every_answer_names_both_limits(limited: Container) -> None:
    world = new_world(limited)
    answers = (
        world.get("/api/v1/prompts"),
        world.send_to(world.prompt(), EMPTY),
        world.get("/api/v1/prompts/99999999"),
    )
    assert {answer.headers["RateLimit-Policy"] for answer in answers} == {'"api";q=8;w=60, "ingest";q=5;w=60'}


def test_both_limits_are_6000_unless_they_are_set(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    assert (settings.rate_limit, settings.ingest_rate_limit) == (6000, 0)


def test_head_has_the_headers_of_get(world: World) -> None:
    owned, wrong = everything(world), {}
    gets = [route for route in api_routes(world.client.app) if route.method == "GET"]
    for route in (route for route in gets if not route.parameters or set(route.parameters) <= set(owned)):
        path = route.path(owned)
        if path.endswith(("/events", "/sessions")):
            continue  # streams
        get, head = (world.client.simulate_request(m, path, headers=world.headers) for m in ("GET", "HEAD"))
        said = [(one.headers.get("content-length"), one.headers.get("etag"), one.status_code) for one in (get, head)]
        if said[0] != said[1] or head.content:
            wrong[path] = said
    assert wrong == {}
    assert len(gets) > 20


def test_head_of_an_address_with_only_post_is_405(world: World) -> None:
    path = f"/api/public/prompts/{world.prompt()}/otel/v1/traces"
    answer = world.client.simulate_head(path, headers=world.headers)
    assert (answer.status_code, answer.content, answer.headers["Allow"]) == (405, b"", "POST, OPTIONS")


@pytest.mark.parametrize("query", ["", "productive=true", "productive=false", "commitHash={}"])
def test_a_prompt_that_the_caller_has_is_304_until_anything_of_it_changes(world: World, query: str) -> None:
    made = world.post("/api/v1/prompts", json={"name": "n", "value": "v"}).json
    path = f"/api/v1/prompts/{made['prompt']['id']}"
    query = query.format(world.get(path).json["commitHash"])

    def ask(tag: str = "") -> tuple[int, bytes, str]:
        answer = world.get(path, query_string=query, headers={"If-None-Match": tag} if tag else {})
        assert "RateLimit-Remaining" in answer.headers
        return answer.status_code, answer.content, answer.headers["ETag"]

    status, body, tag = ask()
    assert (status, bool(body), tag[0], tag[-1]) == (200, True, '"', '"')
    assert ask(tag) == (304, b"", tag)
    assert world.patch(path, json={"name": "another"}).status_code == 200
    assert ask(tag)[0] == 200
