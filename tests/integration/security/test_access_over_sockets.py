"""Routes of each shape, in every spelling of a path, as gunicorn hears them, and as Caddy in front passes them on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

import pytest

from app.http.access import Access
from app.models.organizations import Role
from app.process.application import build_app
from app.process.bootstrap import bootstrap
from app.services.accounts.keys import DEFAULT_SCOPES
from tests.support import caddy
from tests.support.access_walk import Caller, OverSockets, Statuses, strangers, walk
from tests.support.api_routes import NOTHING, accesses, filled
from tests.support.deployment import EmbeddedServer, read_assignments
from tests.support.http_client import Client
from tests.support.path_spellings import alike, unlike
from tests.support.world import settings_for

METHODS = ("GET", "HEAD", "POST", "PATCH", "DELETE")
# gunicorn and Caddy read a path before they look at the method; with and without a body is enough for each spelling.
WITHOUT_AND_WITH_A_BODY = ("GET", "POST")
NOT_FOUND: Statuses = frozenset({404})
# Caddy's own answer to what it can not parse as a request.
NOT_FORWARDED: Statuses = frozenset({400, 404})
WRITTEN_BY_CALLERS = [("SCRIPT_NAME", "/"), ("SCRIPT_NAME", "/api"), ("PATH_INFO", "/health/live")]


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Access]:
    """A path of each shape of routes with its access: in the first project, and of nothing that is in it.

    gunicorn and Caddy know no routes; `test_access_walk.py` walks them all.
    """
    app, shapes = build_app(bootstrap(settings_for(tmp_path_factory.mktemp("routes")))), {}
    for path, access in accesses(app).items():
        shapes.setdefault((type(access), path.count("/"), path.endswith("}"), path.startswith("/api/")), (path, access))
    assert len(shapes) > 20
    return {filled(path, NOTHING | {"project_id": 1}): access for path, access in shapes.values()}


@pytest.fixture
def asked(backend: EmbeddedServer) -> Iterator[OverSockets]:
    caller = OverSockets(backend.url)
    yield caller
    caller.close()


@pytest.fixture
def proxied(backend: EmbeddedServer, tmp_path: Path) -> Iterator[OverSockets]:
    with caddy.proxied(tmp_path, backend.url) as url:
        caller = OverSockets(url)
        yield caller
        caller.close()


def members(backend: EmbeddedServer) -> list[Caller]:
    """A key for each scope that the first key can give, and the admin of the first organization."""
    client = backend.client()
    made = {scope: client.post("/api/v1/api-keys", {"name": scope, "scopes": [scope]}) for scope in DEFAULT_SCOPES}
    keys = [
        Caller(f"a key with {scope}", {"Authorization": f"Bearer {answer.json()['key']}"}, scope=scope)
        for scope, answer in made.items()
    ]
    cookie = f"reprise_session={signed_in(backend)}"
    return [*keys, Caller("an admin", {"Cookie": cookie}, signed_in=True, role=Role.ADMIN, operator=True)]


def signed_in(backend: EmbeddedServer) -> str:
    """The token of a session of the first admin."""
    known, client = read_assignments(backend.home / "dev.env"), Client(backend.url)
    page = client.get("/sign-in", headers={"Accept": "text/html"})
    csrf = re.search(r'name="csrf" value="(\w+)"', page.body.decode())
    assert csrf
    form = {"csrf": csrf[1], "email": known["ADMIN_EMAIL"], "password": known["ADMIN_PASSWORD"]}
    headers = {
        "Content-Type": "application/x-www-form-urlencoded",
        "Cookie": str(page.headers["Set-Cookie"]).partition(";")[0],
    }
    answer = client.post("/sign-in", body=urlencode(form).encode(), headers=headers)
    cookies = " ".join(answer.headers.get_all("Set-Cookie") or [])
    found = re.search(r"reprise_session=([^;]+)", cookies)
    assert found, answer.body
    return found[1]


def _as_it_is(path: str) -> dict[str, str]:
    return {"": path}


def test_no_spelling_opens_a_path_to_strangers(asked: OverSockets, routes: Mapping[str, Access]) -> None:
    for spelt in (alike, unlike):
        other = NOT_FOUND if spelt is unlike else frozenset()
        assert walk(asked, routes, strangers()[:1], targets=spelt, methods=WITHOUT_AND_WITH_A_BODY, other=other) == []


@pytest.mark.parametrize("header", WRITTEN_BY_CALLERS, ids=str)
def test_no_header_rewrites_the_path(
    backend: EmbeddedServer, routes: Mapping[str, Access], header: tuple[str, str]
) -> None:
    asked = OverSockets(backend.url, header)

    assert walk(asked, routes, strangers()[:1], targets=_as_it_is, methods=WITHOUT_AND_WITH_A_BODY) == []
    asked.close()


def test_every_caller_gets_what_each_route_declares(
    backend: EmbeddedServer, asked: OverSockets, routes: Mapping[str, Access]
) -> None:
    assert walk(asked, routes, members(backend), targets=_as_it_is, methods=METHODS) == []


@pytest.mark.program("caddy")
def test_no_spelling_opens_a_path_through_the_proxy(proxied: OverSockets, routes: Mapping[str, Access]) -> None:
    inside = {path: access for path, access in routes.items() if path != "/metrics"}

    for spelt in (alike, unlike):
        targets = partial(spelt, url=proxied.url)
        methods = WITHOUT_AND_WITH_A_BODY
        assert walk(proxied, inside, strangers()[:1], targets=targets, methods=methods, other=NOT_FORWARDED) == []


@pytest.mark.program("caddy")
def test_no_spelling_reaches_the_metrics_through_the_proxy(tmp_path: Path) -> None:
    token = {"Authorization": "Bearer watcher"}
    with EmbeddedServer(tmp_path, {"REPRISE_METRICS_TOKEN": "watcher"}) as server:
        with caddy.proxied(tmp_path, server.url) as url:
            caller = OverSockets(url)
            for target in (alike("/metrics", url) | unlike("/metrics", url)).values():
                assert caller("GET", target, token)[0] in NOT_FORWARDED, target
            caller.close()
        assert Client(server.url).get("/metrics/", headers=token).status == 200


@pytest.mark.program("caddy")
def test_every_caller_gets_through_the_proxy_what_each_route_declares(
    backend: EmbeddedServer, proxied: OverSockets, routes: Mapping[str, Access]
) -> None:
    inside = {path: access for path, access in routes.items() if path != "/metrics"}

    assert walk(proxied, inside, members(backend), targets=_as_it_is, methods=WITHOUT_AND_WITH_A_BODY) == []
