"""An admin of another organization makes somebody's account first, with a password of the admin's own choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from app.errors import Invalid, Unauthorized
from app.models.audit_log import SYSTEM
from app.models.organizations import Role
from app.services.accounts.passwords import Passwords
from app.services.accounts.service import NewUser
from app.services.accounts.sign_in_attempts import SignInOrigin
from app.services.accounts.sign_ins import StartedSession
from tests.integration.security.conftest import OF_ACCOUNT, Door, somewhere
from tests.integration.web.conftest import Browser, address
from tests.support.world import World, new_world

KNOWN_TO_ANOTHER, OWN = "chosen by another", "chosen by the owner"


@dataclass
class Squatted:
    """An account of `email` that another organization's admin made, and an invitation of our organization for it."""

    door: Door
    email: str
    other: StartedSession
    other_origin: str
    invitation: str

    def join(self, password: str) -> StartedSession:
        return self.door.accounts.accept(self.invitation, NewUser("Ada", password), SignInOrigin(somewhere()))

    def reset_token(self) -> str:
        return self.door.sign_ins.make_link(email=self.email, resets=True)


@pytest.fixture
def squatted(door: Door) -> Squatted:
    email, origin, elsewhere = address(), somewhere(), new_world(door.world.container)

    def invite(organization_id: int) -> str:
        return door.accounts.invite(organization_id=organization_id, email=email, role=Role.MEMBER, actor=SYSTEM)

    other = door.accounts.accept(
        invite(elsewhere.organization_id), NewUser("Ada", KNOWN_TO_ANOTHER), SignInOrigin(origin)
    )
    return Squatted(door, email, other, origin, invite(door.world.organization_id))


def test_the_link_of_an_invitation_sets_no_password_of_an_account_that_exists(squatted: Squatted) -> None:
    with pytest.raises(Invalid, match="sign-in link"):
        squatted.join(OWN)

    assert squatted.door.try_(squatted.email, squatted.other_origin, KNOWN_TO_ANOTHER) == "in"
    members = squatted.door.accounts.members(organization_id=squatted.door.world.organization_id)
    assert squatted.email not in {member.email for member in members}


def test_the_owner_gets_in_by_the_operators_link_and_the_other_is_out(squatted: Squatted) -> None:
    door = squatted.door
    squatted_link = door.sign_ins.make_link(email=squatted.email)
    token = squatted.reset_token()
    second = door.sign_ins.sign_in(
        email=squatted.email, password=KNOWN_TO_ANOTHER, origin=SignInOrigin(squatted.other_origin)
    )

    owner = door.sign_ins.follow_link(token, SignInOrigin(somewhere()), password=OWN)

    assert door.sign_ins.viewer(owner.token)
    assert [door.sign_ins.viewer(session.token) for session in (squatted.other, second)] == [None, None]
    assert door.try_(squatted.email, squatted.other_origin, KNOWN_TO_ANOTHER) == "wrong"
    for link in (squatted_link, token):
        with pytest.raises(Unauthorized):
            door.sign_ins.follow_link(link, SignInOrigin(somewhere()), password=KNOWN_TO_ANOTHER)

    joined = squatted.join(OWN)

    viewer = door.sign_ins.viewer(joined.token)
    assert viewer
    assert viewer.user_id == owner.user_id
    assert viewer.roles[door.world.organization_id] is Role.MEMBER


def test_who_signs_in_or_changes_the_password_at_that_moment_is_out_too(
    squatted: Squatted, monkeypatch: pytest.MonkeyPatch
) -> None:
    door, begun = squatted.door, []
    other = door.sign_ins.viewer(squatted.other.token)
    assert other
    matches = Passwords.matches

    def reset_meanwhile(passwords: Passwords, *args: Any, **options: Any) -> bool:
        matching = matches(passwords, *args, **options)
        begun.append(door.sign_ins.follow_link(squatted.reset_token(), SignInOrigin(somewhere()), password=OWN))
        return matching

    monkeypatch.setattr(Passwords, "matches", reset_meanwhile)
    origin = SignInOrigin(squatted.other_origin)
    with pytest.raises(Unauthorized):
        door.sign_ins.sign_in(email=squatted.email, password=KNOWN_TO_ANOTHER, origin=origin)
    with pytest.raises(Unauthorized):
        door.sign_ins.change_password(viewer=other, old=OWN, new=KNOWN_TO_ANOTHER, origin=origin)
    monkeypatch.undo()

    assert door.sign_ins.viewer(begun[-1].token)
    assert door.try_(squatted.email, squatted.other_origin, KNOWN_TO_ANOTHER) == "wrong"
    assert door.try_(squatted.email, somewhere(), OWN) == "in"


def test_where_the_other_signed_in_from_is_no_longer_familiar(squatted: Squatted) -> None:
    door = squatted.door
    door.sign_ins.follow_link(squatted.reset_token(), SignInOrigin(somewhere()), password=OWN)

    tries = [door.try_(squatted.email, somewhere(), "a wrong guess") for _ in range(OF_ACCOUNT)]

    assert tries == ["wrong"] * OF_ACCOUNT
    assert door.try_(squatted.email, squatted.other_origin, KNOWN_TO_ANOTHER) == "refused"


def test_a_password_that_is_too_short_uses_no_link_up(squatted: Squatted) -> None:
    door, token = squatted.door, squatted.reset_token()

    for password in ("", "short"):
        with pytest.raises(Invalid, match="password"):
            door.sign_ins.follow_link(token, SignInOrigin(somewhere()), password=password)

    assert door.sign_ins.viewer(squatted.other.token)
    assert door.sign_ins.follow_link(token, SignInOrigin(somewhere()), password=OWN)


def test_a_link_that_only_signs_in_keeps_the_password(squatted: Squatted) -> None:
    door = squatted.door
    door.sign_ins.follow_link(door.sign_ins.make_link(email=squatted.email), SignInOrigin(somewhere()), password=OWN)

    assert door.try_(squatted.email, somewhere(), KNOWN_TO_ANOTHER) == "in"
    with pytest.raises(Unauthorized):
        door.sign_ins.sign_in(email=squatted.email, password=OWN, origin=SignInOrigin(somewhere()))


def test_the_page_of_the_operators_link_asks_for_the_new_password(world: World, admin: Browser) -> None:
    link = world.container.services.accounts.sign_in_link(email=admin.email, resets=True)
    token = link.partition("token=")[2]
    browser = Browser(world, address=somewhere())
    browser.open(link)
    assert admin.email in browser.text
    assert "New password" in browser.text
    assert admin.open(link).status_code == 200, "also where the user is signed in"

    browser.open(link)
    refused = browser.send("/sign-in/link", token=token, password="short")
    assert (refused.status_code, "10 to 1000" in browser.text, "New password" in browser.text) == (400, True, True)
    assert browser.send("/sign-in/link", token=token, password=OWN).headers["location"] == "/"
    audited = world.container.services.audit.page(organization_id=world.organization_id, limit=1, cursor=None).entries
    assert [(entry.action, entry.subject) for entry in audited] == [("password.reset", admin.email)]

    stranger = Browser(world, address=somewhere())
    assert stranger.sign_in(admin.email, OWN).status_code == 303
    viewer = world.container.services.sign_ins.viewer
    assert viewer(admin.cookies["reprise_session"]) is None
    assert viewer(browser.cookies["reprise_session"])
