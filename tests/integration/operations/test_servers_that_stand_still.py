"""A database or a Redis hangs: each request ends at its deadline, and all are served when the server goes on.

It is stopped, or accepts connections and does not answer, or answers a byte a second. One web process has connections
to it by then, another one has none.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Literal

import pytest

from tests.support.deployment import Deployment
from tests.support.exports import export, span
from tests.support.http_client import Answer, Client, serves
from tests.support.mariadb import MariaDB, mariadb_server
from tests.support.process import ChildProcess
from tests.support.redis_server import RedisServer, redis_server
from tests.support.still_server import Behaviour, StillServer
from tests.support.waiting import wait_until

DEADLINE_S = 2
# Exporters wait so long for an answer. A request has its deadline and a second more; the rest is for a busy machine.
PATIENCE_OF_EXPORTERS_S = 10.0
CALLERS = 64
SETTINGS = {
    "REPRISE_REQUEST_S": str(DEADLINE_S),
    "REPRISE_INGEST_WAIT_S": str(DEADLINE_S),
    "REPRISE_DATABASE_POOL": "8",
    # As many as callers: a request that kept its thread would leave the next ones without an answer.
    "REPRISE_WEB_THREADS": str(CALLERS),
    "REPRISE_RATE_LIMIT": "1000000",
}
TRACES = "/api/public/otel/v1/traces"
OTLP_JSON = {"Content-Type": "application/json"}
Ask = Callable[[Client], Answer]


@dataclass(frozen=True)
class System:
    mariadb: MariaDB
    redis: RedisServer
    before_mariadb: StillServer
    before_redis: StillServer
    deployment: Deployment
    prompt_id: int

    @property
    def warm(self) -> Client:
        return self.deployment.client()

    @property
    def fresh(self) -> Client:
        return self.deployment.client(web=1)

    def batch(self, client: Client) -> Answer:
        body = export(span({"service.prompt.id": self.prompt_id}, traceId=secrets.token_hex(16)))
        return client.post(TRACES, body=body, headers=OTLP_JSON)

    def read(self, client: Client) -> Answer:
        return client.get(f"/api/v1/prompts/{self.prompt_id}/logs")

    def render(self, client: Client) -> Answer:
        return client.post(f"/api/v1/prompts/{self.prompt_id}/render", {"productive": False})

    def run(self, client: Client) -> Answer:
        return client.post("/api/v1/prompts/run", {"id": self.prompt_id, "question": "Who?", "productive": False})

    def start_fresh_process(self) -> None:
        """Restart the second web process: it connects to nothing until its first request."""
        process: ChildProcess = self.deployment.webs[1]
        process.kill()
        process.launch()
        wait_until(lambda: serves(self.fresh.base_url, "/health/live"), "a fresh process")

    def stands_still(self, server: str, fault: Fault) -> AbstractContextManager[None]:
        if fault == "stopped":
            return _stopped(self.mariadb if server == "MariaDB" else self.redis)
        return (self.before_mariadb if server == "MariaDB" else self.before_redis).stands_still(fault)


Fault = Literal["stopped"] | Behaviour
Callers = tuple[int, int]


@contextmanager
def _stopped(server: ChildProcess) -> Iterator[None]:
    server.pause()
    try:
        yield
    finally:
        server.resume()


@pytest.fixture(scope="module")
def system(needs_mariadb: None, needs_redis: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    with (
        mariadb_server(flush_log=2) as mariadb,
        mariadb.database() as mysql_url,
        redis_server() as redis,
        redis.database() as redis_url,
        StillServer(mariadb.port) as before_mariadb,
        StillServer(redis.port) as before_redis,
        Deployment(
            tmp_path_factory.mktemp("still"),
            mysql_url=mysql_url.replace(f":{mariadb.port}/", f":{before_mariadb.port}/"),
            redis_url=redis_url.replace(f":{redis.port}/", f":{before_redis.port}/"),
            web=2,
            workers=1,
            processes=1,
            settings=SETTINGS,
        ) as deployment,
    ):
        created = deployment.client().post("/api/v1/prompts", {"name": "Still", "value": "Echo."}).json()
        yield System(mariadb, redis, before_mariadb, before_redis, deployment, created["prompt"]["id"])


def at_once(client: Client, count: int, *asks: Ask) -> list[tuple[Answer, float]]:
    """The answers of so many requests at the same time, the kinds in turn, and the seconds that each took."""

    def ask(number: int) -> tuple[Answer, float]:
        began = time.monotonic()
        answer = asks[number % len(asks)](client)
        return answer, time.monotonic() - began

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(ask, range(count)))


def check_all_refused_in_time(answered: list[tuple[Answer, float]]) -> None:
    assert {(answer.status, answer.headers["Retry-After"]) for answer, _ in answered} == {(503, "1")}
    assert max(took_s for _, took_s in answered) < PATIENCE_OF_EXPORTERS_S


def check_not_ready(client: Client, named: str) -> None:
    """The readiness names the server that hangs within two seconds; the bound is for a busy machine."""
    [(answer, took_s)] = at_once(client, 1, lambda asking: asking.get("/health/ready"))
    assert answer.status == 503
    assert named in answer.json()["error"]
    assert took_s < PATIENCE_OF_EXPORTERS_S / 2


def check_all_served_soon(system: System, client: Client) -> None:
    for what, ask in (("reads", system.read), ("renders", system.render), ("batches", system.batch)):
        wait_until(lambda ask=ask: ask(client).status == 200, f"{what} to be served")  # type: ignore[misc]
    wait_until(lambda: serves(client.base_url), "to be ready again")


def ask_both(system: System, callers: Callers, *asks: Ask) -> None:
    """Send `callers` requests at once to the warm process, and to the fresh one."""
    with ThreadPoolExecutor(2) as both:
        sent = [
            both.submit(at_once, client, count, *asks)
            for client, count in zip((system.warm, system.fresh), callers, strict=True)
        ]
    for answered in sent:
        check_all_refused_in_time(answered.result())


# Each server gets a single caller, and many at once, in a process that is warm and in one that is fresh.
@pytest.mark.parametrize(
    ("fault", "callers"), [("stopped", (1, CALLERS)), ("silent", (CALLERS, 1)), ("dripping", (1, CALLERS))]
)
def test_while_the_database_hangs_all_is_refused_in_time_and_served_again_after(
    system: System, fault: Fault, callers: Callers
) -> None:
    system.start_fresh_process()
    check_all_served_soon(system, system.warm)
    with system.stands_still("MariaDB", fault):
        ask_both(system, callers, system.read, system.batch, system.run)
        for client in (system.warm, system.fresh):
            check_not_ready(client, "database")
            check_all_refused_in_time(at_once(client, CALLERS, system.read))
    for client in (system.warm, system.fresh):
        check_all_served_soon(system, client)


@pytest.mark.parametrize(
    ("fault", "callers"), [("stopped", (CALLERS, 1)), ("silent", (1, CALLERS)), ("dripping", (CALLERS, 1))]
)
def test_while_redis_hangs_what_needs_it_is_refused_in_time_and_served_again_after(
    system: System, fault: Fault, callers: Callers
) -> None:
    system.start_fresh_process()
    check_all_served_soon(system, system.warm)
    with system.stands_still("Redis", fault):
        ask_both(system, callers, system.batch, system.run)
        for client in (system.warm, system.fresh):
            check_not_ready(client, "Redis")
            check_all_refused_in_time(at_once(client, CALLERS, system.batch))
            assert {answer.status for answer, _ in at_once(client, 2, system.read, system.render)} == {200}
    for client in (system.warm, system.fresh):
        check_all_served_soon(system, client)


@pytest.mark.parametrize(("server", "named"), [("MariaDB", "database"), ("Redis", "Redis")])
def test_the_readiness_of_a_process_without_requests_names_the_server_that_hangs(
    system: System, server: str, named: str
) -> None:
    check_all_served_soon(system, system.warm)
    with system.stands_still(server, "silent"):
        check_not_ready(system.warm, named)
    check_all_served_soon(system, system.warm)


def test_a_run_that_has_begun_is_waited_for_longer_than_other_requests(system: System) -> None:
    """Its answer is too long to be announced, so that it is read from the database after the wait."""
    asked = {"id": system.prompt_id, "question": "Who? " * 10_000, "productive": False}
    workers = system.deployment.workers["runs"][0]
    check_all_served_soon(system, system.warm)
    workers.pause()
    try:
        with ThreadPoolExecutor(1) as pool:
            sent = pool.submit(system.warm.post, "/api/v1/prompts/run", asked)
            threading.Event().wait(DEADLINE_S + 1)
            workers.resume()
    finally:
        workers.resume()
    assert sent.result().status == 200
