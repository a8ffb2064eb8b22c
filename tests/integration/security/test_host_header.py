"""A made-up `Host`, or a header that replaces it: no link and no snippet leads there."""

from __future__ import annotations

import pytest
from falcon.testing import TestClient

from app.process.application import build_app
from tests.integration.web.conftest import HTML, Browser, address
from tests.support.world import World, beside

EVIL = "evil.example"


def behind(world: World, **settings: str) -> TestClient:
    return TestClient(build_app(beside(world.container, **settings)))


@pytest.mark.parametrize("public_url", ["", "https://reprise.example.com/"])
def test_an_invitation_link_and_snippets_never_name_the_host_of_the_request(
    world: World, admin: Browser, public_url: str
) -> None:
    client = behind(world, public_url=public_url, trusted_proxies="127.0.0.1")
    headers = HTML | {"Host": EVIL, "X-Forwarded-Host": EVIL, "Forwarded": f"host={EVIL}"}
    admin.open(f"{admin.base}/settings/members")

    invited = client.simulate_post(
        f"{admin.base}/settings/members",
        headers=headers | {"Content-Type": "application/x-www-form-urlencoded"},
        body=f"csrf={admin.csrf}&email={address()}&role=viewer",
        cookies=admin.cookies,
    )
    cookies = admin.cookies | {"reprise_once": invited.cookies["reprise_once"].value}
    members = client.simulate_get(invited.headers["location"], headers=headers, cookies=cookies)
    start = client.simulate_get(f"{admin.base}/start", headers=headers, cookies=admin.cookies)

    base = public_url.rstrip("/") or "$BASE_URL"
    assert f"data-base-url>{base}/join/" in members.text
    assert f"curl {base}/api/v1/prompts/run" in start.text
    assert EVIL not in members.text + start.text + str(invited.headers)
