"""Members and invitations."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

from falcon.testing import TestClient

from app.models.organizations import Role
from app.process.application import build_app
from app.services.accounts.service import INVITATION
from tests.integration.web.conftest import HTML, PASSWORD, Browser, address
from tests.support.world import World, beside


def invite(admin: Browser, email: str, role: str = "member") -> str:
    """The path of the link that the page shows."""
    admin.open(f"{admin.base}/settings/members")
    admin.open(admin.send(f"{admin.base}/settings/members", email=email, role=role).headers["location"])
    return re.search(r"/join/[\w-]{43}", admin.page)[0]  # type: ignore[index]


def test_an_invited_person_becomes_a_member_with_the_role(world: World, admin: Browser) -> None:
    email = address()
    link = invite(admin, email, "viewer")
    guest = Browser(world)
    guest.open(link)
    assert email in guest.text

    joined = guest.send(link, name="Grace", password=PASSWORD)

    assert joined.status_code == 303
    guest.open(f"{admin.base}/prompts")
    assert "Your role is viewer." in guest.text
    assert guest.open(f"{admin.base}/prompts").status_code == 200
    assert guest.open(f"{admin.base}/settings/keys").status_code == 403


def test_a_link_works_once_and_is_not_shown_again(world: World, admin: Browser) -> None:
    link = invite(admin, address())
    guest = Browser(world)
    guest.open(link)
    guest.send(link, name="Grace", password=PASSWORD)

    assert Browser(world).open(link).status_code == 404
    admin.open(f"{admin.base}/settings/members")
    assert link not in admin.page


def test_a_withdrawn_or_expired_link_is_gone(world: World, admin: Browser) -> None:
    withdrawn, expired = invite(admin, address()), invite(admin, address())
    ids = re.findall(r"/settings/invitations/(\d+)/withdraw", admin.page)
    admin.open(f"{admin.base}/settings/invitations/{ids[-1]}/withdraw")
    assert "Its link stops working." in admin.text
    admin.send(f"{admin.base}/settings/invitations/{ids[-1]}/withdraw")
    container = world.container
    late = container.now() + INVITATION + timedelta(seconds=1)
    later = beside(container, now=lambda: late)

    assert Browser(world).open(withdrawn).status_code == 404
    assert Browser(world).open(expired).status_code == 200
    assert TestClient(build_app(later)).simulate_get(expired, headers=HTML).status_code == 404


def test_a_short_password_is_refused_and_the_link_stays(world: World, admin: Browser) -> None:
    link = invite(admin, address())
    guest = Browser(world)
    guest.open(link)

    assert guest.send(link, name="Grace", password="short").status_code == 400
    assert "10 to 1000 characters" in guest.text
    assert guest.send(link, name="Grace", password=PASSWORD).status_code == 303


def test_an_email_with_an_account_joins_with_only_its_password(world: World, admin: Browser) -> None:
    email = address()
    first = invite(admin, email)
    guest = Browser(world)
    guest.open(first)
    guest.send(first, name="Grace", password=PASSWORD)
    user_id = next(
        one.user_id
        for one in world.container.services.accounts.members(organization_id=world.organization_id)
        if one.email == email
    )
    admin.open(f"{admin.base}/settings/members")
    admin.send(f"{admin.base}/settings/members/{user_id}/remove")
    again = invite(admin, email)
    thief = Browser(world)
    thief.open(again)

    assert thief.send(again, name="Thief", password="another password").status_code == 400
    assert thief.send(again, name="", password=PASSWORD).status_code == 303


def test_the_last_admin_stays_one(world: World, admin: Browser) -> None:
    me = world.container.services.accounts.members(organization_id=world.organization_id)[0].user_id
    admin.open(f"{admin.base}/settings/members")

    assert admin.send(f"{admin.base}/settings/members/{me}", role="viewer").status_code == 409
    assert admin.send(f"{admin.base}/settings/members/{me}/remove").status_code == 409
    assert admin.open(f"{admin.base}/settings/members").status_code == 200


def test_a_removed_member_is_out_at_once(world: World, admin: Browser, member_of: Callable[[Role], Browser]) -> None:
    member = member_of(Role.MEMBER)
    members = world.container.services.accounts.members(organization_id=world.organization_id)
    user_id = next(one.user_id for one in members if one.email == member.email)
    admin.open(f"{admin.base}/settings/members/{user_id}/remove")
    assert "loses access at once" in admin.text

    admin.send(f"{admin.base}/settings/members/{user_id}/remove")

    assert member.open(f"{member.base}/prompts").status_code == 303
    member.sign_in(member.email)
    assert member.open(f"{member.base}/prompts").status_code == 404


def test_a_changed_role_holds_at_once(world: World, admin: Browser, member_of: Callable[[Role], Browser]) -> None:
    member = member_of(Role.VIEWER)
    members = world.container.services.accounts.members(organization_id=world.organization_id)
    user_id = next(one.user_id for one in members if one.email == member.email)
    admin.open(f"{admin.base}/settings/members")

    admin.send(f"{admin.base}/settings/members/{user_id}", role="admin")

    assert member.open(f"{member.base}/settings/keys").status_code == 200


def test_the_audit_log_shows_who_changed_what(world: World, admin: Browser) -> None:
    email = address()
    invite(admin, email)
    admin.open(admin.send(f"{admin.base}/settings/keys", name="Checkout").headers["location"])
    key_id = re.findall(r"/settings/keys/(\d+)/revoke", admin.page)[0]
    admin.send(f"{admin.base}/settings/keys/{key_id}/revoke")
    admin.send(f"{admin.base}/settings/project", do="rename", name="Shop")

    admin.open(f"{admin.base}/settings/audit")

    for words in ("Invited " + email, "Created the API key Checkout", "Revoked the API key Checkout", "Shop", "Ada"):
        assert words in admin.text


def test_the_audit_log_shows_who_changed_a_prompt(world: World, member_of: Callable[[Role], Browser]) -> None:
    member = member_of(Role.MEMBER)
    member.open(f"{member.base}/prompts/new")
    member.send(f"{member.base}/prompts/new", name="Concierge", value="Be kind.")

    page = world.container.services.audit.page(organization_id=world.organization_id, limit=1, cursor=None)

    found = [(entry.action, entry.subject, entry.actor_kind, entry.actor_name) for entry in page.entries]
    assert found == [("prompt.created", "Concierge", "user", "Grace")]
