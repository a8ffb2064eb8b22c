"""GET /health/ready names what is missing, and GET /health/live answers while the process does."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import fakeredis
import pytest
import redis
from falcon.testing import TestClient

from app.models import schema
from app.process.application import build_app
from app.process.bootstrap import bootstrap
from app.redis_store import keys
from app.redis_store.broker import QUEUES
from app.redis_store.clients import RedisClients
from app.redis_store.consumers import HEARTBEAT_MS
from app.services.ingest.batch import Receipt
from app.services.ingest.storer import Storer, StorerState
from app.wiring.container import Container
from tests.support.world import settings_for


@pytest.fixture
def server() -> fakeredis.FakeServer:
    return fakeredis.FakeServer()


@pytest.fixture
def build(tmp_path: Path, server: fakeredis.FakeServer) -> Iterator[Callable[..., Container]]:
    """Builds a container without any worker, of the embedded mode where the URL of Redis is empty."""
    built: list[Container] = []

    def build(redis_url: str, storer: Storer | None = None) -> Container:
        client = fakeredis.FakeRedis(server=server, version=(7,))
        settings = settings_for(tmp_path, redis_url=redis_url)
        built.append(bootstrap(settings, redis=RedisClients(client, client, client), storer=storer))
        schema.upgrade(built[-1].database)
        return built[-1]

    yield build
    for container in built:
        container.close()


@pytest.fixture
def container(build: Callable[..., Container]) -> Container:
    return build("redis://none")


@pytest.fixture
def client(container: Container) -> TestClient:
    return TestClient(build_app(container))


def see_worker(container: Container, queue: str, *, age_s: float = 0) -> None:
    container.redis.commands.zadd(keys.workers(queue), {f"of {queue}": time.time() - age_s})


def see_all(container: Container) -> None:
    for queue in QUEUES:
        see_worker(container, queue)


def test_ready_needs_a_worker_on_every_queue_that_requests_need(container: Container, client: TestClient) -> None:
    for queue in ("runs", "spans"):
        see_worker(container, queue)
    answer = client.simulate_get("/health/ready")
    assert (answer.status_code, answer.json) == (503, {"error": "No worker was seen on: replays."})
    see_worker(container, "replays")
    assert client.simulate_get("/health/ready").status_code == 200


def test_the_embedded_mode_needs_no_worker_of_spans(build: Callable[..., Container]) -> None:
    container = build("")
    client = TestClient(build_app(container))
    assert client.simulate_get("/health/ready").json == {"error": "No worker was seen on: replays, runs."}
    for queue in ("runs", "replays"):
        see_worker(container, queue)
    assert client.simulate_get("/health/ready").status_code == 200


@dataclass(frozen=True, slots=True)
class Processes:
    """The storing processes of the embedded mode, each in the given state."""

    found: Mapping[StorerState, int]

    def states(self) -> Mapping[StorerState, int]:
        return {"ready": 0, "starting": 0, "hanging": 0, **self.found}

    def __call__(self, *_: object) -> tuple[Receipt, bytes]:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("found", "answer"),
    [
        ({"ready": 2}, (200, {"status": "ready"})),
        (
            {"ready": 1, "hanging": 1},
            (
                200,
                {
                    "status": "ready",
                    "warnings": ["Not every process is ready to store batches of spans: 1 ready, 1 hanging."],
                },
            ),
        ),
        (
            {"starting": 1, "hanging": 1},
            (503, {"error": "No process is ready to store batches of spans: 1 starting, 1 hanging."}),
        ),
    ],
)
def test_ready_names_the_storing_processes_and_needs_one(
    build: Callable[..., Container], found: Mapping[StorerState, int], answer: tuple[int, object]
) -> None:
    container = build("", Processes(found))
    see_all(container)
    got = TestClient(build_app(container)).simulate_get("/health/ready")
    assert (got.status_code, got.json) == answer


def test_a_silent_worker_is_no_worker(container: Container, client: TestClient) -> None:
    see_all(container)
    see_worker(container, "spans", age_s=HEARTBEAT_MS / 1000 + 1)
    assert client.simulate_get("/health/ready").json == {"error": "No worker was seen on: spans."}


def test_ready_names_redis_once_when_it_is_away(server: fakeredis.FakeServer, client: TestClient) -> None:
    server.connected = False
    answer = client.simulate_get("/health/ready")
    assert answer.status_code == 503
    assert answer.json["error"].startswith("Redis does not answer")
    assert "worker" not in answer.json["error"]


def test_ready_names_redis_when_it_is_full(
    container: Container, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers are not seen then, because they write when they ask for messages."""
    words = "command not allowed when used memory > 'maxmemory'."

    def refuse(*_arguments: object, **_options: object) -> None:
        raise redis.OutOfMemoryError(words)

    monkeypatch.setattr(container.redis.commands, "set", refuse)

    assert client.simulate_get("/health/ready").json == {"error": f"Redis refuses commands: {words}"}
    see_all(container)
    assert client.simulate_get("/health/ready").status_code == 200


def test_ready_needs_a_schema(tmp_path: Path, server: fakeredis.FakeServer) -> None:
    commands = fakeredis.FakeRedis(server=server, version=(7,))
    container = bootstrap(settings_for(tmp_path / "none"), redis=RedisClients(commands, commands, commands))
    (tmp_path / "none").mkdir()
    see_all(container)
    answer = TestClient(build_app(container)).simulate_get("/health/ready")
    container.close()
    assert answer.status_code == 503
    assert "reprise db upgrade" in answer.json["error"]


def test_live_needs_nothing(server: fakeredis.FakeServer, client: TestClient) -> None:
    server.connected = False
    assert client.simulate_get("/health/live").status_code == 200
