"""Compares the reading and rendering of prompts with a resource that does nothing: `python -m bench.requests`.

gunicorn serves both with the same settings, and the rounds alternate, so that a busy machine slows down both. A
resource that only counts for the rate limit shows the highest possible rate. The load comes from wrk if it is
installed, otherwise from a separate process. After that each request is sent at a fixed rate, which shows its times.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import re
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from bench.load import Request, Took, memory_mb, one_by_one, paced, percentile_ms, rate, statuses
from tests.support.deployment import ROOT, Deployment, environment
from tests.support.http_client import Client, serves
from tests.support.mariadb import mariadb_server
from tests.support.process import ChildProcess
from tests.support.redis_server import redis_server
from tests.support.waiting import free_port

GOALS = {"get": 0.85, "get, unchanged": 0.9, "get by label": 0.85, "render": 0.8, "render by label": 0.8}
PER_SECOND = 1000
GOAL_P50_MS, GOAL_P99_MS = 2, 10
SETTINGS = {"REPRISE_RATE_LIMIT": "100000000", "REPRISE_LOG_LEVEL": "warning"}
TEXT = "# Role\nYou are {{tone}}.\n# Rules\n" + "\n".join(f"* Rule {number}: be helpful." for number in range(20))


@contextlib.contextmanager
def empty_server(folder: Path, redis_url: str) -> Iterator[tuple[str, int]]:
    """`bench.empty` behind gunicorn with Reprise's own configuration: its base URL, and its process group."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    argv = ["gunicorn", "-c", "python:config.gunicorn", "bench.empty:application"]
    env = environment(folder, {**SETTINGS, "PORT": str(port), "BENCH_REDIS_URL": redis_url})
    with ChildProcess(
        "empty", argv, log=folder / "empty.log", env=env, cwd=ROOT, ready=lambda: serves(url, "/")
    ) as child:
        yield url, child.pid


def answers_per_second(url: str, request: Request, *, connections: int, seconds: int) -> float:
    if wrk := shutil.which("wrk"):
        return _by_wrk(wrk, url, request, connections=connections, seconds=seconds)
    with ProcessPoolExecutor(1) as pool:
        return pool.submit(_by_loop, url, request, connections, seconds).result()


def _by_loop(url: str, request: Request, connections: int, seconds: int) -> float:
    return asyncio.run(rate(url, request, connections=connections, seconds=seconds))


def _by_wrk(wrk: str, url: str, request: Request, *, connections: int, seconds: int) -> float:
    """Return the rate that wrk measures. A Lua script is its only way to set method and body."""
    fields = "".join(f'wrk.headers["{name}"] = [==[{value}]==]\n' for name, value in request.headers().items())
    script = f'wrk.method = "{request.method}"\nwrk.body = [==[{request.body.decode()}]==]\n{fields}'
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        file.write(script)
        file.flush()
        argv = [wrk, "-t1", f"-c{connections}", f"-d{seconds}s", "-s", file.name, url + request.path]
        output = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in output or "Socket errors" in output:
        raise SystemExit(output)
    return float(re.search(r"Requests/sec:\s+([\d.]+)", output)[1])  # type: ignore[index]


def times_at_rate(url: str, request: Request, *, connections: int, seconds: int) -> list[Took]:
    with ProcessPoolExecutor(1) as pool:
        return pool.submit(_by_pace, url, request, connections, seconds).result()


def _by_pace(url: str, request: Request, connections: int, seconds: int) -> list[Took]:
    return asyncio.run(paced(url, request, per_second=PER_SECOND, connections=connections, seconds=seconds))


def new_prompt(client: Client) -> int:
    values = [{"name": "friendly", "content": "friendly and brief", "isDefault": True}]
    asked = {"name": "Bench", "value": TEXT, "placeholders": [{"key": "tone", "description": "", "values": values}]}
    return int(client.post("/api/v1/prompts", asked).json()["prompt"]["id"])


def split_label(client: Client, path: str) -> None:
    """Point the label `production` to the first version, and give half of its keys to a second one like it."""
    first = client.get(path).json()["commitHash"]
    client.request("PATCH", path, payload={"value": f"{TEXT}\n"})
    second = client.post(f"{path}/commit").json()["commitHash"]
    for body in ({"commitHash": first}, {"commitHash": second, "share": 0.5}):
        client.request("PUT", f"{path}/labels/production", payload=body)


def measure(deployment: Deployment, empty_url: str, *, rounds: int, connections: int, seconds: int) -> None:
    client = deployment.client()
    path = f"/api/v1/prompts/{new_prompt(client)}"
    split_label(client, path)
    nothing, limited = (Request("GET", at, client.api_key) for at in ("/", "/limited"))
    body = b'{"placeholders": {"tone": "friendly"}}'
    etag = client.get(path).headers["ETag"]
    by_label = body[:-1] + b', "label": "production", "splitKey": "user-4711"}'
    ours = {
        "get": Request("GET", path, client.api_key),
        "get, unchanged": Request("GET", path, client.api_key, known=etag),
        "get by label": Request("GET", f"{path}?label=production&splitKey=user-4711", client.api_key),
        "render": Request("POST", f"{path}/render", client.api_key, body),
        "render by label": Request("POST", f"{path}/render", client.api_key, by_label),
    }
    asked = {name: (deployment.url, request) for name, request in ours.items()}
    asked["limit alone"] = empty_url, limited
    asked["limit and schema alone"] = empty_url, Request("POST", "/render", client.api_key, body)
    for url, request in asked.values():
        one_by_one(url, request, count=50)
    compared: dict[str, list[tuple[float, float]]] = {name: [] for name in asked}
    load = {"connections": connections, "seconds": seconds}
    for _ in range(rounds):
        for name, (url, request) in asked.items():
            empty = answers_per_second(empty_url, nothing, **load)
            compared[name].append((answers_per_second(url, request, **load), empty))
    by = "wrk" if shutil.which("wrk") else "a Python process"
    print(f"Requests/s, {connections} connections, {rounds} rounds of {seconds} s, load by {by}")
    for name, pairs in compared.items():
        ratio = statistics.median(mine / empty for mine, empty in pairs)
        mine, empty = (statistics.median(column) for column in zip(*pairs, strict=True))
        goal = f"    goal at least {GOALS[name]}" if name in GOALS else ""
        print(f"  {name:22} {mine:6.0f}, an empty resource {empty:6.0f}: ratio {ratio:.2f}{goal}")
    print(f"At {PER_SECOND:,} requests/s, goals p50 {GOAL_P50_MS} ms, p99 {GOAL_P99_MS} ms")
    for name, (url, request) in {"an empty resource": (empty_url, nothing), **asked}.items():
        taken = times_at_rate(url, request, **load)
        if set(statuses(taken)) - {200, 304}:
            raise SystemExit(f"{name}: {statuses(taken)}")
        print(f"  {name:22} p50 {percentile_ms(taken, 50):5.1f} ms, p99 {percentile_ms(taken, 99):5.1f} ms")
    print(f"  web processes {memory_mb(deployment.webs[0].pid)} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--seconds", type=int, default=4)
    with (
        tempfile.TemporaryDirectory() as name,
        mariadb_server(flush_log=1) as mariadb,
        mariadb.database() as mysql_url,
        redis_server() as redis,
        redis.database() as redis_url,
        empty_server(Path(name), redis_url) as (empty_url, _),
        Deployment(
            Path(name), mysql_url=mysql_url, redis_url=redis_url, web=1, workers=1, settings=SETTINGS
        ) as deployment,
    ):
        measure(deployment, empty_url, **vars(parser.parse_args()))


if __name__ == "__main__":
    main()
