"""Compares the time of 200 replays with the sum of their model calls ÷ concurrency: `python -m bench.replays`.

Each replay has 3 turns with 4 tool calls in all: 7 calls of a model, in a separate process, that answers in 100 ms.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import shlex
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from app.chat import Message
from app.concurrency.quotas import Quota
from app.providers.router import Providers
from app.providers.types import Credential, ModelConfig, ModelRef, ModelRequest
from config.settings import Settings
from tests.fakes import wire
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Asked, Reply
from tests.support.conversations import RecordedCall, RecordedTurn, export
from tests.support.deployment import Deployment, EmbeddedServer, procfile
from tests.support.http_client import Client
from tests.support.mariadb import mariadb_server
from tests.support.redis_server import redis_server
from tests.support.waiting import wait_until

GOAL = 1.1
LATENCY_S = 0.1
CALLS_BY_TURN = (2, 1, 1)
CALLS = sum(CALLS_BY_TURN) + len(CALLS_BY_TURN)
SETTINGS = {"REPRISE_RATE_LIMIT": "100000000", "REPRISE_LOG_LEVEL": "warning", "OPENAI_API_KEY": "sk-bench"}


class Agent(Upstream):
    """Looks up as many things as the user's last words ask for, one after the other, then answers."""

    def _read(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> tuple[Asked, Reply]:
        messages = body["messages"]
        last = max(place for place, message in enumerate(messages) if message["role"] == "user")
        done = sum(message["role"] == "tool" for message in messages[last:])
        asked = int(re.findall(r"\d+", str(messages[last]["content"]))[0])
        reply = Reply(tool_calls=[("look_up", {"number": done})]) if done < asked else Reply(text="Done.")
        return wire.read("OPENAI", path, headers, body), reply


def serve(ready: Connection) -> None:
    agent = Agent(latency_s=LATENCY_S)
    agent.start()
    ready.send(agent.base_url("OPENAI"))
    ready.recv()
    agent.stop()


def bare_calls(base_url: str, count: int, concurrency: int) -> float:
    """Seconds of one call on average, with `concurrency` at once and nothing else: what this machine allows now."""
    providers = Providers()
    ref, credential = ModelRef("OPENAI", "gpt-4o-mini"), Credential("sk-bench", base_url)
    request = ModelRequest(ref, ModelConfig(), (Message("user", "Look 0 up."),), credential, 30)

    def call(_: int) -> float:
        started = time.perf_counter()
        providers.complete(request)
        return time.perf_counter() - started

    call(0)
    with ThreadPoolExecutor(concurrency) as pool:
        took = list(pool.map(call, range(count)))
    providers.close()
    return sum(took) / count


def measure(name: str, client: Client, upstream: str, *, replays: int, concurrency: int) -> None:
    prompt_id = prepare(client, replays)
    client.post(f"/api/v1/prompts/{prompt_id}/replays", {"testCaseIds": [first_case(client, prompt_id)]})
    wait_for(client, prompt_id, 1)
    before = bare_calls(upstream, 20 * concurrency, concurrency)
    started = time.perf_counter()
    client.post(f"/api/v1/prompts/{prompt_id}/replays")
    wait_for(client, prompt_id, replays + 1)
    took_s = time.perf_counter() - started
    bare_s = (before + bare_calls(upstream, 20 * concurrency, concurrency)) / 2
    print(f"{name}: {replays} replays of {CALLS} calls of {LATENCY_S * 1000:.0f} ms, {concurrency} at once")
    print(f"  from the request to the last    {took_s:7.2f} s")
    for what, call_s in (("calls as the upstream has them", LATENCY_S), ("calls as made without us", bare_s)):
        ideal_s = replays * CALLS * call_s / concurrency
        print(f"  {what:<31} {ideal_s:7.2f} s   ratio {took_s / ideal_s:.2f}    goal at most {GOAL}", flush=True)


def prepare(client: Client, replays: int) -> int:
    """A prompt with a recorded session, and a test case of it for each replay."""
    parameters = {"type": "object", "properties": {"number": {"type": "integer"}}}
    body = {
        "name": "Bench",
        "value": "Be helpful.",
        "languageModelName": "gpt-4o-mini",
        "languageModelConfig": {"tools": [{"name": "look_up", "parameters": parameters}]},
    }
    prompt_id: int = client.post("/api/v1/prompts", body).json()["prompt"]["id"]
    turns = [
        RecordedTurn(
            f"Look {count} up.",
            "Done.",
            tuple(RecordedCall("look_up", {"number": number}, {"found": number}) for number in range(count)),
        )
        for count in CALLS_BY_TURN
    ]
    batch = export(prompt_id, "bench", turns, start_ns=time.time_ns())
    client.post("/api/public/otel/v1/traces", body=batch, headers={"Content-Type": "application/json"})
    (session,) = client.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json()["entries"]
    for _ in range(replays):
        client.post(f"/api/v1/sessions/{session['id']}/test-cases", {})
    return prompt_id


def first_case(client: Client, prompt_id: int) -> int:
    cases = client.get(f"/api/v1/prompts/{prompt_id}/test-cases?limit=1").json()["testCases"]
    return int(cases[0]["id"])


def wait_for(client: Client, prompt_id: int, passed: int) -> None:
    def counted() -> bool:
        (entry,) = client.get(f"/api/v1/prompts/{prompt_id}/replay-history").json()["history"]
        broken = {status: entry["counts"][status] for status in ("failed", "error") if entry["counts"][status]}
        if broken:
            failed = client.get(f"/api/v1/prompts/{prompt_id}/replays?status={min(broken)}").json()["replays"][0]
            raise SystemExit(json.dumps(client.get(f"/api/v1/replays/{failed['id']}").json(), indent=1)[:3000])
        return bool(entry["counts"]["passed"] == passed)

    wait_until(counted, "the replays", timeout_s=600, interval_s=0.1)


def places_of_an_organization() -> int:
    """Return how many replays of one organization the Procfile's worker executes at once; others have the rest."""
    command = shlex.join(procfile()["replays"])
    threads, processes = (int(re.findall(rf"--{name} (\d+)", command)[0]) for name in ("threads", "processes"))
    return processes * Quota.within(threads, Settings().organization_share).places


def main(replays: int) -> None:
    at_once = places_of_an_organization()
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = multiprocessing.get_context("spawn").Pipe()
        upstream = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
        upstream.start()
        settings = {**SETTINGS, "OPENAI_BASE_URL": ours.recv()}
        with (
            mariadb_server(flush_log=1) as mariadb,
            mariadb.database() as mysql_url,
            redis_server() as redis,
            redis.database() as redis_url,
            Deployment(
                Path(folder), mysql_url=mysql_url, redis_url=redis_url, web=1, workers=1, settings=settings
            ) as deployment,
        ):
            measure(
                "MySQL + Redis", deployment.client(), settings["OPENAI_BASE_URL"], replays=replays, concurrency=at_once
            )
        threads = {"REPRISE_WORKER_THREADS": str(at_once)}
        with EmbeddedServer(Path(folder) / "embedded", settings | threads) as server:
            measure(
                "Embedded (SQLite)", server.client(), settings["OPENAI_BASE_URL"], replays=replays, concurrency=at_once
            )
        ours.send("stop")
        upstream.join(10)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replays", type=int, default=200)
    main(**vars(parser.parse_args()))
