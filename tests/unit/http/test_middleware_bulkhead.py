"""Waiting requests have their places, each organization its share of them; the others are never without one."""

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import falcon
import pytest
from falcon.testing import TestClient

from app.api.runs import RunEventsResource, RunPrompt
from app.api.traces import Exports, Traces
from app.concurrency.quotas import Quota
from app.http import errors, middleware
from app.http.bodies import LARGE_BODY, read_capped
from app.http.middleware import BodiesAtOnce, Bulkhead
from app.web.views.logs import ExportPage

LONG_S = 30


class Waiting:
    """POST waits until `release`; each that has begun adds to `begun`."""

    waits = frozenset({"POST"})

    def __init__(self):
        self.begun, self.release = threading.Semaphore(0), threading.Event()

    def on_post(self, _req, resp):
        self.begun.release()
        assert self.release.wait(LONG_S)
        resp.media = {}

    def on_get(self, _req, resp):
        resp.media = {}


class Failing:
    waits = frozenset({"POST"})

    def on_post(self, _req, _resp):
        raise falcon.HTTPBadGateway


class Streaming:
    waits = frozenset({"GET"})

    def on_get(self, _req, resp):
        resp.stream = iter([b"one", b"two"])


class Owned:
    """The header `Organization` names the organization of a request."""

    def process_resource(self, req, _resp, _resource, _params):
        req.context.key = SimpleNamespace(organization_id=int(req.get_header("Organization") or 1))


class Reading:
    """POST reads the body, and then waits until `release`; each that has read adds to `read`."""

    def __init__(self):
        self.read, self.release = threading.Semaphore(0), threading.Event()

    def on_post(self, req, resp):
        resp.media = {"size": len(read_capped(req, 2 * middleware.BODIES_BYTES))}
        self.read.release()
        assert self.release.wait(LONG_S)


@pytest.fixture
def waiting():
    return Waiting()


@pytest.fixture
def refused():
    return []


@pytest.fixture
def app(waiting, refused):
    """Two places for a single organization, and one more for another."""
    app = falcon.App(middleware=[Owned(), Bulkhead(Quota.of(2, 25), on_refused=lambda: refused.append(1))])
    errors.install(app)
    app.add_route("/wait", waiting)
    app.add_route("/fail", Failing())
    app.add_route("/stream", Streaming())
    return app


@pytest.fixture
def client(app):
    return TestClient(app)


def test_one_too_many_is_asked_to_come_back_while_short_requests_are_answered(client, waiting):
    with ThreadPoolExecutor(2) as pool:
        held = [pool.submit(client.simulate_post, "/wait") for _ in range(2)]
        for _ in held:
            assert waiting.begun.acquire(timeout=LONG_S)
        refused, short = client.simulate_post("/wait"), client.simulate_get("/wait")
        waiting.release.set()

        assert [answer.result(LONG_S).status_code for answer in held] == [200, 200]
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert short.status_code == 200


def test_an_organization_finds_a_place_while_another_one_has_taken_all(app, client, refused):
    def begin(organization_id):
        environ = falcon.testing.create_environ("/stream", headers={"Organization": str(organization_id)})
        status = []
        return app(environ, lambda line, *_args: status.append(line)), status

    streams = [begin(1) for _ in range(5)]
    assert [status[0][:3] for _, status in streams] == ["200", "200", "503", "503", "503"]
    assert len(refused) == 3

    other, status = begin(2)
    assert status[0][:3] == "200"
    other.close()
    streams[0][0].close()
    streams[1][0].close()
    assert client.simulate_get("/stream", headers={"Organization": "1"}).text == "onetwo"


def test_an_answered_request_leaves_its_place(client, waiting):
    waiting.release.set()

    assert [client.simulate_post("/wait").status_code for _ in range(5)] == [200] * 5


def test_a_failed_request_leaves_its_place(client, waiting):
    assert [client.simulate_post("/fail").status_code for _ in range(5)] == [502] * 5


def test_a_stream_keeps_its_place_until_it_is_closed(app, client):
    def begin():
        environ = falcon.testing.create_environ("/stream")
        return app(environ, lambda *_args: None)

    streams = [begin(), begin()]
    assert client.simulate_get("/stream").status_code == 503
    for stream in streams:
        stream.close()

    assert client.simulate_get("/stream").text == "onetwo"


@pytest.mark.parametrize(
    ("kind", "resource", "method"),
    [
        ("waits", RunPrompt, "POST"),
        ("waits", RunEventsResource, "GET"),
        ("stores", Traces, "POST"),
        ("exports", Exports, "GET"),
        ("exports", ExportPage, "GET"),
    ],
)
def test_long_requests_occupy_a_place(kind, resource, method):
    assert method in getattr(resource, kind)


def test_large_bodies_are_in_memory_up_to_a_number_of_bytes_of_an_organization(monkeypatch):
    monkeypatch.setattr(middleware, "BODIES_BYTES", 4 * LARGE_BODY)
    monkeypatch.setattr(middleware, "BODY_WAIT_S", 0.05)
    reading, refused = Reading(), []
    app = falcon.App(middleware=[BodiesAtOnce(on_refused=lambda: refused.append(1)), Owned()])
    errors.install(app)
    app.add_route("/read", reading)
    client = TestClient(app)

    def send(size, organization_id=1):
        headers = {"Organization": str(organization_id)}
        return client.simulate_post("/read", body=b"x" * size, headers=headers).status_code

    with ThreadPoolExecutor(3) as pool:
        held = [pool.submit(send, 2 * LARGE_BODY), pool.submit(send, 2 * LARGE_BODY), pool.submit(send, LARGE_BODY)]
        for _ in held:
            assert reading.read.acquire(timeout=LONG_S)
        assert send(LARGE_BODY + 1) == 503
        reading.release.set()
        assert [answer.result(LONG_S) for answer in held] == [200, 200, 200]
        assert refused == [1]
        reading.release.clear()

        held = [pool.submit(send, 4 * LARGE_BODY), pool.submit(send, 4 * LARGE_BODY, 2)]
        for _ in held:
            assert reading.read.acquire(timeout=LONG_S)
        assert send(LARGE_BODY + 1, 3) == 503
        reading.release.set()
        assert [answer.result(LONG_S) for answer in held] == [200, 200]

    assert [send(4 * LARGE_BODY), send(8 * LARGE_BODY)] == [200, 200]
