"""The benchmark of the dearest requests forgets no route."""

from __future__ import annotations

from app.container import Container
from app.process.application import build_app
from bench.worst.__main__ import cases
from tests.support.backends import EMBEDDED_CONTAINER


@EMBEDDED_CONTAINER
def test_every_route_has_a_dearest_request(container: Container) -> None:
    app = build_app(container)
    routes = {f"{method} {route.path}" for route in app.routes for method in route.responders}

    assert routes == {case.route for case in cases(app)}
