"""Redis or MariaDB hang, which is worse than dead: no request queues behind them, and all recovers afterwards."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.redis_store.clients import QUICK_S
from tests.support.deployment import Deployment
from tests.support.exports import export, span
from tests.support.http_client import Answer, Client, serves
from tests.support.mariadb import MariaDB, mariadb_server
from tests.support.redis_server import RedisServer, redis_server
from tests.support.waiting import wait_until

LIMIT = 100_000
POOL = 4
SETTINGS = {
    "REPRISE_RATE_LIMIT": str(LIMIT),
    "REPRISE_DATABASE_POOL": str(POOL),
    "REPRISE_METRICS_TOKEN": "watcher",
}
REQUESTS = 60


@dataclass(frozen=True)
class System:
    mariadb: MariaDB
    redis: RedisServer
    client: Client
    prompt_id: int

    def get(self, path: str = "/api/v1/prompts") -> Answer:
        return self.client.get(path)

    def render(self) -> Answer:
        return self.client.post(f"/api/v1/prompts/{self.prompt_id}/render", {"productive": False})

    def counted(self, metric: str) -> float:
        text = Client(self.client.base_url, "watcher").get("/metrics").body.decode()
        families = text_string_to_metric_families(text)
        return sum(sample.value for family in families for sample in family.samples if sample.name == metric)


@pytest.fixture(scope="module")
def system(needs_mariadb: None, needs_redis: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    home = tmp_path_factory.mktemp("hanging")
    with (
        mariadb_server(flush_log=2) as mariadb,
        mariadb.database() as mysql_url,
        redis_server() as redis,
        redis.database() as redis_url,
        Deployment(
            home, mysql_url=mysql_url, redis_url=redis_url, web=1, workers=1, processes=1, settings=SETTINGS
        ) as deployment,
    ):
        client = deployment.client()
        created = client.post("/api/v1/prompts", {"name": "Hanging", "value": "Echo."}).json()
        yield System(mariadb, redis, client, created["prompt"]["id"])


def test_while_redis_hangs_what_needs_only_the_database_is_answered(system: System) -> None:
    system.redis.pause()
    try:
        answers, waited = [], 0
        for number in range(REQUESTS):
            began = time.monotonic()
            answers.append(system.render() if number % 2 else system.get())
            waited += time.monotonic() - began >= QUICK_S
    finally:
        system.redis.resume()

    assert {answer.status for answer in answers} == {200}
    assert {answer.headers["RateLimit-Remaining"] for answer in answers} == {str(LIMIT)}
    # Had all of them waited for Redis, even so short, none would be left: this is no measure of speed.
    assert waited < REQUESTS

    wait_until(lambda: system.get().headers["RateLimit-Remaining"] != str(LIMIT), "requests to be counted again")
    wait_until(lambda: system.counted("reprise_rate_limit_not_counted_total") > 0, "uncounted requests")


def test_what_needs_a_redis_that_hangs_gets_retry_after_and_is_served_later(system: System) -> None:
    batch = export(span({"service.prompt.id": system.prompt_id}))
    asked = {"id": system.prompt_id, "question": "Who?", "productive": False}

    def send() -> Answer:
        return system.client.post(
            "/api/public/otel/v1/traces", body=batch, headers={"Content-Type": "application/json"}
        )

    system.redis.pause()
    try:
        answers = [send(), send(), system.client.post("/api/v1/prompts/run", asked)]
    finally:
        system.redis.resume()

    assert [(answer.status, answer.headers["Retry-After"]) for answer in answers] == [(503, "1")] * 3
    wait_until(lambda: send().status == 200, "a batch to be stored")
    wait_until(lambda: system.client.post("/api/v1/prompts/run", asked).status == 200, "a run to be answered")


def test_while_mariadb_hangs_requests_end_and_it_is_ready_again_soon_after(system: System) -> None:
    system.mariadb.pause()
    try:
        with ThreadPoolExecutor(REQUESTS) as pool:
            sent = [pool.submit(system.get) for _ in range(REQUESTS // 2)]
            sent += [pool.submit(system.get, "/api/v1/runs/1") for _ in range(REQUESTS // 2)]
            wait_until(lambda: sum(one.done() for one in sent) >= REQUESTS - POOL, "all but those who asked")
            ended = [one.result() for one in sent if one.done()]
            alive = Client(system.client.base_url).get("/health/live")
            refused = system.get()
            system.mariadb.resume()
            answers = [one.result() for one in sent]
    finally:
        system.mariadb.resume()

    assert {(answer.status, answer.headers["Retry-After"]) for answer in [refused, *ended]} == {(503, "1")}
    assert alive.status == 200
    assert {answer.status for answer in answers} <= {200, 404, 503}
    wait_until(lambda: serves(system.client.base_url), "to be ready again")
    assert system.get().status == 200
    wait_until(lambda: system.counted("reprise_database_pool_timeouts_total") > 0, "pool time-outs to be counted")
