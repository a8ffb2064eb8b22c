"""Access to pages: roles, projects, forms from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from app.http.access import ByRole, Public
from app.models.organizations import Role
from app.web.routes import ID, PROJECT, PROMPT, ROUTES, SESSION, SETTINGS
from tests.integration.web.conftest import Browser
from tests.support.backends import EACH_CONTAINER
from tests.support.exports import export
from tests.support.full_project import everything, organization
from tests.support.recorded import Turn, message
from tests.support.world import World, new_world

MemberOf = Callable[[Role], Browser]
_PARAMETER = re.compile(r"{(\w+)[^}]*}")

# Without the pages that are only for operators (tests/integration/security/test_operations_page.py).
IN_PROJECTS = [
    (path, page) for path, page in ROUTES if isinstance(page.access, ByRole) and not page.access.of_operators
]
# All other forms change something.
VIEWERS_SEND = {f"{PROMPT}/preview"}
MEMBERS_OPEN = {
    f"{PROJECT}/prompts/new",
    f"{PROMPT}/experiments/new",
    f"{PROMPT}/import",
    f"{PROMPT}/labels",
    f"{PROMPT}/test-cases/new",
    f"{SESSION}/test-case",
    f"{PROJECT}/online-checks/{ID % 'check_id'}",
    f"{PROJECT}/online-checks/{ID % 'check_id'}/remove",
    f"{PROJECT}/session-filters/{ID % 'filter_id'}/delete",
    f"{PROJECT}/schedules/{ID % 'schedule_id'}/delete",
    f"{PROJECT}/schedules/{ID % 'schedule_id'}/reference",
    f"{PROJECT}/suites/{ID % 'suite_id'}/delete",
}
ADMINS_SEND = {f"{PROJECT}/start"}


def least(path: str, method: str) -> Role:
    """Each page by role: viewers read, members edit and run, admins see settings."""
    if path.startswith(SETTINGS) or (method == "POST" and path in ADMINS_SEND):
        return Role.ADMIN
    if path in MEMBERS_OPEN or (method == "POST" and path not in VIEWERS_SEND):
        return Role.MEMBER
    return Role.VIEWER


def filled(path: str, project_id: int) -> str:
    """An address of the route: of the project, and of nothing that is in it."""
    return re.sub(r"\{(project_id\b)?[^}]*\}", lambda found: str(project_id) if found[1] else "999999", path)


@pytest.mark.parametrize("role", list(Role))
def test_every_page_accepts_the_role_that_it_should(member_of: MemberOf, role: Role) -> None:
    browser = member_of(role)
    browser.open("/account")
    csrf = browser.csrf

    for path, page in IN_PROJECTS:
        address = filled(path, browser.world.project_id)
        if hasattr(page, "on_get"):
            refused = browser.open(address).status_code == 403
            assert refused is not role.covers(least(path, "GET")), f"GET {path}"
        if hasattr(page, "on_post"):
            refused = browser.send(address, csrf=csrf).status_code == 403
            assert refused is not role.covers(least(path, "POST")), f"POST {path}"


@EACH_CONTAINER
def test_every_page_opens_over_what_it_shows(world: World, admin: Browser) -> None:
    """Of a project with one of everything: what pages ask of a database, each database answers."""
    world.put("/api/v1/credentials/ANTHROPIC", json={"apiKey": "sk-test"})
    owned = organization(world) | everything(world) | {"project_id": world.project_id}
    owned |= _session_with_an_image(world, owned["prompt_id"])
    for path, page in IN_PROJECTS:
        if hasattr(page, "on_get"):
            opened = admin.open(_PARAMETER.sub(lambda found: str(owned[found[1]]), path))
            assert opened.status_code in (200, 303), f"{path}: {admin.text}"


def _session_with_an_image(world: World, prompt_id: int) -> dict[str, str]:
    """Return the ids of a new session and of its span; its first question has an image."""
    image = {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "iVBORw0KGgo="}
    turn = Turn(prompt_id, conversation="image").chat(
        [message("user", "Look.", image)], [message("assistant", "Nice.")]
    )
    assert world.send(export(*turn.spans)).status_code == 200
    (session,) = world.get("/api/v1/sessions?conversationId=image").json["sessions"]
    return {"session_id": session["id"], "span_id": turn.spans[0]["spanId"]}


@pytest.mark.parametrize("role", [Role.VIEWER, Role.MEMBER])
def test_only_admins_change_settings(world: World, member_of: MemberOf, role: Role) -> None:
    browser = member_of(role)
    browser.open("/account")

    assert browser.send(f"{browser.base}/settings/keys", name="Sneaky").status_code == 403
    assert browser.send(f"{browser.base}/start").status_code == 403
    assert [key.name for key in world.container.services.keys.list(project_id=world.project_id)] == ["test"]


def test_a_viewer_makes_no_prompt(member_of: MemberOf, world: World) -> None:
    viewer = member_of(Role.VIEWER)
    viewer.open("/account")

    assert viewer.send(f"{viewer.base}/prompts/new", name="x", value="y").status_code == 403
    assert world.count("prompts") == 0


def test_a_project_of_others_is_not_there(world: World, admin: Browser) -> None:
    others = new_world(world.container)

    for path in ("", "/prompts", "/settings/keys", f"/prompts/{others.prompt()}/logs"):
        assert admin.open(f"/projects/{others.project_id}{path}").status_code == 404
    assert admin.open(f"{admin.base}/prompts/{others.prompt()}/logs").status_code == 404
    assert admin.open(f"/prompts/{others.prompt()}").status_code == 404


def test_a_prompts_public_address_leads_to_its_project(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()

    assert admin.open(f"/prompts/{prompt_id}").headers["location"] == f"{admin.base}/prompts/{prompt_id}"


@pytest.mark.parametrize("token", ["", "0" * 64, "ü"])
def test_a_form_from_elsewhere_changes_nothing(world: World, admin: Browser, token: str) -> None:
    answer = admin.send(f"{admin.base}/settings/keys", csrf=token, name="Forged")

    assert answer.status_code == 403
    assert "Go back, check it, and send it again" in admin.text
    assert len(world.container.services.keys.list(project_id=world.project_id)) == 1


def test_a_form_of_another_session_is_refused(world: World, admin: Browser, member_of: MemberOf) -> None:
    other = member_of(Role.ADMIN)
    other.open("/account")

    assert admin.send(f"{admin.base}/settings/keys", csrf=other.csrf, name="Forged").status_code == 403


def test_signing_in_needs_a_form_of_this_browser(world: World, admin: Browser) -> None:
    stranger, attacker = Browser(world), Browser(world)
    attacker.open("/sign-in")

    answer = stranger.send("/sign-in", csrf=attacker.csrf, email=admin.email, password="correct horse battery")

    assert answer.status_code == 403


def test_a_form_in_another_encoding_is_refused(world: World, admin: Browser) -> None:
    headers = {"Content-Type": "application/json"}
    answer = world.client.simulate_post(
        f"{admin.base}/settings/keys", headers=headers, body="{}", cookies=admin.cookies
    )

    assert answer.status_code == 415


@pytest.mark.parametrize("body", ["csrf=%ff", "csrf=a&name=%00", "a=1&" * 2000])
def test_a_malformed_form_is_refused_with_a_page(world: World, admin: Browser, body: str) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "text/html"}
    answer = world.client.simulate_post(
        f"{admin.base}/settings/keys", headers=headers, body=body, cookies=admin.cookies
    )

    assert answer.status_code == 400


def test_only_the_ways_in_and_out_are_public() -> None:
    public = {"/sign-in", "/sign-in/link", "/sign-in/openid", "/sign-in/openid/return", "/sign-out", "/join/{token}"}

    assert {path for path, page in ROUTES if isinstance(page.access, Public)} == public


def test_an_api_key_opens_no_page(world: World) -> None:
    assert world.get(f"/projects/{world.project_id}/prompts").status_code == 303
