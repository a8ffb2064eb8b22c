"""A whole Reprise on its own servers, and what its database has of what was acknowledged."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

from tests.chaos.clocks import Clocks, clocks_in
from tests.chaos.small_disk import small_disk
from tests.support.deployment import WORKERS, Deployment
from tests.support.galera import GaleraCluster, galera_cluster
from tests.support.http_client import Answer, Client, serves
from tests.support.mariadb import MariaDB, mariadb_server
from tests.support.redis_server import RedisServer, redis_server
from tests.support.sentinel import WatchedRedis, watched_redis

TRACES = "/api/public/otel/v1/traces"
SETTINGS = {"REPRISE_RATE_LIMIT": "100000000", "REPRISE_LOG_LEVEL": "warning", "REPRISE_REQUEST_S": "5"}
PROCESSES = {"web": 1}


DatabaseServer = TypeVar("DatabaseServer", MariaDB, GaleraCluster)
RedisKind = TypeVar("RedisKind", RedisServer, WatchedRedis)


@dataclass(frozen=True)
class System(Generic[DatabaseServer, RedisKind]):
    """A deployment on one server of each kind, or on a cluster and a watched primary."""

    mariadb: DatabaseServer
    redis: RedisKind
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
        """The rows of a query in which tables are named `{db}.table`."""
        return self.mariadb.execute(sql.replace("{db}", self.database))

    def on_each_server(self) -> list[AnySystem]:
        """The system once for each database server, with only that server for `rows`."""
        return [replace(self, mariadb=each) for each in self.mariadb.each()]

    def ready(self) -> bool:
        """Every web process reports that the database, Redis and workers on all queues are there."""
        return all(_answers_200(url) for url in self.deployment.urls)


AnySystem = System[Any, Any]
SingleSystem = System[MariaDB, RedisServer]
ClusterSystem = System[GaleraCluster, WatchedRedis]


def _answers_200(url: str) -> bool:
    try:
        return serves(url) and Client(url, timeout_s=5).get("/health/ready").status == 200
    except OSError:
        return False


@contextlib.contextmanager
def running_system(folder: Path) -> Iterator[SingleSystem]:
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
            folder,
            mysql_url=mysql_url,
            redis_url=redis_url,
            web=2,
            workers=1,
            settings=SETTINGS,
            of_kind=of_kind,
            processes=PROCESSES,
        ) as deployment,
    ):
        yield System(mariadb, redis, deployment, disk, clocks, _name_in(mysql_url), *_prompt_with_a_case(deployment))


@contextlib.contextmanager
def running_cluster(folder: Path) -> Iterator[ClusterSystem]:
    """The same on three Galera nodes and a Redis that Sentinels watch; web and workers prefer different nodes."""
    with galera_cluster() as cluster, watched_redis() as redis:
        name = cluster.create_database()
        of_workers = {"DATABASE_URL": cluster.url(name, first=1)}
        with Deployment(
            folder,
            mysql_url=cluster.url(name),
            redis_url=redis.url(),
            web=2,
            workers=1,
            settings=SETTINGS,
            of_kind=dict.fromkeys((*WORKERS, "clock"), of_workers),
            processes=PROCESSES,
        ) as deployment:
            yield System(cluster, redis, deployment, None, None, name, *_prompt_with_a_case(deployment))


def _name_in(mysql_url: str) -> str:
    return urlsplit(mysql_url).path.strip("/")


def _prompt_with_a_case(deployment: Deployment) -> tuple[int, int]:
    """The ids of a new prompt and of its test case."""
    client = deployment.client()
    prompt_id = _made(client.post("/api/v1/prompts", {"name": "Chaos", "value": "Echo."}))["prompt"]["id"]
    case = {"name": "Chaos", "question": "Who?", "expectedAnswer": "Who?"}
    return prompt_id, _made(client.post(f"/api/v1/prompts/{prompt_id}/test-cases", case))["id"]


def _made(answer: Answer) -> Any:
    assert answer.status == 201, answer.body
    return answer.json()
