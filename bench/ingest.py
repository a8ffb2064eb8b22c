"""Compares the storing of spans with bare multi-row INSERTs of the same rows: `python -m bench.ingest`.

Their rounds alternate in one run, so that a busy machine slows down both; only the ratio counts.
"""

from __future__ import annotations

import argparse
import http.client
import sqlite3
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import orjson
from sqlalchemy import Connection, text

from app.database.engines import build_engine
from app.database.transactions import Database
from app.models import bulk, spans
from app.models.span_bodies import joined_by_turn
from app.otlp.decode import decode
from app.otlp.decode_protobuf import decode_protobuf
from app.services.ingest.turns import add_to_turns, parts_of
from bench.load import memory_mb
from bench.spans import batch
from tests.support.deployment import Deployment, EmbeddedServer
from tests.support.http_client import Client
from tests.support.mariadb import mariadb_server
from tests.support.protobuf import traces
from tests.support.redis_server import redis_server
from tests.support.waiting import wait_until

SPANS = 512
GOAL_AGAIN, GOAL_ALONE_MS = 2, 60
STAGES = ("decode", "facts of turns", "compress", "insert spans", "turns and sessions", "commit")
PATH = "/api/public/otel/v1/traces"
# A batch is refused after the default time; the tests' server would wait far longer.
SETTINGS = {"REPRISE_RATE_LIMIT": "100000000", "REPRISE_LOG_LEVEL": "warning", "REPRISE_INGEST_WAIT_S": "5"}


class Sender:
    """Posts batches over kept-alive connections, `senders` at once, like several exporters."""

    def __init__(self, client: Client) -> None:
        self._netloc = urlsplit(client.base_url).netloc
        self._headers = {"Authorization": f"Bearer {client.api_key}", "Content-Type": "application/json"}

    def send(self, bodies: Sequence[bytes]) -> list[float]:
        """Send the batches one after the other on one connection; return the seconds of each."""
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
    """Inserts the same rows into an equal table, only with the driver: one connection, one transaction per batch."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.write() as connection:
            connection.execute(text(_copy_of_spans(connection)))

    def insert(self, bodies: Sequence[bytes]) -> float:
        """Spans a second."""
        batches = [
            [(1, s.trace_id, s.span_id, s.prompt_id, place, s.scope, bytes(s.raw)) for s in decode(body).spans]
            for place, body in enumerate(bodies)
        ]
        started = time.perf_counter()
        for rows in batches:
            with self._database.write() as connection:
                _insert_bare(connection.connection.driver_connection, rows)
        return len(bodies) * SPANS / (time.perf_counter() - started)

    def drop(self) -> None:
        with self._database.write() as connection:
            connection.execute(text("DROP TABLE bare_spans"))


def _insert_bare(driver: Any, rows: Sequence[bulk.Values]) -> None:
    into = f"INTO bare_spans ({', '.join(spans.SPAN_COLUMNS)}) VALUES "
    if isinstance(driver, sqlite3.Connection):
        driver.executemany(f"INSERT OR IGNORE {into} ({', '.join('?' * len(spans.SPAN_COLUMNS))})", rows)
        return
    from MySQLdb.cursors import Cursor  # its own, not the one that Reprise uses

    places = f"({', '.join(['%s'] * len(spans.SPAN_COLUMNS))})"
    with driver.cursor(Cursor) as cursor:
        cursor.execute(f"INSERT IGNORE {into} {', '.join([places] * len(rows))}", tuple(chain.from_iterable(rows)))


def _copy_of_spans(connection: Connection) -> str:
    if connection.dialect.name == "sqlite":
        created = connection.scalar(text("SELECT sql FROM sqlite_master WHERE name = 'spans'"))
        return str(created).replace("TABLE spans", "TABLE bare_spans").replace("uq_spans", "uq_bare_spans")
    return "CREATE TABLE bare_spans LIKE spans"


class Rounds(NamedTuple):
    rounds: int
    batches: int
    senders: int


def measure(name: str, client: Client, database: Database, work: Rounds, *, goal: float, short: int) -> None:
    """Compare spans of 2.7 KB, and then short ones, with bare INSERTs; print medians, ratios and goals.

    `goal` is the ratio for spans of 2.7 KB, `short` the number of short spans a second, 0 for no goal.
    """
    prompt_id = client.post("/api/v1/prompts", {"name": "Bench", "value": "Be helpful."}).json()["prompt"]["id"]
    _alternate(name, client, database, work, prompt_id, f"ratio at least {goal}")
    report_stages(database, prompt_id)
    _alternate(
        name, client, database, work, prompt_id, f"at least {short:,} spans/s" if short else "none", contents=False
    )


def _alternate(
    name: str, client: Client, database: Database, work: Rounds, prompt_id: int, goal: str, *, contents: bool = True
) -> None:
    """Alternate rounds of both, then a lone sender, then a resend."""
    rounds, batches, senders = work
    make = partial(make_batches, prompt_id, contents=contents)
    sender, bare = Sender(client), BareInserts(database)
    sender.send(make(4))
    ours, theirs, again = [], [], []
    for _ in range(rounds):
        bodies = make(batches)
        _until_caught_up(database)
        theirs.append(bare.insert(bodies))
        ours.append(sender.send_at_once(bodies, senders))
        again.append(sender.send_at_once(bodies, senders))
    alone = sender.send(make(40))
    bare.drop()
    ratio = statistics.median(mine / other for mine, other in zip(ours, theirs, strict=True))
    resent = statistics.median(second / first for second, first in zip(again, ours, strict=True))
    alone_ms = statistics.median(alone) * 1000
    size = len(make(1)[0]) / SPANS
    print(f"{name}: batches of {SPANS} spans of {size:.0f} bytes, {senders} senders, {rounds} rounds of {batches}")
    for what, rates, compared in (
        ("bare INSERTs", theirs, ""),
        ("durable over HTTP", ours, f"ratio {ratio:.2f}    goal: {goal}"),
        ("the same batches again", again, f"{resent:.1f} times the first sending    goal at least {GOAL_AGAIN}"),
    ):
        print(f"  {what:<23} {statistics.median(rates):8.0f} spans/s   {compared}".rstrip())
    print(f"  one batch alone         {alone_ms:8.1f} ms at p50    goal under {GOAL_ALONE_MS} ms")


def _until_caught_up(database: Database) -> None:
    """Wait until the clock has counted all sessions and read all words, so that it does not slow down the INSERTs."""
    left = text(
        "SELECT EXISTS (SELECT 1 FROM search_waiting) OR EXISTS (SELECT 1 FROM sessions WHERE uncounted IS NOT NULL)"
    )

    def caught_up() -> bool:
        with database.read() as connection:
            return not connection.scalar(left)

    wait_until(caught_up, "the clock to catch up")


def report_stages(database: Database, prompt_id: int, *, repeats: int = 20) -> None:
    """Print the time of each stage of storing a batch, measured in this process, and a span's size on disk."""
    took: dict[str, list[float]] = defaultdict(list)
    for number, body in enumerate(make_batches(prompt_id, repeats)):
        clock = time.perf_counter
        marks = [clock()]
        ordered = sorted(decode(body).spans, key=lambda span: (span.trace_id, span.span_id))
        marks.append(clock())
        parts = parts_of(ordered)
        marks.append(clock())
        stored = joined_by_turn(ordered)
        marks.append(clock())
        rows = [spans.row_of(1, number, span, stored[span.trace_id, span.span_id]) for span in ordered]
        with database.write() as connection:
            spans.insert_new(connection, rows)
            marks.append(clock())
            add_to_turns(connection, 1, number, parts)
            marks.append(clock())
        marks.append(clock())
        for stage, begun, done in zip(STAGES, marks, marks[1:], strict=False):
            took[stage].append((done - begun) * 1000)
    shown = ", ".join(f"{stage} {statistics.median(times):.1f}" for stage, times in took.items())
    print(f"  protobuf is decoded in  {decoding_ratio(prompt_id):8.2f} times the processor time of JSON")
    print(f"  stages, ms a batch      {shown}")
    print(
        f"  on disk                 {_bytes_per_span(database):8.0f} bytes a span, turns, sessions and indexes included"
    )


