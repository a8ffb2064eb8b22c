"""What a run adds to the model call, and a thousand at once: `python -m bench.runs`.

A run is compared with the same call made directly to the same fake upstream, in turns. The thousand wait for an
upstream that takes 5 s, while render, get and trace ingest are asked all the time by processes of their own.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import orjson

from bench.load import Request, Took, burst, cpu_s, memory_mb, one_by_one, percentile_ms, statuses
from bench.spans import batch
from tests.support.deployment import Deployment, environment
from tests.support.http_client import Client
from tests.support.mariadb import mariadb_server
from tests.support.process import ChildProcess
from tests.support.redis_server import redis_server
from tests.support.waiting import accepts, free_port

MODEL = "gpt-4o-mini"
INSTRUCTION, QUESTION = "Be helpful.", "What is the weather in Paris?"
UPSTREAM_S = 5
ADDED_MS = {50: 15, 95: 40}
AT_ONCE_S, RENDER_MS, MEMORY_MB = 8, 50, 200


@contextmanager
def served(latency_s: float) -> Iterator[tuple[Deployment, str]]:
    """The Procfile's processes, with a fake upstream in another one; its base URL."""
    port = free_port()
    base_url = f"http://127.0.0.1:{port}/openai/v1"
    argv = ["python", "-m", "tests.fakes.upstream", "--port", str(port), "--latency", str(latency_s)]
    settings = {
        "REPRISE_RATE_LIMIT": "100000000",
        "REPRISE_LOG_LEVEL": "warning",
        "OPENAI_API_KEY": "sk-bench",
        "OPENAI_BASE_URL": base_url,
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        upstream = ChildProcess(
            "upstream", argv, log=folder / "upstream.log", env=environment(folder), ready=lambda: accepts(port)
        )
        with (
            upstream,
            mariadb_server(flush_log=1, buffer_pool="256M") as mariadb,
            mariadb.database() as mysql_url,
            redis_server() as redis,
            redis.database() as redis_url,
            Deployment(
                folder / "reprise", mysql_url=mysql_url, redis_url=redis_url, web=1, workers=1, settings=settings
            ) as deployment,
        ):
            yield deployment, base_url


def new_prompt(client: Client) -> int:
    asked = {"name": "Bench", "value": INSTRUCTION, "languageModelName": MODEL}
    created = client.post("/api/v1/prompts", asked).json()
    return int(created["prompt"]["id"])


def run_request(client: Client, prompt_id: int) -> Request:
    body = orjson.dumps({"id": prompt_id, "question": QUESTION})
    return Request("POST", "/api/v1/prompts/run", client.api_key, body)


def added(rounds: int) -> None:
    """Runs one after the other, in turns with the bare call."""
    with served(0) as (deployment, base_url):
        client = deployment.client()
        ours = run_request(client, new_prompt(client))
        messages = [{"role": "system", "content": INSTRUCTION}, {"role": "user", "content": QUESTION}]
        bare = Request(
            "POST", "/openai/v1/chat/completions", "sk-bench", orjson.dumps({"model": MODEL, "messages": messages})
        )
        one_by_one(deployment.url, ours, count=30)
        runs: list[Took] = []
        calls: list[Took] = []
        for _ in range(rounds):
            calls += one_by_one(base_url, bare, count=25)
            runs += one_by_one(deployment.url, ours, count=25)
        print(f"One run after the other, {len(runs)} of them: {statuses(runs)}")
        for percent, goal in ADDED_MS.items():
            direct, through = percentile_ms(calls, percent), percentile_ms(runs, percent)
            print(
                f"  p{percent}: bare call {direct:5.1f} ms, run {through:5.1f} ms:"
                f" adds {through - direct:5.1f} ms    goal under {goal} ms"
            )


def at_once(count: int) -> None:
    """All runs begin at the same moment; what else is asked is measured only while they are under way."""
    with served(UPSTREAM_S) as (deployment, _):
        client = deployment.client()
        prompt_id = new_prompt(client)
        path = f"/api/v1/prompts/{prompt_id}"
        spans = batch(prompt_id, 7, start_ns=time.time_ns())
        probes = {
            "render": Request("POST", f"{path}/render", client.api_key, b"{}"),
            "get": Request("GET", path, client.api_key),
            "ingest": Request("POST", "/api/public/otel/v1/traces", client.api_key, spans),
        }
        spawn = multiprocessing.get_context("spawn")
        with spawn.Manager() as manager, ProcessPoolExecutor(len(probes), mp_context=spawn) as pool:
            stop = manager.Event()
            for request in probes.values():
                one_by_one(deployment.url, request, count=10)
            asked = {
                name: pool.submit(one_by_one, deployment.url, request, stop=stop, pause_s=0.05)  # type: ignore[arg-type]
                for name, request in probes.items()
            }
            time.sleep(1)
            kinds = {"web": deployment.webs[0].pid, "runs": deployment.workers["runs"][0].pid}
            before = {kind: cpu_s(group) for kind, group in kinds.items()}
            started = time.perf_counter()
            runs = asyncio.run(burst(deployment.url, run_request(client, prompt_id), count))
            took_s = time.perf_counter() - started
            stop.set()
            print(f"{count} runs at once, upstream {UPSTREAM_S} s: {statuses(runs)}")
            print(f"  all answered in {took_s:5.1f} s    goal under {AT_ONCE_S} s")
            for kind, group in kinds.items():
                print(f"  {kind:5} processor {(cpu_s(group) - before[kind]) * 1000 / count:4.1f} ms a run")
            for name, future in asked.items():
                taken = future.result()
                goal = f"    goal under {RENDER_MS} ms at p95" if name == "render" else ""
                print(
                    f"  meanwhile {name:6} p50 {percentile_ms(taken, 50):6.1f} ms,"
                    f" p95 {percentile_ms(taken, 95):6.1f} ms, {statuses(taken)}{goal}"
                )
        for child in deployment.processes():
            print(f"  {child.name:10} {memory_mb(child.pid)} MB    goal under {MEMORY_MB} MB each")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--count", type=int, default=1000)
    parsed = parser.parse_args()
    if parsed.rounds:
        added(parsed.rounds)
    if parsed.count:
        at_once(parsed.count)


if __name__ == "__main__":
    main()
