"""The requests that once went around authentication: a second slash in front, and a `SCRIPT_NAME` from this machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.access_walk import BODY, BODY_HEADERS, OverSockets
from tests.support.deployment import EmbeddedServer
from tests.support.http_client import Answer, Client

TRIED = [
    ("GET", "/api/v1/prompts"),
    ("PATCH", "/api/v1/prompts/1"),
    ("POST", "/api/v1/prompts/1/preview"),
    ("POST", "/api/v1/prompts/1/render"),
    ("POST", "/api/v1/prompts/1/commit"),
    ("POST", "/api/v1/prompts/1/test-cases"),
    ("POST", "/api/v1/prompts/1/test-cases/import"),
    ("POST", "/api/v1/prompts/1/replays"),
    ("POST", "/api/v1/test-cases/1/replays"),
    ("PATCH", "/api/v1/replays/1/steps/0"),
    ("POST", "/api/v1/prompts/run"),
    ("POST", "/api/public/otel/v1/traces"),
]


@pytest.fixture
def stranger(backend: EmbeddedServer) -> Client:
    return backend.client(api_key="")


def sent(client: Client, method: str, path: str, **headers: str) -> Answer:
    return client.request(method, path, body=BODY, headers=BODY_HEADERS | headers)


@pytest.mark.parametrize(("method", "path"), TRIED)
def test_two_slashes_go_around_no_authentication(stranger: Client, method: str, path: str) -> None:
    answer = sent(stranger, method, f"/{path}")

    assert (answer.status, set(answer.json())) == (404, {"error"})
    assert answer.json()["error"].startswith("There is no such path.")


@pytest.mark.parametrize(("method", "path"), TRIED)
def test_two_slashes_are_no_second_address_for_who_has_a_key(backend: EmbeddedServer, method: str, path: str) -> None:
    assert sent(backend.client(), method, f"/{path}").status == 404


@pytest.mark.parametrize("header", [("SCRIPT_NAME", "/"), ("SCRIPT_NAME", "/api"), ("PATH_INFO", "/health/live")])
@pytest.mark.parametrize(("method", "path"), TRIED)
def test_a_header_that_rewrites_the_path_goes_around_no_authentication(
    caller: OverSockets, method: str, path: str, header: tuple[str, str]
) -> None:
    status, body = caller(method, path, dict([header]))

    assert status == 401, body
    assert b"Authorization: Bearer" in body


@pytest.fixture
def caller(backend: EmbeddedServer) -> Iterator[OverSockets]:
    found = OverSockets(backend.url)
    yield found
    found.close()
