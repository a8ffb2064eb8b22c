"""Sign-in links: looked at by previews, followed twice, followed in another person's browser."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.errors import Unauthorized
from app.models.organizations import Role
from app.services.accounts.sign_in_attempts import SignInOrigin
from tests.integration.security.conftest import Door
from tests.integration.web.conftest import PASSWORD, Browser
from tests.support.world import World

MemberOf = Callable[[Role], Browser]


@pytest.fixture
def link(world: World, admin: Browser) -> str:
    return world.container.services.accounts.sign_in_link(email=admin.email)


def signed_in_as(browser: Browser) -> str:
    """Return the e-mail of the session that the browser has."""
    viewer = browser.world.container.services.sign_ins.viewer(browser.cookies.get("reprise_session", ""))
    return viewer.email if viewer else ""


def test_looking_at_a_link_signs_no_user_in_and_uses_nothing_up(world: World, admin: Browser, link: str) -> None:
    preview, person = Browser(world), Browser(world)
    for _ in range(2):
        assert preview.open(link).status_code == 200
        assert world.client.simulate_head(link).status_code in {200, 405}
    assert "reprise_session" not in preview.cookies

    assert person.follow(link).headers["location"] == "/"
    assert signed_in_as(person) == admin.email


def test_a_link_works_once(world: World, admin: Browser, link: str) -> None:
    first, second = Browser(world), Browser(world)
    second.open(link)
    first.follow(link)

    assert second.send("/sign-in/link", token=link.partition("token=")[2]).headers["location"] == "/sign-in"
    assert second.open(link).headers["location"] == "/sign-in"
    assert signed_in_as(second) == ""


def test_of_many_who_follow_a_link_at_once_one_is_signed_in(door: Door) -> None:
    token = door.sign_ins.make_link(email=door.account())

    def follow(number: int) -> str:
        try:
            return door.sign_ins.follow_link(token, SignInOrigin(f"10.1.1.{number}")).token
        except Unauthorized:
            return ""

    with ThreadPoolExecutor(10) as pool:
        tokens = list(pool.map(follow, range(10)))

    assert Counter(map(bool, tokens)) == {False: 9, True: 1}


def test_a_link_without_its_form_signs_no_user_in(world: World, admin: Browser, link: str) -> None:
    attacker, victim = Browser(world), Browser(world)
    attacker.open(link)
    victim.open("/sign-in")

    assert victim.send("/sign-in/link", csrf=attacker.csrf, token=link.partition("token=")[2]).status_code == 403
    assert signed_in_as(victim) == ""


def test_a_link_replaces_another_persons_session_only_on_request(
    world: World, admin: Browser, link: str, member_of: MemberOf
) -> None:
    member = member_of(Role.MEMBER)
    session = member.cookies["reprise_session"]

    member.open(link)
    assert f"You are signed in as {member.email}" in member.text
    assert signed_in_as(member) == member.email
    member.follow(link)

    assert signed_in_as(member) == admin.email
    assert signed_in_as(Browser(world, cookies={"reprise_session": session})) == ""


def test_a_form_that_was_opened_before_another_signed_in_is_refused(
    world: World, admin: Browser, link: str, member_of: MemberOf
) -> None:
    browser, member = Browser(world), member_of(Role.MEMBER)
    browser.open(link)
    csrf = browser.csrf
    browser.sign_in(member.email)

    assert browser.send("/sign-in/link", csrf=csrf, token=link.partition("token=")[2]).status_code == 403
    assert signed_in_as(browser) == member.email


def test_who_is_signed_in_already_goes_on_and_keeps_the_link(world: World, admin: Browser, link: str) -> None:
    assert admin.open(link).headers["location"] == "/"
    assert Browser(world).open(link).status_code == 200


def test_the_links_page_gives_its_address_to_no_other_site(world: World, link: str) -> None:
    answer = Browser(world).open(link)

    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"


def test_joining_in_another_persons_browser_shows_a_warning(world: World, admin: Browser, member_of: MemberOf) -> None:
    actor = world.container.services.sign_ins.viewer(admin.cookies["reprise_session"]).actor  # type: ignore[union-attr]
    invite = world.container.services.accounts.invite
    token = invite(organization_id=world.organization_id, email="x" + admin.email, role=Role.VIEWER, actor=actor)
    session = admin.cookies["reprise_session"]

    admin.open(f"/join/{token}")
    assert f"You are signed in as {admin.email}" in admin.text
    admin.send(f"/join/{token}", name="Grace", password=PASSWORD)

    assert signed_in_as(admin) == "x" + admin.email
    assert signed_in_as(Browser(world, cookies={"reprise_session": session})) == ""
