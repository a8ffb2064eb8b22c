"""Measures the smallest possible parts of a run separately: a lower bound of what a run adds, for `bench.runs`.

A run is a request, which the rate limit counts and a schema checks. Its row is committed before the message is sent to
a worker. A second commit claims it, so that no model is called twice, and a third one ends it, with the usage of its
day. The call holds one of the model's slots. Each part uses the libraries of a run. Parts are measured one at a time,
so that no part waits for another.
"""

from __future__ import annotations

import secrets
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import orjson
from sqlalchemy import Column, Integer, MetaData, String, Table, Text, bindparam, select, update

from app.chat import Message
from app.concurrency.quotas import Quota
from app.database.transactions import build_database
from app.models.base import BigInt
from app.models.queries import insert_row
from app.providers.types import Credential, ModelConfig, ModelRef, ModelRequest
from app.providers.vendor_models import VendorModels
from app.redis_store.clients import connect
from app.redis_store.slots import ModelSlots
from bench import empty_actor
from bench.load import Request, cpu_s, one_by_one, percentile_ms
from bench.requests import empty_server
from tests.support.deployment import ROOT
from tests.support.process import ChildProcess

TIMES = 200

_TABLES = MetaData()
_ROWS = Table(
    "part_rows",
    _TABLES,
    Column("id", BigInt, primary_key=True),
    Column("status", String(16)),
    Column("claim", String(36)),
    Column("answer", Text),
)
_SUMS = Table("part_sums", _TABLES, Column("id", Integer, primary_key=True), Column("runs", Integer, nullable=False))
_ROW, _TOKEN, _C = _ROWS.c.id == bindparam("row"), bindparam("token"), _ROWS.c
_CLAIM = update(_ROWS).where(_ROW, _C.status == "queued").values(status="running", claim=_TOKEN)
_CLAIMED = select(_ROWS).where(_ROW, _C.claim == _TOKEN)
_END = (
    update(_ROWS)
    .where(_ROW, _C.claim == _TOKEN, _SUMS.c.id == 1)
    .values({_C.status: "done", _C.answer: bindparam("said"), _SUMS.c.runs: _SUMS.c.runs + 1})
)


@dataclass(frozen=True, slots=True)
class RunPart:
    """The median milliseconds from a part's begin to its end, and its processor time in all processes.

    Simultaneous runs share some parts; for example, they are claimed in one transaction.
    """

    name: str
    wall_ms: float
    processor_ms: float


def measure_parts(env: dict[str, str], base_url: str, bare: Request, servers: Iterable[int]) -> list[RunPart]:
    """Measure each part; `bare` is the call made without Reprise, `servers` are the groups of database and Redis."""
    groups = list(servers)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return [
            _request(folder, env["REDIS_URL"], bare, groups),
            *_statements(env["DATABASE_URL"], groups),
            _slot(env["REDIS_URL"], groups),
            _message(folder, env, groups),
            _client(base_url, bare),
        ]


def _request(folder: Path, redis_url: str, bare: Request, groups: list[int]) -> RunPart:
    body = orjson.dumps({"id": 1, "question": orjson.loads(bare.body)["messages"][-1]["content"]})
    request = Request("POST", "/run", bare.api_key, body)
    with empty_server(folder, redis_url) as (url, group):
        one_by_one(url, request, count=TIMES)
        used = sum(map(cpu_s, [*groups, group]))
        wall_ms = percentile_ms(one_by_one(url, request, count=TIMES), 50)
        used = sum(map(cpu_s, [*groups, group])) - used
    return RunPart("the request: limit and schema, nothing else", wall_ms, used * 1000 / TIMES)


def _statements(url: str, groups: list[int]) -> list[RunPart]:
    """Those of a run, in their transactions, with short texts and on tables without indexes."""
    database = build_database(url, pool_size=4, on_lock_retry=lambda: None, on_pool_timeout=lambda: None)
    _TABLES.create_all(database.engine)
    with database.single() as connection:
        insert_row(connection, _SUMS, id=1, runs=0)
    ids: list[int] = []

    def begun() -> None:
        with database.single() as connection:
            ids.append(insert_row(connection, _ROWS, status="queued"))
        with database.single() as connection:
            connection.execute(_CLAIM, {"row": ids[-1], "token": "claim"})
            connection.execute(_CLAIMED, {"row": ids[-1], "token": "claim"}).all()

    def ended() -> None:
        row_id = ids.pop()
        with database.single() as connection:
            connection.execute(_END, {"row": row_id, "token": "claim", "said": "Sunny."})

    parts = [
        _here("its row, and the claim with the credential", begun, groups),
        _here("its end and usage", ended, groups),
    ]
    _TABLES.drop_all(database.engine)
    database.dispose()
    return parts


def _slot(url: str, groups: list[int]) -> RunPart:
    slots = ModelSlots(connect(url, waiters=1, longest_wait_s=1).commands, quota=Quota.of(100, 25))

    def held() -> None:
        with slots.of("bench", 1, 30):
            pass

    return _here("a slot of the model, held and given back", held, groups)


def _message(folder: Path, env: dict[str, str], groups: list[int]) -> RunPart:
    """A message to a worker process through the broker of runs, and the worker's reply through Redis."""
    broker = empty_actor.connect(env["REDIS_URL"])
    begun = empty_actor.declare(broker)

    def sent_and_begun() -> None:
        # Consumers wait for 5 ms between two fetches, which a run lasts at least.
        time.sleep(0.01)
        started = time.perf_counter()
        key = secrets.token_hex(8)
        begun.send(key)
        if broker.client.blpop([key], timeout=60) is None:
            raise SystemExit("The actor did not begin.")
        taken.append(time.perf_counter() - started)

    taken: list[float] = []
    argv = ["dramatiq", "bench.empty_actor:broker", "--queues", empty_actor.QUEUE, "--processes", "1", "--threads", "8"]
    with ChildProcess("actor", argv, log=folder / "actor.log", env={**env, "BENCH_WORKER": "1"}, cwd=ROOT) as worker:
        sent_and_begun()
        part = _here("to an actor, and word of it", sent_and_begun, [*groups, worker.pid])
    return RunPart(part.name, statistics.median(taken) * 1000, part.processor_ms)


def _client(base_url: str, bare: Request) -> RunPart:
    models, asked = VendorModels(), orjson.loads(bare.body)
    request = ModelRequest(
        model=ModelRef("OPENAI", asked["model"]),
        config=ModelConfig(),
        messages=tuple(Message(message["role"], message["content"]) for message in asked["messages"]),
        credential=Credential(bare.api_key, base_url),
        timeout_s=30,
    )
    models.complete(request)  # opens the connection
    through = _here("the model's call, beyond the bare one", lambda: models.complete(request), [])
    models.close()
    bare_ms = percentile_ms(one_by_one(base_url, bare, count=TIMES), 50)
    return RunPart(through.name, through.wall_ms - bare_ms, through.processor_ms)


def _here(name: str, do: Callable[[], object], groups: list[int]) -> RunPart:
    """Measure what this process does with the help of `groups`."""
    taken = []
    used = time.process_time() + sum(map(cpu_s, groups))
    for _ in range(TIMES):
        started = time.perf_counter()
        do()
        taken.append(time.perf_counter() - started)
    used = time.process_time() + sum(map(cpu_s, groups)) - used
    return RunPart(name, statistics.median(taken) * 1000, used * 1000 / TIMES)
