"""Signing in and out: passwords, links, expiry, limits, and where one comes back to."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from falcon.testing import TestClient

from app.process.application import build_app
from app.services.accounts.sign_in_attempts import SignInOrigin
from app.services.accounts.sign_ins import SESSION
from tests.integration.web.conftest import PASSWORD, Browser, address
from tests.support.world import World, beside


def test_who_is_not_signed_in_is_asked_to_and_comes_back(world: World, admin: Browser) -> None:
    stranger = Browser(world)
    asked = stranger.open(f"{admin.base}/prompts?search=a%26b")
    assert (asked.status_code, asked.headers["location"].partition("?")[0]) == (303, "/sign-in")

    stranger.open(asked.headers["location"])
    back = stranger.send("/sign-in", email=admin.email, password=PASSWORD, next=f"{admin.base}/prompts?search=a%26b")

    assert (back.status_code, back.headers["location"]) == (303, f"{admin.base}/prompts?search=a%26b")
    assert stranger.open(f"{admin.base}/prompts").status_code == 200


@pytest.mark.parametrize(("path", "comes_back"), [("/prompts/new", True), ("/sessions/1/rating", False)])
def test_a_form_after_the_end_of_the_sign_in_is_reported_as_lost(
    world: World, admin: Browser, path: str, comes_back: bool
) -> None:
    admin.open(f"{admin.base}/prompts/new")
    del admin.cookies["reprise_session"]

    asked = admin.send(f"{admin.base}{path}", name="Written for an hour")
    admin.open(asked.headers["location"])

    assert "the form was not saved" in admin.text
    assert (f'name="next" value="{admin.base}{path}"' in admin.page) == comes_back


@pytest.mark.parametrize(
    "elsewhere", ["https://evil.example/", "//evil.example", "/\\evil.example", "evil", "", "/\n/evil.example"]
)
def test_signing_in_leads_nowhere_else(world: World, admin: Browser, elsewhere: str) -> None:
    stranger = Browser(world)
    stranger.open("/sign-in")

    answer = stranger.send("/sign-in", email=admin.email, password=PASSWORD, next=elsewhere)

    assert answer.headers["location"] == "/"


def without_tokens(page: str) -> str:
    """Return a page without the forms' tokens, which are masked differently in each."""
    return re.sub(r'(name="csrf" value=")\w+', r"\1", page)


def test_a_wrong_password_and_an_unknown_email_get_the_same_answer(world: World, admin: Browser) -> None:
    stranger = Browser(world)

    wrong = stranger.sign_in(admin.email, "something else")
    wrong_page = without_tokens(stranger.page.replace(admin.email, "E"))
    nobody = address()
    unknown = stranger.sign_in(nobody)

    assert wrong.status_code == unknown.status_code == 401
    assert wrong_page == without_tokens(stranger.page.replace(nobody, "E"))
    assert "reprise_session" not in stranger.cookies


def test_the_email_may_be_written_in_any_case(world: World, admin: Browser) -> None:
    assert Browser(world).sign_in(f" {admin.email.upper()} ").status_code == 303


def test_tries_are_limited_per_email_also_for_the_right_password(world: World, admin: Browser) -> None:
    stranger = Browser(world)
    statuses = {stranger.sign_in(admin.email, "a wrong guess").status_code for _ in range(25)}

    assert statuses == {401, 429}
    assert stranger.sign_in(admin.email).status_code == 429
    assert "Too many tries" in stranger.text


def test_signing_out_ends_the_session_itself(world: World, admin: Browser) -> None:
    taken = Browser(world, cookies=dict(admin.cookies))
    admin.open(f"{admin.base}/prompts")

    admin.send("/sign-out")

    assert "reprise_session" not in admin.cookies
    assert taken.open(f"{admin.base}/prompts").status_code == 303


def test_a_session_ends_after_its_time(world: World, admin: Browser) -> None:
    container = world.container
    late = container.now() + SESSION + timedelta(seconds=1)
    later = beside(container, now=lambda: late)

    answer = TestClient(build_app(later)).simulate_get(f"{admin.base}/prompts", cookies=admin.cookies)

    assert admin.open(f"{admin.base}/prompts").status_code == 200
    assert answer.status_code == 303


def test_a_clock_that_jumps_signs_no_user_out_for_good(world: World, admin: Browser) -> None:
    container = world.container
    late = container.now() + 2 * SESSION
    later = beside(container, now=lambda: late)

    # Who signs in removes what has expired.
    later.services.sign_ins.sign_in(email=admin.email, password=PASSWORD, origin=SignInOrigin("127.0.0.1"))

    assert admin.open(f"{admin.base}/prompts").status_code == 200


def test_the_session_cookie_is_out_of_reach_for_scripts_and_other_sites(world: World, admin: Browser) -> None:
    stranger = Browser(world)
    cookie = stranger.sign_in(admin.email).cookies["reprise_session"]

    assert (cookie.http_only, cookie.same_site, cookie.secure, cookie.path) == (True, "Lax", False, "/")


def test_the_token_is_stored_as_a_digest(world: World, admin: Browser) -> None:
    from sqlalchemy import select

    from app.models.users import sign_ins

    token = admin.cookies["reprise_session"].encode()
    with world.container.database.read() as connection:
        stored = [bytes(digest) for digest in connection.scalars(select(sign_ins.c.digest))]

    assert stored
    assert token not in stored


def test_a_link_signs_in_until_the_next_one_is_made(world: World, admin: Browser) -> None:
    accounts = world.container.services.accounts
    first = accounts.sign_in_link(email=admin.email)
    second = accounts.sign_in_link(email=admin.email)

    old, new = Browser(world), Browser(world)
    assert old.open(first).headers["location"] == "/sign-in"
    assert "not valid any more" in (old.open("/sign-in") and old.text)
    assert new.follow(second).headers["location"] == "/"
    assert new.open(f"{admin.base}/prompts").status_code == 200


def test_a_session_token_is_no_link(world: World, admin: Browser) -> None:
    stranger = Browser(world)
    stranger.open(f"/sign-in/link?token={admin.cookies['reprise_session']}")

    assert "reprise_session" not in stranger.cookies


def test_a_new_password_ends_all_other_sessions(world: World, admin: Browser) -> None:
    other = Browser(world)
    other.sign_in(admin.email)
    admin.open("/account")

    refused = admin.send("/account", old="not mine", new="a new password")
    changed = admin.send("/account", old=PASSWORD, new="a new password")

    assert (refused.status_code, changed.status_code) == (400, 303)
    assert admin.open("/account").status_code == 200
    assert other.open("/account").status_code == 303
    assert Browser(world).sign_in(admin.email).status_code == 401
    assert Browser(world).sign_in(admin.email, "a new password").status_code == 303
    entry, *_ = world.container.services.audit.page(organization_id=world.organization_id, limit=1, cursor=None).entries
    assert (entry.action, entry.actor_kind, entry.subject) == ("password.changed", "user", admin.email)


def test_an_admin_who_is_there_keeps_the_password(world: World, admin: Browser) -> None:
    made = world.container.services.accounts.ensure_admin(
        organization_id=world.organization_id, email=admin.email, password="another password"
    )

    assert not made
    assert Browser(world).sign_in(admin.email).status_code == 303
