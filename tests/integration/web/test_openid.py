"""Signing in at an OpenID provider: accounts, roles of groups, and what is refused."""

from __future__ import annotations

import base64
import re
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from threading import Barrier, Thread
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from app.concurrency import deadline
from app.models import users
from app.models.audit_log import SYSTEM
from app.models.organizations import Role
from app.services.accounts.openid import OpenIdSettings, OpenIdSignIns, roles_of
from app.services.accounts.passwords import Passwords
from app.web.cookies import OPENID_COOKIE
from tests.integration.web.conftest import PASSWORD, Browser
from tests.support.backends import EACH_CONTAINER
from tests.support.openid import FakeProvider
from tests.support.world import World, new_world

pytestmark = EACH_CONTAINER
ROLES = "reprise-admins=admin, dev=member"


@pytest.fixture
def fake() -> FakeProvider:
    """A provider that knows a new person."""
    subject = secrets.token_hex(8)
    return FakeProvider(
        claims={
            "sub": subject,
            "email": f"{subject}@Example.org",
            "email_verified": True,
            "name": "Ada <b>",
            "groups": [],
        }
    )


@pytest.fixture(autouse=True)
def provided(world: World, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The provider. Its groups have roles in the organization of the test."""
    configure(world, fake, monkeypatch)
    monkeypatch.setattr(OpenIdSignIns, "_organization_id", world.organization_id)
    yield
    # What it writes later would find no database after the last test.
    world.container.services.sign_ins.journal.flush()


def configure(world: World, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch, **changed: Any) -> None:
    settings = OpenIdSettings(fake.client(), "Example", roles_of(ROLES), trust_email=False)
    monkeypatch.setattr(OpenIdSignIns, "settings", property(lambda _: replace(settings, **changed)))


def sent_away(browser: Browser, fake: FakeProvider, start: str = "/sign-in/openid") -> Mapping[str, str]:
    """Begin to sign in; return what the provider is asked."""
    answer = browser.open(start)
    assert answer.status_code == 303, answer.text
    query = {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["location"]).query).items()}
    fake.nonce = query.get("nonce", "")
    return query


def signed_in(browser: Browser, fake: FakeProvider, **claims: Any) -> str:
    """Sign in; return the address where the person is sent in the end."""
    fake.claims |= claims
    query = sent_away(browser, fake)
    answer = browser.open(f"/sign-in/openid/return?code=c&state={query['state']}")
    assert answer.status_code == 303
    return answer.headers["location"]


def role(world: World, fake: FakeProvider) -> Role | None:
    members = world.container.services.accounts.members(organization_id=world.organization_id)
    return {member.email: member.role for member in members}.get(fake.claims["email"].lower())


def problem(browser: Browser) -> str:
    browser.open("/sign-in")
    return browser.text


def test_a_new_person_of_a_group_gets_an_account_with_its_highest_role(world: World, fake: FakeProvider) -> None:
    browser = Browser(world)
    browser.open("/sign-in?next=/account")
    [link] = re.findall(r'href="(/sign-in/openid[^"]*)">Sign in with Example', browser.page)
    query = sent_away(browser, fake, link)
    fake.claims["groups"] = ["dev", "reprise-admins", "unknown"]

    answer = browser.open(f"/sign-in/openid/return?code=c&state={query['state']}")

    assert answer.headers["location"] == "/account"
    assert "Ada &lt;b&gt;" in browser.open("/account").text
    assert role(world, fake) is Role.ADMIN
    entries = world.container.services.audit.page(organization_id=world.organization_id, limit=5, cursor=None).entries
    assert [entry.action for entry in entries][:2] == ["member.joined", "identity.linked"]
    assert entries[1].subject == str(fake.claims["email"]).lower()


def test_the_role_follows_the_groups_and_the_only_admin_stays_one(
    world: World, admin: Browser, fake: FakeProvider
) -> None:
    browser = Browser(world)
    seen = []
    for groups in (["dev"], ["reprise-admins"], ["dev"], []):
        signed_in(browser, fake, groups=groups)
        seen.append(role(world, fake))
    assert seen == [Role.MEMBER, Role.ADMIN, Role.MEMBER, Role.MEMBER]

    signed_in(browser, fake, groups=["reprise-admins"])
    accounts = world.container.services.accounts
    for member in accounts.members(organization_id=world.organization_id):
        if member.email != fake.claims["email"].lower():
            accounts.remove(organization_id=world.organization_id, user_id=member.user_id, actor=SYSTEM)
    signed_in(browser, fake, groups=["dev"])
    assert role(world, fake) is Role.ADMIN


def test_a_person_without_a_role_or_an_invitation_is_refused_and_gets_no_account(
    world: World, fake: FakeProvider
) -> None:
    browser = Browser(world)

    assert signed_in(browser, fake, groups=["sales"]) == "/sign-in"

    assert "has no access here" in problem(browser)
    with world.container.database.read() as connection:
        assert users.find_by_email(connection, fake.claims["email"].lower()) is None


def test_an_account_is_found_by_its_verified_email_and_later_by_the_providers_name(
    world: World, admin: Browser, fake: FakeProvider
) -> None:
    browser = Browser(world)
    fake.claims["email"] = admin.email.upper()
    assert signed_in(browser, fake, email_verified=False) == "/sign-in"
    assert "has not verified your e-mail" in problem(browser)

    assert signed_in(browser, fake, email_verified=True) == "/"
    assert admin.email in browser.open("/account").text
    assert signed_in(browser, fake, email="renamed@example.org", email_verified=False) == "/"
    assert admin.email in browser.open("/account").text


def test_the_kelvin_sign_of_an_email_is_not_the_k_of_another_account(world: World, fake: FakeProvider) -> None:
    name = f"keith-{secrets.token_hex(4)}@example.org"
    assert signed_in(Browser(world), fake, sub="keith", email=name, groups=["dev"]) == "/"
    browser = Browser(world)

    assert signed_in(browser, fake, sub="evil", email=name.replace("k", "\u212a", 1), groups=["dev"]) == "/sign-in"
    assert "must be in lower case" in problem(browser)


def test_a_name_that_no_database_stores_is_stored_without_its_wrong_characters(
    world: World, fake: FakeProvider
) -> None:
    browser, new = Browser(world), secrets.token_hex(4)

    assert signed_in(browser, fake, sub=new, email=f"{new}@example.org", name="Ada \0", groups=["dev"]) == "/"
    assert "Ada \ufffd" in browser.open("/account").text


def test_an_instance_can_trust_emails_that_the_provider_does_not_verify(
    world: World, admin: Browser, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(world, fake, monkeypatch, trust_email=True)
    fake.claims |= {"email": admin.email, "email_verified": None}

    assert signed_in(Browser(world), fake) == "/"


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("code=c&state=other", "begun in another browser"),
        ("code=c", "begun in another browser"),
        ("error=access_denied&error_description=%3Cb%3ENo&state={state}", "The provider refused: <b>No"),
        ("state={state}", "no reason was given"),
    ],
)
def test_an_answer_that_was_not_asked_for_or_refuses_begins_no_session(
    world: World, fake: FakeProvider, query: str, words: str
) -> None:
    browser = Browser(world)
    state = sent_away(browser, fake)["state"]

    answer = browser.open(f"/sign-in/openid/return?{query.format(state=state)}")

    assert answer.headers["location"] == "/sign-in"
    assert "reprise_session" not in browser.cookies
    assert words in problem(browser)
    assert "<b>No" not in browser.page


@pytest.mark.parametrize(
    "kept",
    [
        "",
        "x",
        "W10",
        "bnVsbA",
        "WzEsMl0",
        "😀".encode().hex(),
        pytest.param(base64.urlsafe_b64encode(b"[" * 3_000).decode(), id="lists in lists"),
        pytest.param(base64.urlsafe_b64encode(rb'["\ud800", "", "", "/"]').decode(), id="half a character"),
    ],
)
def test_a_damaged_cookie_begins_no_session(world: World, fake: FakeProvider, kept: str) -> None:
    browser = Browser(world)
    state = sent_away(browser, fake)["state"]
    browser.cookies[OPENID_COOKIE] = kept

    answer = browser.open(f"/sign-in/openid/return?code=c&state={state}")

    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")


def test_no_person_is_sent_to_another_site_after_the_sign_in(world: World, fake: FakeProvider) -> None:
    browser = Browser(world)
    fake.claims["groups"] = ["dev"]
    query = sent_away(browser, fake, "/sign-in/openid?next=//evil.example")

    assert browser.open(f"/sign-in/openid/return?code=c&state={query['state']}").headers["location"] == "/"


def test_the_sign_in_page_shows_that_a_provider_is_away(world: World, fake: FakeProvider) -> None:
    browser = Browser(world)
    fake.answers["openid-configuration"] = lambda _: httpx.Response(503, json={})

    assert browser.open("/sign-in/openid").headers["location"] == "/sign-in"

    assert "status 503" in problem(browser)


def test_a_provider_that_needs_longer_than_other_work_of_a_request_signs_in(
    world: World, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = [0.0]
    monkeypatch.setattr(deadline, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + late[0]))

    def slow(_: httpx.Request) -> httpx.Response:
        late[0] += world.container.settings.request_s + deadline.GRACE_S + 1
        return httpx.Response(200, json={"access_token": "at", "id_token": fake.signed()})

    fake.answers["token"] = slow

    assert signed_in(Browser(world), fake, groups=["dev"]) == "/"


def test_without_a_provider_there_is_nothing_to_see(
    world: World, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(world, fake, monkeypatch, provider=None)
    browser = Browser(world)

    assert "openid" not in browser.open("/sign-in").text
    assert browser.open("/sign-in/openid").status_code == 404
    browser.cookies[OPENID_COOKIE] = "WyJzIiwibiIsInYiLCIvIl0"
    assert browser.open("/sign-in/openid/return?code=c&state=s").status_code == 404


def test_an_account_of_the_provider_has_no_password(world: World, fake: FakeProvider) -> None:
    signed_in(Browser(world), fake, groups=["dev"])
    browser = Browser(world)

    assert browser.sign_in(fake.claims["email"], "").status_code in (400, 401)
    assert "reprise_session" not in browser.cookies


def test_a_sign_in_with_a_provider_hashes_nothing(
    world: World, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[str] = []
    monkeypatch.setattr(Passwords, "hash", lambda self, password: hashed.append(password))

    assert signed_in(Browser(world), fake, groups=["sales"]) == "/sign-in"
    for _ in range(2):
        assert signed_in(Browser(world), fake, groups=["dev"]) != "/sign-in"
    assert hashed == []


def test_first_sign_ins_at_once_make_one_account(world: World, fake: FakeProvider) -> None:
    fake.claims["groups"] = ["dev"]
    fake.answers["token"] = lambda request: httpx.Response(
        200, json={"id_token": fake.signed(nonce=parse_qs(request.content.decode())["code"][0])}
    )
    browsers, together = [Browser(world) for _ in range(4)], Barrier(4)
    queries = [sent_away(browser, fake) for browser in browsers]

    def finish(browser: Browser, query: Mapping[str, str]) -> None:
        together.wait()
        browser.open(f"/sign-in/openid/return?code={query['nonce']}&state={query['state']}")

    threads = [Thread(target=finish, args=pair) for pair in zip(browsers, queries, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    members = world.container.services.accounts.members(organization_id=world.organization_id)
    assert [member.email for member in members].count(fake.claims["email"].lower()) == 1
    # Whoever came at the same moment as the first one is asked to try again.
    assert any("reprise_session" in browser.cookies for browser in browsers)


def test_an_admin_of_another_organization_who_made_the_account_first_has_no_access_after_the_person_signs_in(
    world: World, fake: FakeProvider
) -> None:
    """They invite a person's e-mail to their own organization, keep the link, and so have the password."""
    email = fake.claims["email"].lower()
    other = new_world(world.container)
    accounts = world.container.services.accounts
    token = accounts.invite(organization_id=other.organization_id, email=email, role=Role.VIEWER, actor=SYSTEM)
    intruder = Browser(world)
    intruder.open(f"/join/{token}")
    assert intruder.send(f"/join/{token}", name="Eve", password=PASSWORD).status_code == 303

    person = Browser(world)
    assert signed_in(person, fake, groups=["reprise-admins"]) == "/"
    assert role(world, fake) is Role.ADMIN

    assert person.open(person.base).status_code in (200, 303)
    assert intruder.open(f"/projects/{world.project_id}/settings/keys").status_code != 200
    again = Browser(world, address="192.0.2.1")
    assert again.sign_in(email).status_code == 401
