"""A route that does not declare who may call it does not start."""

from __future__ import annotations

from typing import Any

import falcon
import pytest
from falcon.testing import TestClient

from app.http.access import Access, ByKey, ByRole, BySession, Public, UndeclaredAccess
from app.http.route_table import RoutedApp
from app.models.organizations import Role

PROJECT = "/projects/{project_id:int}"


class Reading:
    def on_get(self, req: falcon.Request, resp: falcon.Response, **_params: Any) -> None:
        resp.media = {"read": True}


class Writing(Reading):
    def on_post(self, req: falcon.Request, resp: falcon.Response, **_params: Any) -> None: ...


def declaring(access: object, resource: type[Reading] = Reading) -> Reading:
    found: Reading = type("Declaring", (resource,), {"access": access})()
    return found


def test_a_route_that_declares_nothing_does_not_start() -> None:
    with pytest.raises(UndeclaredAccess, match="Reading does not declare its access"):
        RoutedApp().add_route("/things", Reading())


@pytest.mark.parametrize("access", [True, "public", {"GET": "read"}, None])
def test_a_declaration_of_another_kind_does_not_start(access: object) -> None:
    with pytest.raises(UndeclaredAccess):
        RoutedApp().add_route("/things", declaring(access))


def test_a_method_that_declares_nothing_does_not_start() -> None:
    with pytest.raises(UndeclaredAccess, match=r"answers \['GET', 'POST'\] and declares \['GET'\]"):
        RoutedApp().add_route("/things", declaring(ByKey({"GET": "read"}), Writing))


def test_a_declaration_of_a_method_that_is_not_answered_does_not_start() -> None:
    with pytest.raises(UndeclaredAccess):
        RoutedApp().add_route("/things", declaring(Public({"GET", "POST"})))


@pytest.mark.parametrize(("path", "access"), [("/things", ByRole({"GET": Role.VIEWER})), (PROJECT, BySession({"GET"}))])
def test_a_role_without_a_project_and_a_project_without_a_role_do_not_start(path: str, access: Access) -> None:
    with pytest.raises(UndeclaredAccess):
        RoutedApp().add_route(path, declaring(access))


def test_head_is_answered_where_get_is_with_the_same_access_and_no_body() -> None:
    app = RoutedApp()
    app.add_route("/things", declaring(ByKey({"GET": "read"})))

    got, head = (TestClient(app).simulate_request(method, "/things") for method in ("GET", "HEAD"))

    assert (head.status_code, head.content) == (200, b"")
    assert head.headers == got.headers
    assert app.routes[0].access == ByKey({"GET": "read"})
    assert ByKey({"GET": "read"}).needed("HEAD") == "read"
    assert ByRole({"GET": Role.ADMIN}).needed("HEAD") is Role.ADMIN
