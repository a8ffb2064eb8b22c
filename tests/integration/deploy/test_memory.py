"""The processes of a container stay below its memory together while hostile content is sent.

One process of each kind gets the content. The others of its container may need as much at the same time.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from config.settings import Settings
from tests.support.backends import empty_servers
from tests.support.deployment import ROOT, Deployment
from tests.support.exports import export, pairs_of, span
from tests.support.http_client import Client
from tests.support.process import ChildProcess, children_of
from tests.support.waiting import PATIENCE_S, wait_until

MIB = 1024 * 1024
TRACES, LOGS = "/api/public/otel/v1/traces", "/api/public/otel/v1/logs"
MANY = 20_000
WIDE_TURNS, REPLAYS = 420, 8
TOGETHER = 8
"""Batches that are sent at once: more than the threads of a process."""
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "large"}
Sent = tuple[str, bytes]


def limits_mib() -> dict[str, int]:
    """Return what the manifests give each kind of process: the lower one of Kubernetes' and Compose's limits."""
    limits: dict[str, list[int]] = defaultdict(list)
    for manifest in (ROOT / "deploy/kubernetes").glob("*.yaml"):
        for document in manifest.read_text().split("\n---\n"):
            if limit := re.search(r"limits: \{memory: (\d+)([MG])i\}", document):
                (name,) = re.findall(r"^  name: (\S+)$", document, re.MULTILINE)
                limits[name].append(int(limit[1]) * (1024 if limit[2] == "G" else 1))
    services = re.findall(r"^  (\w+):\n((?:    .*\n)+)", (ROOT / "deploy/compose.yaml").read_text(), re.MULTILINE)
    for name, service in services:
        if limit := re.search(r"mem_limit: (\d+)([mg])", service):
            limits[name].append(int(limit[1]) * (1024 if limit[2] == "g" else 1))
    return {name: min(both) for name, both in limits.items() if len(both) == 2}


def batches(prompt_id: int) -> Iterator[Sent]:
    """Yield batches that are small as they are sent, and large or of many parts as they are read."""
    large = {"service.prompt.id": prompt_id, **CHAT, "gen_ai.input.messages": "x" * 8_000_000}
    yield TRACES, export(*(span(large, traceId="a" * 32, spanId=f"{number:016x}") for number in range(1, 9)))
    # Python stores each character of such a text in four bytes.
    wide = json.dumps([{"role": "user", "content": "x" * 8_000_000 + "\U0001f600"}])
    widened = {"service.prompt.id": prompt_id, **CHAT, "gen_ai.conversation.id": "wide", "gen_ai.input.messages": wide}
    yield TRACES, export(*(span(widened, traceId="c" * 32, spanId=f"{number:016x}") for number in range(1, 8)))
    yield TRACES, b"[" * (60 * MIB)
    yield TRACES, b" " * (60 * MIB)
    tiny = {"service.prompt.id": prompt_id, **CHAT}
    yield TRACES, export(*(span(tiny, traceId=f"{number:032x}", spanId="1" * 16) for number in range(1, MANY)))
    messages = json.dumps([{"role": "assistant", "content": "x"}] * 100_000)
    listed = {"service.prompt.id": prompt_id, **CHAT, "gen_ai.input.messages": messages}
    yield TRACES, export(*(span(listed, traceId="b" * 32, spanId=f"{number:016x}") for number in range(1, 10)))
    content = {"eventName": "gen_ai.user.message", "attributes": pairs_of({"content": "x"}), "timeUnixNano": "1"}
    records = [content | {"traceId": f"{number:032x}", "spanId": "1" * 16} for number in range(1, MANY)]
    yield LOGS, json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}).encode()
    asked = pairs_of({"event.name": "codex.user_prompt", "conversation.id": "x", "service.prompt.id": prompt_id})
    records = [{"attributes": asked, "timeUnixNano": str(10**18 + number)} for number in range(5 * MANY)]
    yield LOGS, json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}).encode()


def masked_batch(prompt_id: int) -> Sent:
    """Return a batch of which each member of the JSON needs much more memory than its bytes."""
    tiny = {"service.prompt.id": prompt_id, **CHAT, "gen_ai.input.messages": f"[{','.join(['[]'] * 2_600_000)}]"}
    return TRACES, export(*(span(tiny, traceId="d" * 32, spanId=f"{number:016x}") for number in range(1, 9)))


def ask_dearly(client: Client, prompt_id: int) -> None:
    """Send bodies at their limits, and read the sessions that the batches made."""
    client.post("/api/v1/prompts", {"name": "Long", "value": "# a\n" * 120_000})
    client.post("/api/v1/prompts/run", {"id": prompt_id, "question": "é" * 1_900_000})
    client.post(f"/api/v1/prompts/{prompt_id}/test-cases", body=b"[" * MIB + b"]" * MIB)
    for session in client.get("/api/v1/sessions?limit=10&include=all").json()["sessions"]:
        client.get(f"/api/v1/sessions/{session['id']}")
        client.get(f"/api/v1/sessions/{session['id']}/test-case-proposal")
    client.get(f"/api/v1/prompts/{prompt_id}/exports/sessions")


def send_together(client: Client, path: str, body: bytes) -> set[int]:
    """Send the batch under several trace ids at once; return the statuses of the answers."""
    traces = re.findall(rb'"traceId": ?"([0-9a-f]{32})"', body)
    bodies = [gzip.compress(body.replace(traces[0], b"%032x" % (number + 1)), 1) for number in range(TOGETHER)]
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    with ThreadPoolExecutor(TOGETHER) as pool:
        return set(pool.map(lambda sent: client.post(path, body=sent, headers=headers).status, bodies))


def play_largest(client: Client) -> list[str]:
    """Replay a test case of nearly 4 MiB as often as a worker has threads; return how the replays ended."""
    prompt = {"name": "Wide", "value": "Be helpful.", "languageModelName": "echo"}
    prompt_id = client.post("/api/v1/prompts", prompt).json()["prompt"]["id"]
    # Python stores each character of such a text in four bytes.
    words = [[{"role": "user", "content": f"\U0001f600{'q' * 9_300}{number}"}] for number in range(WIDE_TURNS)]
    chat = {"service.prompt.id": prompt_id, **CHAT, "gen_ai.conversation.id": "replayed"}
    answer = {"gen_ai.output.messages": json.dumps([{"role": "assistant", "content": "Done."}])}
    spans = [
        span(
            {**chat, **answer, "gen_ai.input.messages": json.dumps(said)},
            traceId=f"{number + 1:032x}",
            spanId=f"{number + 1:016x}",
        )
        for number, said in enumerate(words)
    ]
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    assert client.post(TRACES, body=gzip.compress(export(*spans), 1), headers=headers).status == 200
    (session,) = client.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json()["entries"]
    made = client.post(f"/api/v1/sessions/{session['id']}/test-cases", {})
    assert made.status == 201, made.body
    path = f"/api/v1/test-cases/{made.json()['id']}/replays"
    for _ in range(REPLAYS):
        assert client.post(path, {}).status == 202

    def ended() -> list[str] | None:
        replays = client.get(f"/api/v1/prompts/{prompt_id}/replays").json()["replays"]
        unfinished = {"queued", "running"} & {replay["status"] for replay in replays}
        return None if unfinished else [replay["status"] for replay in replays]

    return wait_until(ended, "the replays end", timeout_s=5 * PATIENCE_S, interval_s=1)  # type: ignore[return-value]


def processes() -> dict[str, int]:
    """Return the number of processes of each kind, without the one that starts them."""
    numbers = re.findall(r"--queues, (\w+), --processes, \"(\d+)\"", (ROOT / "deploy/compose.yaml").read_text())
    return {"web": Settings().web_processes} | {kind: int(number) for kind, number in numbers}


def peaks_mib(child: ChildProcess) -> Iterator[int]:
    """Yield the largest resident memory that a process and its children have had, the process first."""
    waiting = [child.pid]
    while waiting:
        pid = waiting.pop()
        try:
            waiting += children_of(pid)
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:  # it has ended
            continue
        if peak := re.search(r"VmHWM:\s+(\d+) kB", status):
            yield int(peak[1]) // 1024


def container_mib(child: ChildProcess) -> int:
    """Return what a container needs if each of its processes needs as much as the largest one."""
    first, *others = peaks_mib(child)
    return first + max(others, default=0) * processes().get(kind_of(child), 0)


def kind_of(child: ChildProcess) -> str:
    return child.name.partition(".")[0]


@pytest.mark.services
def test_each_container_stays_below_the_memory_of_its_manifests(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    limits, peaks = limits_mib(), defaultdict[str, int](int)
    settings = {"REPRISE_RATE_LIMIT": "1000000", "REPRISE_INGEST_WAIT_S": str(PATIENCE_S)}
    with (
        empty_servers(request) as urls,
        Deployment(tmp_path / "home", **urls, web=1, workers=1, processes=1, settings=settings) as deployment,
    ):
        client = replace(deployment.client(), timeout_s=PATIENCE_S)
        prompt_id = client.post("/api/v1/prompts", {"name": "A prompt", "value": "Be helpful."}).json()["prompt"]["id"]

        def note() -> None:
            for child in deployment.processes():
                assert child.alive, f"{child.name}: {child.output_tail()}"
                peaks[kind_of(child)] = max(peaks[kind_of(child)], container_mib(child))

        note()
        before = dict(peaks)
        for path, body in batches(prompt_id):
            headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
            answer = client.post(path, body=gzip.compress(body, 1), headers=headers)
            assert answer.status in (200, 400, 413), answer.body
            note()
        rules = {"masking": [{"kind": "pattern", "value": "[0-9]{16}"}]}
        for policy, (path, body) in ((rules, masked_batch(prompt_id)), ({}, next(batches(prompt_id)))):
            assert client.request("PUT", "/api/v1/data-policy", payload=policy).status == 200
            assert send_together(client, path, body) <= {200, 503}
            note()
        ask_dearly(client, prompt_id)
        note()
        statuses = play_largest(client)
        note()

    print(f"MiB of each kind of container: {dict(peaks)}, limits: {limits}")
    assert set(peaks) == {"web", "runs", "spans", "replays", "webhooks", "clock"}
    assert statuses == ["needs_review"] * REPLAYS
    assert peaks["spans"] > before["spans"], "the batches were stored elsewhere"
    assert {kind: peak for kind, peak in peaks.items() if peak >= limits[kind]} == {}
