"""Headers that name the client are believed only from trusted proxies."""

from __future__ import annotations

import falcon
import pytest
import structlog
from falcon.testing import Result, TestClient

from app.http.access import Public
from app.process.application import build_app
from tests.support.deployment import EmbeddedServer
from tests.support.world import World, beside

PROXY, STRANGER = "10.0.0.1", "203.0.113.7"


class Seen:
    """A resource that answers with what it knows of its client."""

    access = Public({"GET"})

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        forwarded = [name for name in req.headers if name.startswith(("FORWARDED", "X-FORWARDED", "X-REAL-IP"))]
        resp.media = [req.remote_addr, req.forwarded_scheme, forwarded]


def behind(world: World, trusted_proxies: str) -> TestClient:
    app = build_app(beside(world.container, trusted_proxies=trusted_proxies))
    app.add_route("/seen", Seen())
    return TestClient(app)


def ask(client: TestClient, peer: str, path: str = "/seen") -> Result:
    headers = {
        "X-Forwarded-For": "1.1.1.1, 198.51.100.1",
        "X-Forwarded-Proto": "https",
        "X-Forwarded-Host": "evil.example",
        "X-Real-IP": "1.1.1.1",
        "Forwarded": "for=1.1.1.1;proto=https;host=evil.example",
    }
    return client.simulate_get(path, headers=headers, remote_addr=peer)


@pytest.mark.parametrize("trusted_proxies", ["", PROXY])
def test_a_stranger_is_not_believed_about_address_or_scheme(world: World, trusted_proxies: str) -> None:
    client = behind(world, trusted_proxies)

    assert ask(client, STRANGER).json == [STRANGER, "http", []]
    assert not ask(client, STRANGER, "/sign-in").cookies["reprise_form"].secure


def test_a_server_does_not_believe_its_own_machine_either(backend: EmbeddedServer) -> None:
    answer = backend.client().get("/sign-in", headers={"X-Forwarded-Proto": "https", "X-Forwarded-Ssl": "on"})

    assert "reprise_form" in answer.headers["Set-Cookie"]
    assert "Secure" not in answer.headers["Set-Cookie"]


def test_a_trusted_proxy_is_believed_about_the_last_address_and_the_scheme(world: World) -> None:
    client = behind(world, f"127.0.0.1,{PROXY}/32")

    assert ask(client, PROXY).json == ["198.51.100.1", "https", []]
    assert ask(client, PROXY, "/sign-in").cookies["reprise_form"].secure


@pytest.mark.parametrize("scheme", ["https,http", "ftp", "https://", ""])
def test_of_schemes_the_nearest_proxys_counts_and_nothing_else(world: World, scheme: str) -> None:
    answer = behind(world, PROXY).simulate_get("/seen", headers={"X-Forwarded-Proto": scheme}, remote_addr=PROXY)

    assert answer.json[1] == "http"


def test_a_proxy_that_was_not_named_is_pointed_out_once(world: World) -> None:
    client = behind(world, "")

    with structlog.testing.capture_logs() as logs:
        for peer in ("8.8.8.8", PROXY, PROXY):
            ask(client, peer)

    assert [line["address"] for line in logs if line["event"] == "proxy_not_trusted"] == [PROXY]
