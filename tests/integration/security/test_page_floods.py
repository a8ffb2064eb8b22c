"""Requests for pages without end: each user has a separate limit, and so has each network of strangers."""

from __future__ import annotations

import secrets

import pytest
from falcon.testing import Result, TestClient

from app.models.organizations import Role
from app.process.application import build_app
from tests.support.world import World, beside

LIMIT = 5


@pytest.fixture
def client(world: World) -> TestClient:
    return TestClient(build_app(beside(world.container, page_rate_limit=LIMIT, trusted_proxies="10.0.0.1")))


@pytest.fixture
def address() -> str:
    """An address of a network that no other test has: they share a Redis."""
    return elsewhere()


def elsewhere() -> str:
    return f"2001:db8:{secrets.randbelow(2**16):x}:{secrets.randbelow(2**16):x}::1"


def statuses(client: TestClient, path: str, times: int = LIMIT + 1, **sent: object) -> list[int]:
    return [client.simulate_get(path, **sent).status_code for _ in range(times)]


@pytest.mark.parametrize("path", ["/sign-in", "/join/0", "/account", "/projects/1/prompts"])
def test_a_strangers_flood_of_pages_is_refused(client: TestClient, address: str, path: str) -> None:
    answered = statuses(client, path, remote_addr=address)

    assert 429 not in answered[:LIMIT]
    assert answered[LIMIT:] == [429]


def test_a_made_up_session_is_counted_as_not_signed_in(client: TestClient, address: str) -> None:
    answered = [
        client.simulate_get("/account", remote_addr=address, cookies={"reprise_session": secrets.token_hex(16)})
        for _ in range(LIMIT + 1)
    ]
    assert [answer.status_code for answer in answered] == [303] * LIMIT + [429]


def test_forms_are_counted_too_and_not_read(client: TestClient, address: str) -> None:
    statuses(client, "/sign-in", LIMIT, remote_addr=address)

    assert client.simulate_post("/sign-in", body="{", remote_addr=address).status_code == 429


def test_a_flood_refuses_no_other_network(client: TestClient, world: World, address: str) -> None:
    statuses(client, "/sign-in", remote_addr=address)
    signed_in = {"reprise_session": world.session_of(Role.VIEWER)}

    assert client.simulate_get("/sign-in", remote_addr=elsewhere()).status_code == 200
    assert client.simulate_get("/account", remote_addr=address, cookies=signed_in).status_code == 200
    assert client.simulate_get("/api/v1/prompts", remote_addr=address, headers=world.headers).status_code == 200


def test_the_addresses_of_one_ipv6_network_are_counted_together(client: TestClient, address: str) -> None:
    answered = [client.simulate_get("/sign-in", remote_addr=f"{address}{n}").status_code for n in range(LIMIT + 1)]

    assert answered == [200] * LIMIT + [429]


def test_a_users_flood_is_refused_from_whichever_address(client: TestClient, world: World, address: str) -> None:
    signed_in = {"reprise_session": world.session_of(Role.VIEWER)}

    answered = [
        client.simulate_get("/account", remote_addr=elsewhere(), cookies=signed_in).status_code
        for _ in range(LIMIT + 1)
    ]

    assert answered == [200] * LIMIT + [429]
    assert client.simulate_get("/sign-in", remote_addr=address).status_code == 200


def test_behind_a_trusted_proxy_each_client_is_counted_for_itself(client: TestClient, address: str) -> None:
    def ask(client_address: str) -> int:
        headers = {"X-Forwarded-For": client_address}
        return client.simulate_get("/sign-in", remote_addr="10.0.0.1", headers=headers).status_code

    assert [ask(address) for _ in range(LIMIT + 1)] == [200] * LIMIT + [429]
    assert ask(elsewhere()) == 200


def test_the_refusal_names_when_to_come_back(client: TestClient, address: str) -> None:
    statuses(client, "/sign-in", LIMIT, remote_addr=address)
    page: Result = client.simulate_get("/sign-in", remote_addr=address, headers={"Accept": "text/html"})

    assert page.status_code == 429
    assert 0 < int(page.headers["Retry-After"]) <= 60
    assert "Too many requests" in page.text
