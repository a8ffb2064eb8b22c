"""The rest of an organization over the API: projects and their first keys, members, invitations, the audit log."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import insert

from app.models.organizations import projects
from app.services.accounts.projects import PROJECTS_OF_ORGANIZATION
from app.services.accounts.service import NewUser
from app.services.accounts.sign_in_attempts import SignInOrigin
from app.timestamps import iso
from tests.support.world import World, new_world

PASSWORD = "correct horse battery"
ORIGIN = SignInOrigin("127.0.0.1")


def project(world: World, name: str = "Second") -> Any:
    answer = world.post("/api/v1/projects", json={"name": name})
    assert answer.status_code == 201, answer.text
    return answer.json


def invited(world: World, name: str = "grace", role: str = "member") -> Any:
    sent = {"email": f"{name}-{world.organization_id}@example.org", "role": role}
    answer = world.post("/api/v1/invitations", json=sent)
    assert answer.status_code == 201, answer.text
    return answer.json


def joined(world: World, name: str = "grace", role: str = "member") -> int:
    """The id of a member who followed an invitation."""
    token = invited(world, name, role)["path"].removeprefix("/join/")
    return world.container.services.accounts.accept(token, NewUser(name.capitalize(), PASSWORD), ORIGIN).user_id


def roles(world: World) -> dict[str, str]:
    return {member["name"]: member["role"] for member in world.get("/api/v1/members").json["members"]}


def actions(world: World) -> list[str]:
    entries = world.get("/api/v1/audit-log").json["entries"]
    return [entry["action"] for entry in reversed(entries) if entry["actor"]["name"] == "test"]


def test_a_project_is_made_renamed_and_given_its_first_key(world: World) -> None:
    made = project(world)
    path = f"/api/v1/projects/{made['id']}"
    assert world.patch(path, json={"name": "Shop"}).json == made | {"name": "Shop"}
    assert [listed["name"] for listed in world.get("/api/v1/projects").json["projects"]] == ["P", "Shop"]

    key = world.post(f"{path}/api-keys", json={"name": "First"})

    assert (key.status_code, key.json["scopes"]) == (201, ["ingest", "read", "run", "write"])
    shop = replace(world, key=key.json["key"], project_id=made["id"])
    assert shop.post("/api/v1/prompts", json={"name": "S", "value": "x"}).status_code == 201
    assert world.get("/api/v1/prompts").json["prompts"] == []
    assert shop.get(key.headers["Location"]).json["name"] == "First"
    assert actions(world) == ["project.created", "project.renamed", "api_key.created"]


def test_a_projects_first_key_may_do_no_more_and_no_longer_than_the_key_that_makes_it(world: World) -> None:
    path, now = f"/api/v1/projects/{project(world)['id']}/api-keys", world.container.now()
    soon, later = iso(now + timedelta(hours=1)), iso(now + timedelta(days=1))
    body = {"name": "Narrow", "scopes": ["admin"], "expiresAt": soon}
    narrow = replace(world, key=world.post("/api/v1/api-keys", json=body).json["key"])

    assert narrow.post(path, json={"name": "More", "scopes": ["read"]}).status_code == 403
    assert narrow.post(path, json={"name": "Longer", "scopes": ["admin"], "expiresAt": later}).status_code == 403
    assert narrow.post(path, json={"name": "Nothing"}).status_code == 400
    assert narrow.post(path, json={"name": "As long", "scopes": ["admin"]}).json["expiresAt"] == soon


@pytest.mark.parametrize("body", [{}, {"name": " "}, {"name": "x" * 129}, {"name": 7}, {"name": "x", "id": 1}])
def test_a_project_without_a_fit_name_is_refused(world: World, body: dict[str, Any]) -> None:
    path = f"/api/v1/projects/{world.project_id}"
    assert world.post("/api/v1/projects", json=body).status_code == 400
    assert world.patch(path, json=body).status_code == 400
    assert len(world.get("/api/v1/projects").json["projects"]) == 1


def test_one_project_beyond_the_limit_is_refused(world: World) -> None:
    now = world.container.now()
    with world.container.database.write() as connection:
        values = {"organization_id": world.organization_id, "name": "P", "created_at": now}
        connection.execute(insert(projects), [values] * (PROJECTS_OF_ORGANIZATION - 2))
    project(world, "The last one")
    refused = world.post("/api/v1/projects", json={"name": "Too many"})
    assert refused.status_code == 400
    assert f"name: An organization has at most {PROJECTS_OF_ORGANIZATION} projects." in refused.text


def test_projects_beyond_the_limit_stay_readable(world: World) -> None:
    with world.container.database.write() as connection:
        values = {"organization_id": world.organization_id, "name": "P", "created_at": world.container.now()}
        connection.execute(insert(projects), [values] * PROJECTS_OF_ORGANIZATION)
    listed = world.get("/api/v1/projects").json["projects"]
    assert len(listed) == PROJECTS_OF_ORGANIZATION + 1
    assert world.patch(f"/api/v1/projects/{listed[-1]['id']}", json={"name": "Renamed"}).status_code == 200


def test_an_invitation_is_shown_once_followed_and_gone(world: World) -> None:
    made = invited(world)
    shown = {name: value for name, value in made.items() if name != "path"}
    assert world.get("/api/v1/invitations").json["invitations"] == [shown]
    assert world.get(f"/api/v1/invitations/{made['id']}").json == shown

    token = made["path"].removeprefix("/join/")
    world.container.services.accounts.accept(token, NewUser("Grace", PASSWORD), ORIGIN)

    assert world.get("/api/v1/invitations").json["invitations"] == []
    assert roles(world) == {"Grace": "member"}
    assert token not in world.get("/api/v1/audit-log").text


def test_a_withdrawn_invitation_leads_nowhere(world: World) -> None:
    made = invited(world)
    path = f"/api/v1/invitations/{made['id']}"
    assert world.delete(path).status_code == 204
    assert world.delete(path).status_code == world.get(path).status_code == 404
    assert world.client.simulate_get(made["path"], headers={"Accept": "text/html"}).status_code == 404
    assert actions(world) == ["invitation.created", "invitation.withdrawn"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"email": "nobody", "role": "member"}, "email"),
        ({"email": "a@b.example", "role": "owner"}, "role"),
        ({"email": "a@b.example"}, "role"),
        ({"role": "member"}, "email"),
    ],
)
def test_a_bad_invitation_is_refused_by_its_field(world: World, body: dict[str, str], field: str) -> None:
    answer = world.post("/api/v1/invitations", json=body)
    assert answer.status_code == 400
    assert answer.json["error"].startswith(f"{field}: ")


def test_a_member_is_not_invited_again(world: World) -> None:
    joined(world)
    email = f"grace-{world.organization_id}@example.org"
    assert world.post("/api/v1/invitations", json={"email": email, "role": "admin"}).status_code == 400


def test_a_members_role_is_changed_and_the_member_removed(world: World) -> None:
    joined(world, "ada", "admin")
    path = f"/api/v1/members/{joined(world)}"

    assert world.patch(path, json={"role": "viewer"}).json["role"] == "viewer"
    assert world.get(path).json["role"] == "viewer"
    assert world.patch(path, json={"role": "owner"}).status_code == 400
    assert world.delete(path).status_code == 204

    assert world.get(path).status_code == world.delete(path).status_code == 404
    assert roles(world) == {"Ada": "admin"}
    assert actions(world)[-2:] == ["member.role_changed", "member.removed"]


def test_the_last_admin_stays(world: World) -> None:
    path = f"/api/v1/members/{joined(world, 'ada', 'admin')}"
    assert world.patch(path, json={"role": "member"}).status_code == 409
    assert world.delete(path).status_code == 409
    assert roles(world) == {"Ada": "admin"}


def test_the_audit_log_is_read_page_by_page(world: World) -> None:
    for name in ("A", "B", "C"):
        project(world, name)
    first = world.get("/api/v1/audit-log?limit=2").json
    second = world.get(f"/api/v1/audit-log?limit=2&cursor={first['nextCursor']}").json
    assert [entry["subject"] for entry in first["entries"] + second["entries"]][:3] == ["C", "B", "A"]
    assert world.get("/api/v1/audit-log?cursor=nonsense").status_code == 400


def test_one_project_of_an_organization_has_no_more_of_it_than_another(world: World) -> None:
    """An admin key is the organization's, whichever of its projects it is of; a stranger's is not."""
    made, stranger = project(world), new_world(world.container)
    path = f"/api/v1/projects/{made['id']}"
    assert stranger.post(f"{path}/api-keys", json={"name": "Mine"}).status_code == 404
    assert stranger.patch(path, json={"name": "Mine"}).status_code == 404
    assert made["name"] not in stranger.get("/api/v1/projects").text + stranger.get("/api/v1/audit-log").text
