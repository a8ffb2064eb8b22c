"""Signing in at a real OpenID provider in the browser."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.connect.sdks import NotInstalled, installed
from tests.support import browser as support
from tests.support.deployment import ROOT, EmbeddedServer
from tests.support.http_client import serves
from tests.support.process import ChildProcess
from tests.support.waiting import LOOPBACK, free_port

pytestmark = pytest.mark.browser
HERE = Path(__file__).with_name("openid")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """A server with a provider at which people sign in."""
    try:
        modules = installed(HERE)
    except NotInstalled as missing:
        if os.environ.get("REQUIRE_SERVICES"):
            pytest.fail(f"REQUIRE_SERVICES is set, but {missing}", pytrace=False)
        pytest.skip(str(missing))
    home, port, provider_port = tmp_path_factory.mktemp("openid"), free_port(), free_port()
    public_url, issuer = f"http://{LOOPBACK}:{port}", f"http://{LOOPBACK}:{provider_port}"
    settings = {
        "PORT": str(port),
        "REPRISE_PUBLIC_URL": public_url,
        "REPRISE_OPENID_ISSUER": issuer,
        "REPRISE_OPENID_CLIENT_ID": "reprise",
        "REPRISE_OPENID_CLIENT_SECRET": "a secret/+:",
        "REPRISE_OPENID_NAME": "Example",
        "REPRISE_OPENID_SCOPES": "openid email profile groups",
        "REPRISE_OPENID_ROLES": "reprise-admins=admin",
    }
    provider = ChildProcess(
        "OpenID provider",
        ["node", str(HERE / "provider.mjs"), str(modules), str(provider_port), f"{public_url}/sign-in/openid/return"],
        log=home / "provider.log",
        env=dict(os.environ),
        cwd=ROOT,
        ready=lambda: serves(issuer, "/.well-known/openid-configuration"),
    )
    provider.start()
    try:
        server = EmbeddedServer(home, settings)
        server.url = public_url
        with server:
            yield server
    finally:
        provider.kill()


@contextmanager
def at_provider(visit: support.Visit, path: str = "/sign-in") -> Iterator[Page]:
    """Go from the sign-in page to the provider and back; what goes wrong on the provider's pages is theirs."""
    visit.open(path)
    assert visit.accessibility_problems() == []
    assert visit.wrong == []
    visit.page.get_by_role("link", name="Sign in with Example").click()
    yield visit.page
    visit.page.wait_for_url(f"{visit.url}/**")
    visit.wrong.clear()


def give(page: Page, name: str) -> None:
    """Sign in at the provider, and consent."""
    page.get_by_placeholder("Enter any login").fill(name)
    page.get_by_placeholder("and password").fill("x")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()


def test_a_person_signs_in_and_has_the_role_of_their_group(chromium: support.Browser, server: EmbeddedServer) -> None:
    with support.visit(chromium, server.url) as visit:
        with at_provider(visit, "/sign-in?next=/account") as page:
            give(page, "boss")

        expect(page).to_have_url(f"{server.url}/account")
        expect(page.get_by_text("boss@example.org").first).to_be_visible()
        visit.open("/")
        expect(page.get_by_role("link", name="Settings")).to_be_visible()


def test_a_person_of_no_group_is_sent_back_with_the_reason(chromium: support.Browser, server: EmbeddedServer) -> None:
    with support.visit(chromium, server.url) as visit:
        with at_provider(visit) as page:
            give(page, "guest")

        expect(page).to_have_url(f"{server.url}/sign-in")
        expect(page.get_by_text("has no access here")).to_be_visible()


def test_who_cancels_at_the_provider_is_sent_back(chromium: support.Browser, server: EmbeddedServer) -> None:
    with support.visit(chromium, server.url) as visit:
        with at_provider(visit) as page:
            page.get_by_role("link", name="Cancel").click()

        expect(page.get_by_text("The provider refused")).to_be_visible()
