"""What the parts of a run take alone, each as little as it can be: the bound of what a run adds, for `bench.runs`.

A run is a request, whose row is committed before a worker hears of it, claimed in a commit of its own, so that no model
is called twice, and ended in a third one. Each part is measured one at a time, so that none waits for another.
"""

from __future__ import annotations

import secrets
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import MySQLdb
import orjson
import redis

from app.chat import Message
from app.providers.anyllm import AnyLlmModels
from app.providers.types import Credential, ModelConfig, ModelRef, ModelRequest
from bench import empty_actor
from bench.load import Request, one_by_one, percentile_ms
from bench.requests import empty_server
from tests.support.deployment import ROOT
from tests.support.process import ChildProcess

TIMES = 200


def parts_ms(env: dict[str, str], base_url: str, bare: Request) -> dict[str, float]:
    """Return the median ms of each part by its name; `bare` is the model call as it is made without Reprise."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return {
            "the request: an empty resource": _request(folder, bare),
            "the rate limit: one command of Redis": _redis(env["REDIS_URL"]),
            "three commits of one row": _commits(env["DATABASE_URL"]),
            "to an actor, and word of it": _message(folder, env),
            "the vendor's client, beyond the bare call": _client(base_url, bare),
        }


def _request(folder: Path, bare: Request) -> float:
    with empty_server(folder) as url:
        return percentile_ms(one_by_one(url, Request("GET", "/", bare.api_key, bare.body), count=TIMES), 50)


def _redis(url: str) -> float:
    client = redis.Redis.from_url(url)
    return _median_ms(client.ping)


def _commits(url: str) -> float:
    """An INSERT and two UPDATEs, each committed as it is executed."""
    parsed = urlsplit(url)
    connection = MySQLdb.connect(
        host=parsed.hostname,
        port=parsed.port,
        user=parsed.username,
        password=parsed.password or "",
        database=parsed.path[1:],
        autocommit=True,
    )
    cursor = connection.cursor()
    cursor.execute("CREATE TABLE parts (id BIGINT PRIMARY KEY AUTO_INCREMENT, status VARCHAR(16), answer TEXT)")

    def commits() -> None:
        cursor.execute("INSERT INTO parts (status) VALUES ('queued')")
        row_id = cursor.lastrowid
        cursor.execute("UPDATE parts SET status = 'running' WHERE id = %s AND status = 'queued'", (row_id,))
        cursor.execute("UPDATE parts SET status = 'done', answer = 'Sunny.' WHERE id = %s", (row_id,))

    took_ms = _median_ms(commits)
    cursor.execute("DROP TABLE parts")
    connection.close()
    return took_ms


def _message(folder: Path, env: dict[str, str]) -> float:
    """A message to a worker process through the broker of runs, and what it says back through Redis."""
    broker = empty_actor.connect(env["REDIS_URL"])
    begun = empty_actor.declare(broker)

    def sent_and_begun() -> None:
        key = secrets.token_hex(8)
        begun.send(key)
        if broker.client.blpop([key], timeout=60) is None:
            raise SystemExit("The actor did not begin.")

    argv = ["dramatiq", "bench.empty_actor:broker", "--queues", empty_actor.QUEUE, "--processes", "1", "--threads", "8"]
    with ChildProcess("actor", argv, log=folder / "actor.log", env={**env, "BENCH_WORKER": "1"}, cwd=ROOT):
        sent_and_begun()
        # Consumers wait for 5 ms between two fetches, which a run takes at least.
        return _median_ms(sent_and_begun, pause_s=0.01)


def _client(base_url: str, bare: Request) -> float:
    models, asked = AnyLlmModels(), orjson.loads(bare.body)
    request = ModelRequest(
        model=ModelRef("OPENAI", asked["model"]),
        config=ModelConfig(),
        messages=tuple(Message(said["role"], said["content"]) for said in asked["messages"]),
        credential=Credential(bare.api_key, base_url),
        timeout_s=30,
    )
    models.complete(request)  # loads the vendor's library
    through = _median_ms(lambda: models.complete(request))
    models.close()
    return through - percentile_ms(one_by_one(base_url, bare, count=TIMES), 50)


def _median_ms(do: Callable[[], object], pause_s: float = 0) -> float:
    taken = []
    for _ in range(TIMES):
        time.sleep(pause_s)
        started = time.perf_counter()
        do()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken) * 1000
