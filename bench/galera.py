"""What it costs that statements on a Galera node wait for what other nodes committed: `python -m bench.galera`.

Two instances of Reprise on databases of one cluster of three nodes, both on the same node: one is given all nodes, so
that its connections set `wsrep_sync_wait`, and the other one only that node, so that they do not. Rounds of both
alternate in one run.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import text

from app.db import Database
from app.engines import build_engine
from bench.ingest import SETTINGS, Sender, make
from bench.load import Request, one_by_one, percentile_ms, rate
from tests.support.deployment import Deployment
from tests.support.galera import galera_cluster, missing
from tests.support.redis_server import redis_server

CONNECTIONS = 16
SECONDS = 4.0
STATEMENTS = 300
SELECT = "SELECT id FROM bench_rows WHERE id = 1"
INSERT = "INSERT INTO bench_rows (said) VALUES ('The forecast for tomorrow says sun in the morning.')"


class Instance:
    """A deployment with a prompt, and what is measured of it."""

    def __init__(self, deployment: Deployment, mysql_url: str) -> None:
        self._url = deployment.url
        self._database = Database(build_engine(mysql_url))
        with self._database.write() as connection:
            connection.execute(text("CREATE TABLE bench_rows (id BIGINT AUTO_INCREMENT PRIMARY KEY, said TEXT)"))
        client = deployment.client()
        created = client.post("/api/v1/prompts", {"name": "Bench", "value": "Be helpful."})
        self._prompt_id = int(created.json()["prompt"]["id"])
        self._sender = Sender(client)
        path = f"/api/v1/prompts/{self._prompt_id}"
        self._get = Request("GET", path, client.api_key)
        self._render = Request("POST", f"{path}/render", client.api_key, b"{}")
        self._log = Request("GET", f"{path}/logs?type=otel", client.api_key)

    def measures(self, batches: int) -> dict[str, Callable[[], float]]:
        return {
            "a SELECT of a row, ms at p50": lambda: self._statement_ms(SELECT),
            "a transaction of one INSERT, ms at p50": lambda: self._statement_ms(INSERT),
            "get, requests/s": lambda: self._rate(self._get),
            "render, requests/s": lambda: self._rate(self._render),
            "first page of the log, requests/s": lambda: self._rate(self._log),
            "first page of the log alone, ms at p50": lambda: percentile_ms(
                one_by_one(self._url, self._log, count=100), 50
            ),
            "ingest from 8 senders, spans/s": lambda: self._sender.send_at_once(make(self._prompt_id, batches), 8),
            "one batch of 512 alone, ms at p50": lambda: (
                statistics.median(self._sender.send(make(self._prompt_id, 10))) * 1000
            ),
        }

    def _statement_ms(self, statement: str) -> float:
        took = []
        for _ in range(STATEMENTS):
            started = time.perf_counter()
            with self._database.write() as connection:
                connection.execute(text(statement))
            took.append(time.perf_counter() - started)
        return statistics.median(took) * 1000

    def _rate(self, request: Request) -> float:
        return asyncio.run(rate(self._url, request, connections=CONNECTIONS, seconds=SECONDS))


def deployed(folder: Path, mysql_url: str, redis_url: str) -> Deployment:
    settings = {**SETTINGS, "REPRISE_WEB_PROCESSES": "1"}
    return Deployment(
        folder, mysql_url=mysql_url, redis_url=redis_url, web=1, workers=1, processes=1, settings=settings
    )


def show(rounds: int, waiting: Instance, without: Instance, batches: int) -> None:
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for _ in range(rounds):
        for (name, ours), theirs in zip(
            waiting.measures(batches).items(), without.measures(batches).values(), strict=True
        ):
            found[name].append((ours(), theirs()))
    print(f"Three nodes of Galera, {rounds} rounds:{'':11} with wsrep_sync_wait   without    ratio")
    for name, pairs in found.items():
        ours, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
        ratio = statistics.median(one / other for one, other in pairs)
        print(f"  {name:40} {ours:14.1f} {theirs:14.1f}    {ratio:5.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, default=24)
    parsed = parser.parse_args()
    if reason := missing():
        print(f"Galera is not measured: {reason}")
        return
    with tempfile.TemporaryDirectory() as name, galera_cluster() as cluster, redis_server() as redis:
        all_nodes, one_node = cluster.url(cluster.create_database()), cluster.url(cluster.create_database())
        one_node = f"{one_node.partition(',')[0]}/{one_node.rpartition('/')[2]}"
        with (
            deployed(Path(name) / "waiting", all_nodes, redis.url(0)) as waiting,
            deployed(Path(name) / "without", one_node, redis.url(1)) as without,
        ):
            show(parsed.rounds, Instance(waiting, all_nodes), Instance(without, one_node), parsed.batches)


if __name__ == "__main__":
    main()
