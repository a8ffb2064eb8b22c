"""A release under load: web and workers are restarted one after the other, and no caller notices."""

import os
import secrets
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import create_engine, text

from tests.support.deployment import WORKERS, Deployment, read_assignments
from tests.support.http_client import Answer, Client
from tests.support.process import ChildProcess, children_of
from tests.support.rotation import Rotation
from tests.support.waiting import wait_until

SETTINGS = {"REPRISE_RATE_LIMIT": "1000000", "REPRISE_METRICS_TOKEN": "watcher"}
TRACES = "/api/public/otel/v1/traces"
SPANS_PER_BATCH = 3
# The queues that the callers' requests need.
UNDER_LOAD = ("runs", "spans")
# What an exporter of traces sends again, after the pause that the answer names.
RETRYABLE = {429, 503}


class Load:
    """Callers, one connection a request, and what they were answered.

    Exporters send a batch again as long as the answer asks for it; no other caller tries again.
    """

    def __init__(self, deployment: Deployment) -> None:
        created = deployment.client().post("/api/v1/prompts", {"name": "A prompt", "value": "Be helpful."})
        self._prompt_id = created.json()["prompt"]["id"]
        self.rotation = Rotation(deployment.urls, read_assignments(deployment.home / "dev.env")["API_KEY"])
        self.answered: Counter[str] = Counter()
        self.batches = self.resent = 0
        self.failures: list[str] = []
        self._lock = threading.Lock()
        self._stop = threading.Event()
        calls = (self._ingest, self._ingest, self._render, self._run)
        self._threads = [threading.Thread(target=self._repeat, args=(call,)) for call in calls]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def go_on(self) -> None:
        """Until every kind of call was answered some more times."""
        before = Counter(self.answered)
        wait_until(
            lambda: (
                self.failures or all(self.answered[kind] > before[kind] + 3 for kind in ("ingest", "render", "run"))
            ),
            "more answers",
        )

    def _repeat(self, call: Any) -> None:
        while not self._stop.wait(0.05):
            call()

    def _post(self, path: str, payload: Any) -> Answer | None:
        """Return the next server's answer; note a failure and return None when there is none."""
        with self.rotation.client() as client:
            try:
                return client.post(path, payload)
            except OSError as error:
                self.failures.append(f"{path} {client.base_url}: {error!r}")
                return None

    def _note(self, kind: str, answer: Answer | None) -> None:
        if answer is None:
            return
        if answer.status == 200:
            with self._lock:
                self.answered[kind] += 1
        else:
            self.failures.append(f"{kind}: {answer.status} {answer.body[:300]!r}")

    def _ingest(self) -> None:
        trace_id, start = secrets.token_hex(16), time.time_ns()
        spans = [
            {
                "traceId": trace_id,
                "spanId": secrets.token_hex(8),
                "name": "chat",
                "startTimeUnixNano": str(start),
                "endTimeUnixNano": str(start + 1),
                "attributes": [{"key": "service.prompt.id", "value": {"intValue": self._prompt_id}}],
            }
            for _ in range(SPANS_PER_BATCH)
        ]
        batch = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
        with self._lock:
            self.batches += 1
        while (answer := self._post(TRACES, batch)) and answer.status in RETRYABLE:
            time.sleep(int(answer.headers["Retry-After"]))
            with self._lock:
                self.resent += 1
        self._note("ingest", answer)

    def _render(self) -> None:
        self._note("render", self._post(f"/api/v1/prompts/{self._prompt_id}/render", {}))

    def _run(self) -> None:
        question = {"id": self._prompt_id, "question": "Still there?", "productive": True}
        self._note("run", self._post("/api/v1/prompts/run", question))


@pytest.fixture
def deployment(tmp_path: Path, mysql_url: str, redis_url: str) -> Iterator[Deployment]:
    with Deployment(tmp_path, mysql_url=mysql_url, redis_url=redis_url, settings=SETTINGS, processes=1) as deployment:
        yield deployment


def reload(process: ChildProcess) -> None:
    """SIGHUP to gunicorn's master: new processes with the new code behind the same socket, then the old ones end."""
    before = set(children_of(process.pid))
    os.kill(process.pid, signal.SIGHUP)
    wait_until(lambda: (now := set(children_of(process.pid))) and not now & before, f"{process.name} to be reloaded")


def test_a_rolling_restart_fails_no_request(deployment: Deployment) -> None:
    before = stored_spans(deployment)
    with Load(deployment) as load:
        load.go_on()
        # Workers: SIGTERM, they finish what they have begun and hand back the rest.
        for child in (child for queue in UNDER_LOAD for child in deployment.workers[queue]):
            assert child.terminate() == 0, child.output_tail()
            load.go_on()
            child.start()
        # Web in place: the socket stays open.
        for web in deployment.webs:
            reload(web)
            load.go_on()
        # Web replaced, as a load balancer or an orchestrator does it.
        for web, url in zip(deployment.webs, deployment.urls, strict=True):
            load.rotation.drain(url)
            assert web.terminate() == 0, web.output_tail()
            load.go_on()
            web.start()
            load.rotation.add(url)
        load.go_on()
        # Workers of the other queues have nothing to do here: they end as well, and no new ones are waited for.
        for child in (child for queue in WORKERS if queue not in UNDER_LOAD for child in deployment.workers[queue]):
            assert child.terminate() == 0, child.output_tail()
    assert load.failures == []
    assert load.answered["ingest"] == load.batches
    acknowledged = load.batches * SPANS_PER_BATCH
    assert stored_spans(deployment) - before == acknowledged
    wait_until(lambda: counted(deployment, "stored") >= acknowledged, "all processes' metrics")
    assert counted(deployment, "duplicate") <= load.resent * SPANS_PER_BATCH


def stored_spans(deployment: Deployment) -> int:
    """Rows in the database, of which each span can have but one."""
    engine = create_engine(deployment.env["DATABASE_URL"].replace("mysql:", "mysql+mysqldb:", 1))
    with engine.connect() as connection:
        count = connection.scalar(text("SELECT COUNT(*) FROM spans"))
    engine.dispose()
    return int(count)


def counted(deployment: Deployment, outcome: str) -> float:
    """Return the number of spans that all processes counted, including ended ones."""
    answer = Client(deployment.url).get("/metrics", headers={"Authorization": "Bearer watcher"})
    families = text_string_to_metric_families(answer.body.decode())
    samples = next(family.samples for family in families if family.name == "reprise_spans")
    return sum(sample.value for sample in samples if sample.labels["outcome"] == outcome)
