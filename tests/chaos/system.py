"""A whole Reprise on servers of its own, and what its database says of what was acknowledged."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.chaos.clocks import Clocks, clocks_in
from tests.chaos.small_disk import small_disk
from tests.support.deployment import WORKERS, Deployment
from tests.support.http_client import Answer, Client, serves
from tests.support.mariadb import MariaDB, mariadb_server
from tests.support.redis_server import RedisServer, redis_server

TRACES = "/api/public/otel/v1/traces"
SETTINGS = {"REPRISE_RATE_LIMIT": "100000000", "REPRISE_LOG_LEVEL": "warning"}


@dataclass(frozen=True)
class System:
    mariadb: MariaDB
    redis: RedisServer
    deployment: Deployment
    disk: Path | None
    clocks: Clocks | None
    database: str
    prompt_id: int
    test_case_id: int

    def client(self, web: int = 0, timeout_s: float = 10) -> Client:
        """An exporter gives up after 10 s."""
        made = self.deployment.client(web=web)
        return Client(made.base_url, made.api_key, timeout_s)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query whose tables are named `{db}.table`."""
        return self.mariadb.execute(sql.replace("{db}", self.database))

    def ready(self) -> bool:
        """Every web process says that the database, Redis and workers on all queues are there."""
        return all(_answers_200(url) for url in self.deployment.urls)


def _answers_200(url: str) -> bool:
    try:
        return serves(url) and Client(url, timeout_s=5).get("/health/ready").status == 200
    except OSError:
        return False


@contextlib.contextmanager
def running_system(folder: Path) -> Iterator[System]:
    """Two web processes, one worker process group a queue, a clock; commits are durable."""
    clocks = clocks_in(folder)
    by_clock = {"web": clocks.web, **dict.fromkeys((*WORKERS, "clock"), clocks.workers)} if clocks else {}
    of_kind = {kind: clock.environment for kind, clock in by_clock.items()}
    with (
        small_disk() as disk,
        mariadb_server(environment=clocks.mariadb.environment if clocks else None) as mariadb,
        mariadb.database() as mysql_url,
        redis_server(environment=clocks.redis.environment if clocks else None) as redis,
        redis.database() as redis_url,
        Deployment(
            folder, mysql_url=mysql_url, redis_url=redis_url, web=2, workers=1, settings=SETTINGS, of_kind=of_kind
        ) as deployment,
    ):
        client = deployment.client()
        prompt_id = _made(client.post("/api/v1/prompts", {"name": "Chaos", "value": "Echo."}))["prompt"]["id"]
        case = {"name": "Chaos", "question": "Who?", "expectedAnswer": "Who?"}
        test_case_id = _made(client.post(f"/api/v1/prompts/{prompt_id}/test-cases", case))["id"]
        name = urlsplit(mysql_url).path.strip("/")
        yield System(mariadb, redis, deployment, disk, clocks, name, prompt_id, test_case_id)


def _made(answer: Answer) -> Any:
    assert answer.status == 201, answer.body
    return answer.json()
