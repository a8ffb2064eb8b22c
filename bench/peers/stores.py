"""Compares the storing of spans with two other servers for traces: `python -m bench.peers.stores`.

Phoenix, MLflow and Reprise get the same batches as protobuf over HTTP, in turns, each on SQLite. A batch counts when
its spans are in the server's database, as Phoenix answers before. The size is that of the database's file.
"""

from __future__ import annotations

import argparse
import http.client
import json
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

from bench.load import cpu_s, memory_mb
from bench.storage import merged
from bench.varied import LONGER, conversations
from tests.support.deployment import EmbeddedServer, environment
from tests.support.process import ChildProcess
from tests.support.protobuf import traces
from tests.support.waiting import accepts, free_port, wait_until

STORES = Path("build/peers/stores")
SENDERS = 4
TOGETHER = 32
"""Conversations of a batch."""
QUIET = {"PHOENIX_TELEMETRY_ENABLED": "false", "MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}


@dataclass(slots=True)
class TraceStore:
    """A server that stores traces. `group` is the group of its processes, `file` its database."""

    name: str
    url: str
    group: int
    file: Path
    headers: Mapping[str, str]
    prompt_id: int = 1
    path: str = "/v1/traces"

    def spans(self) -> int:
        with closing(sqlite3.connect(f"file:{self.file}?mode=ro", uri=True, timeout=60)) as database:
            return int(database.execute("SELECT count(*) FROM spans").fetchone()[0])

    def send(self, bodies: Sequence[bytes]) -> None:
        """Send batches one after the other on one connection; a refused one is sent again."""
        address = urlsplit(self.url)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=300)
        for body in bodies:
            while (status := self._status(connection, body)) != 200:
                if status not in (429, 503):
                    raise SystemExit(f"{self.name} answered {status}")
                time.sleep(1)
        connection.close()

    def _status(self, connection: http.client.HTTPConnection, body: bytes) -> int:
        connection.request("POST", self.path, body, {"Content-Type": "application/x-protobuf", **self.headers})
        answer = connection.getresponse()
        answer.read()
        return answer.status


@contextmanager
def stores(folder: Path) -> Iterator[list[TraceStore]]:
    """Serve the three."""
    with ExitStack() as stack:
        ours = stack.enter_context(EmbeddedServer(folder / "ours", {"REPRISE_RATE_LIMIT": "100000000"}))
        client = ours.client()
        made = client.post("/api/v1/prompts", {"name": "Bench", "value": "Be helpful."}).json()
        bearer = {"Authorization": f"Bearer {client.api_key}"}
        prompt_id = made["prompt"]["id"]
        path = f"/api/public/prompts/{prompt_id}/otel/v1/traces"
        yield [
            TraceStore("Reprise", ours.url, ours.process.pid, folder / "ours/reprise.db", bearer, prompt_id, path),
            stack.enter_context(_phoenix(folder)),
            stack.enter_context(_mlflow(folder)),
        ]


@contextmanager
def _phoenix(folder: Path) -> Iterator[TraceStore]:
    port, home = free_port(), folder / "phoenix"
    home.mkdir()
    more = {
        "PHOENIX_WORKING_DIR": str(home),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(free_port()),
    }
    with _served("phoenix", ["serve"], port, folder, more) as child:
        yield TraceStore("Phoenix", f"http://127.0.0.1:{port}", child.pid, home / "phoenix.db", {})


@contextmanager
def _mlflow(folder: Path) -> Iterator[TraceStore]:
    port, home = free_port(), folder / "mlflow"
    home.mkdir()
    argv = ["server", "--backend-store-uri", f"sqlite:///{home}/mlflow.db", "--host", "127.0.0.1", "--port", str(port)]
    argv += ["--default-artifact-root", str(home / "artifacts"), "--workers", "1"]
    with _served("mlflow", argv, port, folder, {}) as child:
        yield TraceStore(
            "MLflow", f"http://127.0.0.1:{port}", child.pid, home / "mlflow.db", {"x-mlflow-experiment-id": "0"}
        )


@contextmanager
def _served(name: str, argv: Sequence[str], port: int, folder: Path, more: Mapping[str, str]) -> Iterator[ChildProcess]:
    env = environment(folder) | QUIET | more
    program = str(STORES / "bin" / name)
    with ChildProcess(
        name, [program, *argv], log=folder / f"{name}.log", env=env, ready=lambda: accepts(port)
    ) as child:
        yield child


def batches(prompt_id: int, count: int, *, seed: int, longer: float) -> tuple[list[bytes], int]:
    """Return so many batches of new conversations, and the number of their spans."""
    made = conversations(prompt_id, seed=seed, start_ns=time.time_ns() - 10**15, longer=longer)
    whole = [json.loads(merged(islice(made, TOGETHER))) for _ in range(count)]
    groups = (scope for batch in whole for resource in batch["resourceSpans"] for scope in resource["scopeSpans"])
    return [traces(batch) for batch in whole], sum(len(scope["spans"]) for scope in groups)


def main(rounds: int, count: int, longer: float) -> None:
    with tempfile.TemporaryDirectory() as name, stores(Path(name)) as all_of_them, ThreadPoolExecutor(SENDERS) as pool:
        took, used = (
            dict.fromkeys((s.name for s in all_of_them), 0.0),
            dict.fromkeys((s.name for s in all_of_them), 0.0),
        )
        total = 0
        for seed in range(rounds + 1):  # the first round warms up
            for store in all_of_them:
                bodies, spans = batches(store.prompt_id, count, seed=seed, longer=longer)
                before, cpu, began = store.spans(), cpu_s(store.group), time.perf_counter()
                list(pool.map(store.send, [bodies[place::SENDERS] for place in range(SENDERS)]))
                wait_until(
                    lambda s=store, all_=before + spans: s.spans() >= all_, f"{store.name}'s spans", interval_s=0.1
                )
                if seed:
                    took[store.name] += time.perf_counter() - began
                    used[store.name] += cpu_s(store.group) - cpu
            total += spans if seed else 0
        print(f"{total:,} spans, {rounds} rounds, {SENDERS} senders, batches of {TOGETHER} conversations, SQLite")
        for store in all_of_them:
            size = store.file.stat().st_size / store.spans()
            print(
                f"  {store.name:8} {total / took[store.name]:7.0f} spans/s"
                f"  {used[store.name] / total * 1000:6.2f} ms of a processor a span"
                f"  {size:6.0f} bytes a span  {sum(memory_mb(store.group))} MB",
                flush=True,
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--count", type=int, default=16, help="batches of a round")
    parser.add_argument("--longer", type=float, default=LONGER)
    parsed = parser.parse_args()
    main(parsed.rounds, parsed.count, parsed.longer)
