"""The operations page shows all organizations together, so another organization's admin must not see it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from falcon.testing import Result

from app.models import organizations
from app.models.organizations import Role
from tests.support.world import World, new_world


@pytest.fixture
def operators(world: World) -> World:
    """The instance's first organization: the world's, or one that an earlier test left."""
    with world.container.database.read() as connection:
        first = min(organizations.list_projects(connection), key=lambda project: project.organization_id)
    return replace(world, organization_id=first.organization_id, project_id=first.id)


@pytest.fixture
def others(operators: World) -> World:
    return new_world(operators.container)


def opened(world: World, role: Role, page: str, *, project_of: World | None = None) -> Result:
    path = f"/projects/{(project_of or world).project_id}/{page}"
    return world.client.simulate_get(path, cookies={"reprise_session": world.session_of(role)})


def test_another_organizations_admin_finds_no_operations_page(others: World) -> None:
    assert opened(others, Role.ADMIN, "operations").status_code == 404
    assert "/operations" not in opened(others, Role.ADMIN, "prompts").text


def test_another_organizations_admin_finds_none_in_the_operators_project(others: World, operators: World) -> None:
    assert opened(others, Role.ADMIN, "operations", project_of=operators).status_code == 404


def test_the_operators_admins_see_it_and_their_members_do_not(operators: World) -> None:
    page = opened(operators, Role.ADMIN, "operations")

    assert page.status_code == 200
    assert "Workers" in page.text
    assert "/operations" in opened(operators, Role.ADMIN, "prompts").text
    assert opened(operators, Role.MEMBER, "operations").status_code == 403
    assert "/operations" not in opened(operators, Role.MEMBER, "prompts").text