def decoding_ratio(prompt_id: int, *, repeats: int = 60) -> float:
    """Return the ratio of the processor times for decoding the same spans from protobuf and from JSON."""
    (body,) = make_batches(prompt_id, 1)
    message = traces(body)
    ways = (lambda: decode(body), lambda: decode_protobuf(message, prompt_id))
    took: list[list[float]] = [[], []]
    for _ in range(repeats):
        for way, times in zip(ways, took, strict=True):
            started = time.process_time()
            way()
            times.append(time.process_time() - started)
    json_s, protobuf_s = map(min, took)
    return protobuf_s / json_s


def _bytes_per_span(database: Database) -> float:
    with database.write() as connection:
        stored = int(connection.scalar(text("SELECT COUNT(*) FROM spans")) or 0)
        if database.is_sqlite:
            used = (
                "SELECT (page_count - freelist_count) * page_size"
                " FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
            )
        else:
            connection.execute(text("ANALYZE TABLE spans, turns, sessions"))
            used = (
                "SELECT SUM(data_length + index_length) FROM information_schema.tables"
                " WHERE table_schema = DATABASE() AND table_name IN ('spans', 'turns', 'sessions')"
            )
        return float(connection.scalar(text(used)) or 0) / stored


def make_batches(prompt_id: int, count: int, *, contents: bool = True) -> list[bytes]:
    return [batch(prompt_id, SPANS, start_ns=time.time_ns(), contents=contents) for _ in range(count)]


def on_services(work: Rounds) -> None:
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
        measure("MySQL + Redis", deployment.client(), database, work, goal=1.4, short=40_000)
        for name, child in (("web", deployment.webs[0]), ("spans", deployment.workers["spans"][0])):
            print(f"  peak memory, {name:5}      {memory_mb(child.pid)[0]:8d} MB, the largest of its processes")
        database.engine.dispose()


def embedded(work: Rounds) -> None:
    with tempfile.TemporaryDirectory() as folder, EmbeddedServer(Path(folder), SETTINGS) as server:
        database = Database(build_engine(f"sqlite:///{folder}/reprise.db"))
        measure("Embedded (SQLite)", server.client(), database, work, goal=0.75, short=0)
        print(f"  peak memory             {memory_mb(server.process.pid)[0]:8d} MB, the largest of its processes")
        database.engine.dispose()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batches", type=int, default=40)
    parser.add_argument("--senders", type=int, default=8)
    parsed = Rounds(**vars(parser.parse_args()))
    on_services(parsed)
    embedded(parsed)
