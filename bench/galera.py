"""Measures the cost of a Galera cluster, and of waiting for other nodes' commits: `python -m bench.galera`.

The rounds of three instances of Reprise alternate in one run. Two instances use the same node of a cluster of three
nodes. One of them knows all nodes, so its connections set `wsrep_sync_wait`; the other one knows only that node, so its
connections do not. The third instance uses a separate MariaDB with the same settings.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path

from sqlalchemy import text

from app.database.engines import build_engine
from app.database.transactions import Database
from bench.ingest import SETTINGS, Sender, make_batches
from bench.load import Request, one_by_one, percentile_ms, rate
from tests.support.deployment import Deployment
from tests.support.galera import BUFFER_POOL, galera_cluster, missing
from tests.support.mariadb import mariadb_server
from tests.support.redis_server import redis_server

CONNECTIONS = 16
SECONDS = 4.0
STATEMENTS = 300
SELECT = "SELECT id FROM bench_rows WHERE id = 1"
INSERT = "INSERT INTO bench_rows (said) VALUES ('The forecast for tomorrow says sun in the morning.')"


class GaleraInstance:
    """A deployment with a prompt, and its measurements."""

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
            "ingest from 8 senders, spans/s": lambda: self._sender.send_at_once(
                make_batches(self._prompt_id, batches), 8
            ),
            "one batch of 512 alone, ms at p50": lambda: (
                statistics.median(self._sender.send(make_batches(self._prompt_id, 10))) * 1000
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


def show(rounds: int, waiting: GaleraInstance, others: Mapping[str, GaleraInstance], batches: int) -> None:
    """Print what each instance reached, and the ratio of the one that waits to each of the others."""
    measured: dict[str, list[list[float]]] = defaultdict(list)
    for _ in range(rounds):
        sides = [instance.measures(batches) for instance in (waiting, *others.values())]
        for name in sides[0]:
            measured[name].append([measures[name]() for measures in sides])
    print(f"{rounds} rounds; {'with wsrep_sync_wait':>53}{''.join(f'{name:>14}    ratio' for name in others)}")
    for name, reached in measured.items():
        ours, *theirs = (statistics.median(side) for side in zip(*reached, strict=True))
        ratios = [statistics.median(medians[0] / medians[n + 1] for medians in reached) for n in range(len(others))]
        compared = "".join(f"{value:14.1f}    {ratio:5.2f}" for value, ratio in zip(theirs, ratios, strict=True))
        print(f"  {name:40} {ours:20.1f}{compared}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, default=24)
    parsed = parser.parse_args()
    if reason := missing():
        raise SystemExit(f"Galera is not measured: {reason}")
    with (
        tempfile.TemporaryDirectory() as name,
        galera_cluster() as cluster,
        mariadb_server(buffer_pool=BUFFER_POOL) as mariadb,
        redis_server() as redis,
    ):
        alone = mariadb.url(mariadb.create_database())
        all_nodes, one_node = cluster.url(cluster.create_database()), cluster.url(cluster.create_database())
        one_node = f"{one_node.partition(',')[0]}/{one_node.rpartition('/')[2]}"
        with (
            deployed(Path(name) / "waiting", all_nodes, redis.url(0)) as waiting,
            deployed(Path(name) / "without", one_node, redis.url(1)) as without,
            deployed(Path(name) / "alone", alone, redis.url(2)) as on_one,
        ):
            others = {"without": GaleraInstance(without, one_node), "one MariaDB": GaleraInstance(on_one, alone)}
            show(parsed.rounds, GaleraInstance(waiting, all_nodes), others, parsed.batches)


if __name__ == "__main__":
    main()
