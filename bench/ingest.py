"""How fast spans become durable, against bare multi-row INSERTs of the same rows: `python -m bench.ingest`.

Rounds of both alternate in one run, so that a busy machine slows both; only their ratio counts.
"""

from __future__ import annotations

import argparse
import http.client
import statistics
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import orjson
from sqlalchemy import Connection, text

from app.db import Database, build_engine
from app.models import bulk, spans
from app.otlp.decode import decode
from bench.spans import batch
from tests.support.deployment import Deployment, EmbeddedServer
from tests.support.http_client import Client
from tests.support.mariadb import mariadb_server
from tests.support.redis_server import redis_server

SPANS = 512
PATH = "/api/public/otel/v1/traces"
SETTINGS = {"REPRISE_RATE_LIMIT": "100000000", "REPRISE_LOG_LEVEL": "warning"}


class Sender:
    """Posts batches over kept-alive connections, `senders` at once, as as many exporters would."""

    def __init__(self, client: Client) -> None:
        self._netloc = urlsplit(client.base_url).netloc
        self._headers = {"Authorization": f"Bearer {client.api_key}", "Content-Type": "application/json"}

    def send(self, bodies: Sequence[bytes]) -> list[float]:
        """Seconds that each took, one after the other on one connection."""
        connection = http.client.HTTPConnection(self._netloc, timeout=60)
        took = []
        for body in bodies:
            started = time.perf_counter()
            connection.request("POST", PATH, body, self._headers)
            answer = connection.getresponse()
            content = answer.read()
            took.append(time.perf_counter() - started)
            if answer.status != 200 or orjson.loads(content) != {"partialSuccess": {}}:
                raise SystemExit(f"HTTP {answer.status}: {content[:500]!r}")
        connection.close()
        return took

    def send_at_once(self, bodies: Sequence[bytes], senders: int) -> float:
        """Spans a second with `senders` at once."""
        started = time.perf_counter()
        with ThreadPoolExecutor(senders) as pool:
            list(pool.map(self.send, [bodies[place::senders] for place in range(senders)]))
        return len(bodies) * SPANS / (time.perf_counter() - started)


class BareInserts:
    """The same rows into a table of the same form, over one connection, a transaction a batch."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.write() as connection:
            connection.execute(text(_copy_of_spans(connection)))

    def insert(self, bodies: Sequence[bytes]) -> float:
        """Spans a second."""
        batches = [
            [(1, s.trace_id, s.span_id, s.prompt_id, place, s.scope, s.raw) for s in decode(body).spans]
            for place, body in enumerate(bodies)
        ]
        started = time.perf_counter()
        for rows in batches:
            with self._database.write() as connection:
                bulk.insert_ignore(connection, "bare_spans", spans.COLUMNS, rows)
        return len(bodies) * SPANS / (time.perf_counter() - started)


def _copy_of_spans(connection: Connection) -> str:
    if connection.dialect.name == "sqlite":
        created = connection.scalar(text("SELECT sql FROM sqlite_master WHERE name = 'spans'"))
        return str(created).replace("TABLE spans", "TABLE bare_spans").replace("uq_spans", "uq_bare_spans")
    return "CREATE TABLE bare_spans LIKE spans"


def measure(name: str, client: Client, database: Database, *, rounds: int, batches: int, senders: int) -> None:
    """Alternate rounds of both, then a lone sender, then a resend; print medians and ratios."""
    prompt_id = client.post("/api/v1/prompts", {"name": "Bench", "value": "Be helpful."}).json()["prompt"]["id"]
    sender, bare = Sender(client), BareInserts(database)
    sender.send(make(prompt_id, 4))
    ours, theirs, again = [], [], []
    for _ in range(rounds):
        bodies = make(prompt_id, batches)
        theirs.append(bare.insert(bodies))
        ours.append(sender.send_at_once(bodies, senders))
        again.append(sender.send_at_once(bodies, senders))
    alone = sender.send(make(prompt_id, 40))
    ratio = statistics.median(mine / other for mine, other in zip(ours, theirs, strict=True))
    resent = statistics.median(second / first for second, first in zip(again, ours, strict=True))
    size = len(make(prompt_id, 1)[0]) / SPANS
    print(f"{name}: batches of {SPANS} spans of {size:.0f} bytes, {senders} senders, {rounds} rounds of {batches}")
    print(f"  bare INSERTs            {statistics.median(theirs):8.0f} spans/s")
    print(f"  durable over HTTP       {statistics.median(ours):8.0f} spans/s   ratio {ratio:.2f}")
    print(f"  the same batches again  {statistics.median(again):8.0f} spans/s   {resent:.1f} times the first sending")
    print(f"  one batch alone         {statistics.median(alone) * 1000:8.1f} ms at p50")


def make(prompt_id: int, count: int) -> list[bytes]:
    return [batch(prompt_id, SPANS, start_ns=time.time_ns()) for _ in range(count)]


def on_services(arguments: argparse.Namespace) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        mariadb_server(flush_log=1, buffer_pool="1G") as mariadb,
        mariadb.database() as mysql_url,
        redis_server() as redis,
        redis.database() as redis_url,
        Deployment(
            Path(folder), mysql_url=mysql_url, redis_url=redis_url, web=1, workers=1, settings=SETTINGS
        ) as deployment,
    ):
        database = Database(build_engine(mysql_url))
        measure("MySQL + Redis", deployment.client(), database, **vars(arguments))
        database.engine.dispose()


def embedded(arguments: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder, EmbeddedServer(Path(folder), SETTINGS) as server:
        database = Database(build_engine(f"sqlite:///{folder}/reprise.db"))
        measure("Embedded (SQLite)", server.client(), database, **vars(arguments))
        database.engine.dispose()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batches", type=int, default=40)
    parser.add_argument("--senders", type=int, default=8)
    parsed = parser.parse_args()
    on_services(parsed)
    embedded(parsed)
