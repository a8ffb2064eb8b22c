"""Few large requests of an organization are in work in a process at once; others are answered meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import falcon
import pytest
from falcon.testing import TestClient

from app.concurrency import computing
from app.concurrency.computing import LARGE_TEXT
from app.http import errors, large_requests
from app.http.answers import AnswersAtOnce
from app.http.large_requests import LARGE_REQUESTS, LargeRequests

LONG_S = 30


class Owned:
    """The header `Organization` names the organization of a request; without it the caller is a stranger."""

    def process_resource(self, req: falcon.Request, _resp: object, _resource: object, _params: object) -> None:
        if owner := req.get_header("Organization"):
            req.context.key = SimpleNamespace(organization_id=int(owner))


class Computing:
    """GET computes with a text of `size` until `release`; each that has begun adds to `begun`. PUT fails after it."""

    def __init__(self) -> None:
        self.begun, self.release = threading.Semaphore(0), threading.Event()

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        computing.await_place(req.get_param_as_int("size", required=True))
        self.begun.release()
        assert self.release.wait(LONG_S)
        resp.media = {}

    def on_put(self, req: falcon.Request, resp: falcon.Response) -> None:
        self.on_get(req, resp)
        raise falcon.HTTPBadGateway


class Waiting(Computing):
    waits = frozenset({"GET"})


@pytest.fixture
def refused() -> list[int]:
    return []


class Callers:
    """Callers of the app, each in a thread."""

    def __init__(self, client: TestClient, pool: ThreadPoolExecutor) -> None:
        self._client, self._pool = client, pool

    def status(self, *, size: int = LARGE_TEXT + 1, organization: int | None = 1, **options: Any) -> int:
        headers = {"Organization": str(organization)} if organization else {}
        options = {"method": "GET", "path": "/compute"} | options
        return int(self._client.simulate_request(params={"size": size}, headers=headers, **options).status_code)

    def begin(self, **options: Any) -> Future[int]:
        return self._pool.submit(self.status, **options)


@pytest.fixture
def work() -> Computing:
    return Computing()


@pytest.fixture
def waiting() -> Computing:
    return Waiting()


@pytest.fixture
def callers(
    work: Computing, waiting: Computing, refused: list[int], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callers]:
    monkeypatch.setattr(large_requests, "LARGE_REQUEST_WAIT_S", 0.05)
    limited = LargeRequests(on_refused=lambda: refused.append(1))
    app = falcon.App(middleware=[AnswersAtOnce(), Owned(), limited])
    errors.install(app)
    app.add_route("/compute", work)
    app.add_route("/wait", waiting)
    with ThreadPoolExecutor(20) as pool:
        yield Callers(TestClient(app), pool)
        work.release.set()
        waiting.release.set()


def fill(callers: Callers, work: Computing) -> list[Future[int]]:
    held = [callers.begin() for _ in range(LARGE_REQUESTS)]
    for _ in held:
        assert work.begun.acquire(timeout=LONG_S)
    return held


def test_one_large_request_too_many_is_refused_and_small_ones_are_answered(
    callers: Callers, work: Computing, refused: list[int]
) -> None:
    held = fill(callers, work)
    small = callers.begin(size=LARGE_TEXT)
    assert work.begun.acquire(timeout=LONG_S)
    assert callers.status() == 503
    assert refused == [1]

    work.release.set()
    assert [answer.result(LONG_S) for answer in (*held, small)] == [200] * 3
    assert callers.status() == 200


def test_another_organization_has_a_place_while_one_has_used_all(callers: Callers, work: Computing) -> None:
    held = [*fill(callers, work), callers.begin(organization=2)]
    assert work.begun.acquire(timeout=LONG_S)
    assert callers.status(organization=3) == 503
    work.release.set()
    assert [answer.result(LONG_S) for answer in held] == [200] * 3


def test_a_large_request_waits_for_its_place(
    callers: Callers, work: Computing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_requests, "LARGE_REQUEST_WAIT_S", LONG_S)
    held = fill(callers, work)
    late = callers.begin()
    assert not work.begun.acquire(timeout=0.05)
    work.release.set()
    assert [answer.result(LONG_S) for answer in (*held, late)] == [200] * 3


def test_a_failed_request_gives_its_place_back(callers: Callers, work: Computing) -> None:
    work.release.set()
    assert [callers.status(method="PUT") for _ in range(5)] == [502] * 5


def test_strangers_and_requests_that_wait_need_no_place(callers: Callers, work: Computing, waiting: Computing) -> None:
    held = fill(callers, work)
    others = [callers.begin(organization=None), callers.begin(path="/wait")]
    assert work.begun.acquire(timeout=LONG_S)
    assert waiting.begun.acquire(timeout=LONG_S)
    work.release.set()
    waiting.release.set()
    assert [answer.result(LONG_S) for answer in (*held, *others)] == [200] * 4
