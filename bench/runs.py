"""Measures what a run adds to the model call, and thousands of runs at once: `python -m bench.runs`.

Runs alternate with the same call made directly to the same fake upstream. The thousands wait for an upstream that
answers in 5 s, while separate processes constantly send requests for render, get and trace ingest.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson

from bench.load import Request, Took, burst, cpu_s, memory_mb, one_by_one, percentile_ms, statuses
from bench.run_parts import RunPart, measure_parts
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
ADDED_MS = {50: 4, 95: 7}
AT_ONCE_S = {1000: 7, 3000: 7.5}
RENDER_MS, MEMORY_MB = 50, 200
# Runs per web process, and per process that executes runs: on two processors few large processes are faster than many
# small ones.
RUNS_A_PROCESS = 1000
# Threads per run in a process that executes runs: with 1,000 runs the same number as in the Procfile.
THREADS_A_RUN = 1.3
# Places per run in a web process (more than one, because the kernel does not distribute connections equally), and
# threads per place: with 1,000 runs the defaults.
PLACES_A_RUN, THREADS_A_PLACE = 2, 1.6
# Runs before the measured ones: a worker's first call loads the vendors' libraries for seconds.
WARM_UP = 100


@dataclass(frozen=True, slots=True)
class Served:
    """`groups` are the process groups by name: web, worker (of runs), database, redis, upstream."""

    deployment: Deployment
    base_url: str
    groups: dict[str, int]


@contextmanager
def served(latency_s: float, count: int = 1) -> Iterator[Served]:
    """The Procfile's processes, as many as `count` runs at once need, with a fake upstream in another one."""
    processes = max(2, -(-count // RUNS_A_PROCESS))
    part = max(1000, count) // processes
    places = part * PLACES_A_RUN
    port = free_port()
    base_url = f"http://127.0.0.1:{port}/openai/v1"
    argv = ["python", "-m", "tests.fakes.upstream", "--port", str(port), "--latency", str(latency_s)]
    settings = {
        "REPRISE_RATE_LIMIT": "100000000",
        "REPRISE_LOG_LEVEL": "warning",
        "REPRISE_WEB_PROCESSES": str(processes),
        "REPRISE_WEB_THREADS": str(round(places * THREADS_A_PLACE)),
        "REPRISE_RUN_PLACES": str(places),
        "REPRISE_MODEL_CONCURRENCY": str(max(1024, count)),
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
                folder / "reprise",
                mysql_url=mysql_url,
                redis_url=redis_url,
                web=1,
                workers=1,
                settings=settings,
                threads={"runs": round(part * THREADS_A_RUN)},
                processes={"runs": processes},
            ) as deployment,
        ):
            web, worker = deployment.webs[0], deployment.workers["runs"][0]
            children = {"web": web, "worker": worker, "database": mariadb, "redis": redis, "upstream": upstream}
            yield Served(deployment, base_url, {name: child.pid for name, child in children.items()})


def new_prompt(client: Client) -> int:
    asked = {"name": "Bench", "value": INSTRUCTION, "languageModelName": MODEL}
    created = client.post("/api/v1/prompts", asked).json()
    return int(created["prompt"]["id"])


def run_request(client: Client, prompt_id: int) -> Request:
    body = orjson.dumps({"id": prompt_id, "question": QUESTION})
    return Request("POST", "/api/v1/prompts/run", client.api_key, body)


def added(rounds: int) -> None:
    """Runs one after the other, in turns with the bare call."""
    with served(0) as bench:
        deployment = bench.deployment
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
            calls += one_by_one(bench.base_url, bare, count=25)
            runs += one_by_one(deployment.url, ours, count=25)
        print(f"One run after the other, {len(runs)} of them: {statuses(runs)}")
        for percent, goal in ADDED_MS.items():
            direct, through = percentile_ms(calls, percent), percentile_ms(runs, percent)
            print(
                f"  p{percent}: bare call {direct:5.1f} ms, run {through:5.1f} ms:"
                f" adds {through - direct:5.1f} ms    goal under {goal} ms"
            )
        servers = [bench.groups[name] for name in ("database", "redis")]
        show_parts(measure_parts(deployment.env, bench.base_url, bare, servers))


def show_parts(parts: list[RunPart]) -> None:
    wall_ms, processor_ms = sum(part.wall_ms for part in parts), sum(part.processor_ms for part in parts)
    print(f"  its parts alone, one at a time: {wall_ms:.1f} ms at p50, {processor_ms:.1f} ms of a processor")
    for part in parts:
        print(f"    {part.name:45} {part.wall_ms:5.1f} ms {part.processor_ms:5.1f} ms of a processor")


def at_once(count: int) -> None:
    """All runs begin at the same moment; what else is asked is measured only while they are under way."""
    with served(UPSTREAM_S, count) as bench:
        deployment = bench.deployment
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
            burst(deployment.url, run_request(client, prompt_id), WARM_UP)
            for request in probes.values():
                one_by_one(deployment.url, request, count=10)
            asked = {
                name: pool.submit(one_by_one, deployment.url, request, stop=stop, pause_s=0.05)  # type: ignore[arg-type]
                for name, request in probes.items()
            }
            time.sleep(1)
            before = processor_s(bench)
            started = time.perf_counter()
            runs = burst(deployment.url, run_request(client, prompt_id), count)
            took_s = time.perf_counter() - started
            stop.set()
            print(f"{count} runs at once, upstream {UPSTREAM_S} s: {statuses(runs)}")
            goal = f"    goal under {AT_ONCE_S[count]} s" if count in AT_ONCE_S else ""
            print(f"  all answered in {took_s:5.1f} s{goal}")
            used = {name: (seconds - before[name]) * 1000 / count for name, seconds in processor_s(bench).items()}
            shown = ", ".join(f"{name} {spent_ms:.1f}" for name, spent_ms in used.items())
            print(f"  processor, ms a run, probes included: {shown}, together {sum(used.values()):.1f}")
            for name, future in asked.items():
                show_meanwhile(name, future.result())
        for child in deployment.processes():
            print(f"  {child.name:10} {memory_mb(child.pid)} MB    goal under {MEMORY_MB} MB each")


def show_meanwhile(name: str, taken: list[Took]) -> None:
    p50, p95 = (percentile_ms(taken, percent) for percent in (50, 95))
    goal = f"    goal under {RENDER_MS} ms at p95" if name == "render" else ""
    print(f"  meanwhile {name:6} p50 {p50:6.1f} ms, p95 {p95:6.1f} ms, {statuses(taken)}{goal}")


def processor_s(bench: Served) -> dict[str, float]:
    """Seconds of processor that each group of processes has used so far, this load generator among them."""
    return {name: cpu_s(group) for name, group in bench.groups.items()} | {"generator": time.process_time()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--count", type=int, nargs="*", default=list(AT_ONCE_S))
    parsed = parser.parse_args()
    if parsed.rounds:
        added(parsed.rounds)
    for count in parsed.count:
        at_once(count)


if __name__ == "__main__":
    main()
