"""Every answer has the headers that restrict how it may be used."""

from __future__ import annotations

import falcon
import falcon.testing
import pytest

from app.http.middleware import SecurityHeaders
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.world import World

API_POLICY = "default-src 'none'; frame-ancestors 'none'"


@EMBEDDED_CONTAINER
@pytest.mark.parametrize(
    "path", ["/api/v1/prompts", "/api/v1/prompts/999999999", "/api/v1/nothing", "/api/openapi.json"]
)
@pytest.mark.parametrize("with_key", [True, False])
def test_answers_of_the_api_are_data_that_is_not_cached(world: World, path: str, with_key: bool) -> None:
    answer = world.client.simulate_get(path, headers=world.headers if with_key else {})
    assert answer.headers["Content-Security-Policy"] == API_POLICY
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert "Access-Control-Allow-Origin" not in answer.headers


def test_an_error_of_any_kind_has_them_too(world: World) -> None:
    answers = [
        world.post("/api/v1/prompts", json={}),
        world.post("/api/v1/prompts", body=b"{", headers={"Content-Type": "application/json"}),
        world.client.simulate_request("PUT", "/api/v1/prompts", headers=world.headers),
        world.send(b"no JSON"),
    ]
    assert [answer.status_code for answer in answers] == [400, 400, 405, 400]
    assert {answer.headers["Content-Security-Policy"] for answer in answers} == {API_POLICY}
    assert {answer.headers["Cache-Control"] for answer in answers} == {"no-store"}


def test_a_page_keeps_the_policy_of_pages(world: World) -> None:
    answer = world.client.simulate_get("/sign-in")
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    assert "'unsafe" not in answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"


def test_answers_do_not_name_what_serves_them(world: World) -> None:
    names = {name.lower() for name in world.get("/api/v1/prompts").headers}
    assert names.isdisjoint({"server", "x-powered-by"})


def test_reading_across_origins_is_not_offered(world: World) -> None:
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "GET"}
    answer = world.client.simulate_options("/api/v1/prompts", headers=asked)
    assert [name for name in answer.headers if name.lower().startswith("access-control")] == []


@pytest.mark.parametrize(
    ("public_url", "kept"), [("https://reprise.example.com", True), ("", False), ("http://a", False)]
)
def test_browsers_are_kept_to_https_where_reprise_is_reached_by_it(public_url: str, kept: bool) -> None:
    app = falcon.App(middleware=[SecurityHeaders(public_url)])
    answer = falcon.testing.TestClient(app).simulate_get("/nothing")
    assert ("Strict-Transport-Security" in answer.headers) is kept
