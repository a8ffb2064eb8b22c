"""Every route, in every spelling of its path, answers only those whom it declares; in this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from app.http.access import Access, ByRole
from app.models.organizations import Role
from app.services.accounts.keys import SCOPES
from tests.support.access_walk import Caller, in_process, strangers, walk
from tests.support.api_routes import NOTHING, accesses, filled
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.full_project import adopted
from tests.support.path_spellings import alike, unlike
from tests.support.world import World, new_world

# A path is read before anybody looks at the method.
FEW_METHODS = ("GET", "POST", "PATCH")


@pytest.fixture
def routes(world: World) -> Mapping[str, Access]:
    """A path of each route with its access: in the world's project, and of nothing that is in it."""
    # An agent that is not there is made, which needs another scope, too.
    values = NOTHING | {"project_id": world.project_id, "agent": adopted(world)}
    found: dict[str, Access] = {filled(path, values): access for path, access in accesses(world.client.app).items()}
    assert len(found) > 100
    return found


def key_of(world: World, scope: str) -> Caller:
    made = world.container.services.keys.create(project_id=world.project_id, name=scope, scopes=frozenset({scope}))
    return Caller(f"a key with {scope}", {"Authorization": f"Bearer {made.secret}"}, scope=scope)


def member_of(world: World, role: Role, *, here: bool = True) -> Caller:
    """A signed-in user; `here` is True if the project that is walked is the world's."""
    cookie = f"reprise_session={world.session_of(role)}"
    operator = world.container.services.projects.operators() == world.organization_id
    return Caller(f"a {role}", {"Cookie": cookie}, signed_in=True, role=role if here else None, operator=operator)


@pytest.fixture
def callers(world: World) -> list[Caller]:
    """One of each kind, of this project and of another."""
    other = new_world(world.container)
    return [
        *(key_of(world, scope) for scope in sorted(SCOPES)),
        *(member_of(world, role) for role in Role),
        member_of(other, Role.ADMIN, here=False),
    ]


@EMBEDDED_CONTAINER
def test_no_spelling_of_a_path_opens_it_to_strangers(world: World, routes: Mapping[str, Access]) -> None:
    ask = in_process(world.client.app)

    assert walk(ask, routes, strangers(), targets=alike) == []
    assert walk(ask, routes, strangers(), targets=unlike, other=frozenset({404}), methods=FEW_METHODS) == []


@EMBEDDED_CONTAINER
@pytest.mark.parametrize("script_name", ["/", "//", "/api", "/api/v1", "/x"])
def test_a_script_name_of_the_environment_opens_nothing(
    world: World, routes: Mapping[str, Access], script_name: str
) -> None:
    ask, targets = in_process(world.client.app, script_name=script_name), lambda path: {"": path, "-": f"/{path}"}

    assert walk(ask, routes, strangers(), targets=targets, other=frozenset({404}), methods=FEW_METHODS) == []


@EMBEDDED_CONTAINER
def test_a_path_that_lost_its_slash_to_a_script_name_is_no_path(world: World, routes: Mapping[str, Access]) -> None:
    ask = in_process(world.client.app, script_name="/")

    for path in routes:
        if path != "/":
            assert ask("GET", path[1:], world.headers)[0] == 404, path


@EMBEDDED_CONTAINER
def test_every_caller_gets_what_each_route_declares(
    world: World, routes: Mapping[str, Access], callers: list[Caller]
) -> None:
    assert walk(in_process(world.client.app), routes, callers, targets=lambda path: {"": path}) == []


@EMBEDDED_CONTAINER
def test_no_spelling_gives_anybody_more_than_they_have(
    world: World, routes: Mapping[str, Access], callers: list[Caller]
) -> None:
    ask = in_process(world.client.app)

    assert walk(ask, routes, callers, targets=_few(alike), methods=FEW_METHODS) == []
    assert walk(ask, routes, callers, targets=_few(unlike), other=frozenset({404}), methods=FEW_METHODS) == []


@EMBEDDED_CONTAINER
def test_two_slashes_in_front_are_an_unknown_path_for_all(
    world: World, routes: Mapping[str, Access], callers: list[Caller]
) -> None:
    ask = in_process(world.client.app)

    for path in routes:
        for caller in (*strangers(), *callers):
            assert ask("GET", f"/{path}", caller.headers)[0] == 404, (path, caller.name)


@EMBEDDED_CONTAINER
def test_the_walk_sees_a_route_that_is_open(world: World, routes: Mapping[str, Access]) -> None:
    """Held to a declaration that it does not have, a public page is found."""
    page = {"/sign-in": ByRole({"GET": Role.VIEWER, "POST": Role.MEMBER})}

    assert len(walk(in_process(world.client.app), page, strangers()[:1], targets=alike)) > len(alike("/sign-in"))


def _few(spellings: Any) -> Any:
    """The spellings that another layer is the likeliest to read in another way."""
    names = {
        "with a slash at its end",
        "with percent-encoded inner slashes",
        "with an encoded slash in front",
        "with a parent",
        "with a parameter",
    }
    return lambda path: {name: target for name, target in spellings(path).items() if name in names}
