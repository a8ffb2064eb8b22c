"""The processes of the embedded mode that store batches: they are stored there, and none is lost with one."""

from __future__ import annotations

import math
import os
import queue
import secrets
import signal
import socket
import sqlite3
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.metrics.readings import Increments, Readings
from app.metrics.registry import SPANS, STORING_PROCESSES, Labels, Metric
from app.process.storer_start import start_new
from app.process.storing import LATE, LOST, PROCESSES, StoringProcess, StoringProcesses
from app.redis_store.batches import BODY_S
from app.services.ingest.batch import BatchForm, BatchLost, Receipt
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.deployment import EmbeddedServer, read_assignments
from tests.support.exports import export, span
from tests.support.http_client import Answer, Client
from tests.support.process import children_of, pause, resume
from tests.support.waiting import wait_until
from tests.support.world import World


class Kept:
    """Keeps metrics as they come."""

    def __init__(self) -> None:
        self.counts: dict[Labels, int] = {}
        self.gauges: set[Metric] = set()
        self.processes: set[str] = set()

    def add(self, increments: Increments) -> None:
        for (metric, labels, _), by in increments.items():
            if metric.name == SPANS.name:
                self.counts[labels] = self.counts.get(labels, 0) + by

    def put_gauges(self, process: str, values: Mapping[tuple[Metric, Labels], float]) -> None:
        self.gauges |= {metric for metric, _ in values}
        self.processes.add(process)

    def total(self) -> Readings:
        return Readings({})


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def storing(world: World, kept: Kept) -> Iterator[StoringProcess]:
    process = StoringProcess(world.container.settings)
    process.start(kept)
    yield process
    process.stop()


@pytest.fixture
def two(world: World, kept: Kept) -> Iterator[StoringProcesses]:
    processes = StoringProcesses(world.container.settings, count=2)
    processes.start(kept)
    wait_until(lambda: all(process.load == 0 for process in processes.processes), "both")
    yield processes
    processes.stop()


def batch(world: World, spans: int = 1) -> bytes:
    named = {"service.prompt.id": world.prompt()}
    ids = [{"traceId": secrets.token_hex(16), "spanId": secrets.token_hex(8)} for _ in range(spans)]
    return export(*(span(named, **one) for one in ids))


def outcome(storing: StoringProcess | StoringProcesses, world: World, body: bytes) -> Receipt | str:
    """Return a batch's receipt, or why there is none."""
    try:
        return store(storing, world, body)[0]
    except BatchLost as lost:
        return str(lost)


def store(
    storing: StoringProcess | StoringProcesses, world: World, body: bytes, note: bytes = b""
) -> tuple[Receipt, bytes]:
    return storing(world.project_id, body, BatchForm(), note)


def refuse(_: socket.socket) -> subprocess.Popen[bytes]:
    """Start no process, as a system without memory for it."""
    raise BlockingIOError("Resource temporarily unavailable")


@EMBEDDED_CONTAINER
def test_a_batch_is_stored_by_the_process_and_counted_in_its_metrics(
    storing: StoringProcess, world: World, kept: Kept
) -> None:
    body = batch(world, 3)
    receipt, note = store(storing, world, body)

    assert (receipt, len(note)) == (Receipt("stored", stored=3), 3 * 24)
    assert world.count("spans") == 3
    assert store(storing, world, body, note) == (Receipt("stored", duplicates=3), note)
    wait_until(lambda: kept.counts.get(("duplicate",)) == 3, "the metrics of both")
    assert kept.counts["stored",] == 3
    wait_until(lambda: kept.gauges, "the gauges of the process")


@EMBEDDED_CONTAINER
def test_a_batch_that_is_refused_is_answered_as_by_this_process(storing: StoringProcess, world: World) -> None:
    receipt, note = store(storing, world, b"[1")
    assert (receipt, note) == world.container.services.ingest.store_repeatable(
        world.project_id, b"[1", BatchForm(), b""
    )
    assert receipt.outcome == "invalid"


@EMBEDDED_CONTAINER
def test_batches_that_come_twice_at_once_are_stored_once_by_two_processes(
    two: StoringProcesses, world: World, kept: Kept
) -> None:
    bodies = [batch(world, 20) for _ in range(12)]
    answers: queue.SimpleQueue[Receipt] = queue.SimpleQueue()
    threads = [
        threading.Thread(target=lambda body=body, storing=storing: answers.put(store(storing, world, body)[0]))
        for body in bodies
        for storing in two.processes
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wait_until(lambda: len(kept.processes) == 2 and kept.counts, "the gauges of both, and counts")
    assert "" not in kept.processes, "counts come without gauges"

    receipts = [answers.get() for _ in threads]
    assert {receipt.outcome for receipt in receipts} == {"stored"}
    assert sum(receipt.stored for receipt in receipts) == sum(receipt.duplicates for receipt in receipts) == 240
    assert world.count("spans") == 240


@EMBEDDED_CONTAINER
def test_a_batch_goes_to_the_process_with_the_fewest_in_work_and_to_none_that_has_died(
    two: StoringProcesses, world: World
) -> None:
    first, _ = two.processes
    died = first.pid
    pause(died)
    answers: queue.SimpleQueue[Receipt | str] = queue.SimpleQueue()
    held = threading.Thread(target=lambda: answers.put(outcome(two, world, batch(world))))
    held.start()
    wait_until(lambda: first.load == 1, "the first batch to be on its way")
    assert store(two, world, batch(world))[0].outcome == "stored"

    os.kill(died, signal.SIGKILL)
    held.join()
    assert answers.get() == LOST
    wait_until(lambda: first.load == math.inf or first.pid != died, "its end to be known")
    assert store(two, world, batch(world))[0].outcome == "stored"


@EMBEDDED_CONTAINER
def test_a_process_that_hangs_and_one_that_is_started_again_are_reported(
    two: StoringProcesses, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = two.processes
    assert two.states() == {"ready": 2, "starting": 0, "hanging": 0}

    monkeypatch.setattr("app.process.storing.HANGS_S", 0.1)
    pause(first.pid)
    held = threading.Thread(target=outcome, args=(first, world, batch(world)))
    held.start()
    wait_until(lambda: two.states() == {"ready": 1, "starting": 0, "hanging": 1}, "the batch to be late")

    with monkeypatch.context() as patched:
        patched.setattr("app.process.storing.start_new", refuse)
        os.kill(second.pid, signal.SIGKILL)
        wait_until(lambda: two.states() == {"ready": 0, "starting": 1, "hanging": 1}, "its end to be known")
    resume(first.pid)
    held.join()
    wait_until(lambda: two.states() == {"ready": 2, "starting": 0, "hanging": 0}, "both")


@EMBEDDED_CONTAINER
def test_a_batch_in_a_process_that_dies_is_refused_and_the_next_process_stores_it(
    storing: StoringProcess, world: World
) -> None:
    body = batch(world)
    assert store(storing, world, batch(world))[0].outcome == "stored"
    died = storing.pid
    pause(died)
    answers: queue.SimpleQueue[Receipt | str] = queue.SimpleQueue()
    asking = threading.Thread(target=lambda: answers.put(outcome(storing, world, body)))
    asking.start()
    wait_until(lambda: storing.idle == 0, "the batch to be on its way")
    os.kill(died, signal.SIGKILL)
    asking.join()

    assert answers.get() == LOST
    wait_until(lambda: outcome(storing, world, body) == Receipt("stored", stored=1), "the next process")
    assert storing.pid != died
    assert world.count("spans") == 2


@EMBEDDED_CONTAINER
@pytest.mark.parametrize("spans", [1, 10_000], ids=["small", "more than the buffers of a connection hold"])
def test_a_process_that_hangs_is_replaced_and_its_batch_stored_once_when_it_is_sent_again(
    world: World, kept: Kept, spans: int
) -> None:
    storing = StoringProcess(world.container.settings, batch_s=1)
    storing.start(kept)
    wait_until(lambda: storing.load == 0, "the process")
    body, hanging = batch(world, spans), storing.pid
    pause(hanging)
    assert outcome(storing, world, body) == LATE
    storing.batch_s = BODY_S
    wait_until(lambda: isinstance(outcome(storing, world, body), Receipt), "a process that stores it")
    assert storing.pid != hanging
    storing.stop()
    assert world.count("spans") == spans


@EMBEDDED_CONTAINER
def test_a_batch_waits_for_a_process_that_starts_more_slowly_than_a_batch_may(world: World, kept: Kept) -> None:
    storing = StoringProcess(world.container.settings, batch_s=1)
    starting, answers = storing.pid, queue.SimpleQueue[Receipt | str]()
    pause(starting)
    storing.start(kept)
    asking = threading.Thread(target=lambda: answers.put(outcome(storing, world, batch(world))))
    asking.start()
    with suppress(queue.Empty):
        raise AssertionError(answers.get(timeout=1.5))
    storing.batch_s = BODY_S
    resume(starting)
    asking.join()
    assert answers.get() == Receipt("stored", stored=1)
    assert storing.pid == starting
    storing.stop()


@EMBEDDED_CONTAINER
def test_a_process_that_never_begins_is_replaced(world: World, kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    storing = StoringProcess(world.container.settings)
    hanging = storing.pid
    pause(hanging)
    with monkeypatch.context() as patched:
        patched.setattr("app.process.storing.START_S", 0.1)
        storing.start(kept)
        assert outcome(storing, world, batch(world)) == LOST
    wait_until(lambda: storing.state == "ready", "the next process, though no batch comes")
    assert storing.pid != hanging
    assert outcome(storing, world, batch(world)) == Receipt("stored", stored=1)
    storing.stop()


@EMBEDDED_CONTAINER
def test_a_process_that_hangs_is_ended_with_its_user(world: World, kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.process.storing.END_S", 0.1)
    storing = StoringProcess(world.container.settings)
    storing.start(kept)
    wait_until(lambda: storing.load == 0, "the process")
    pause(storing.pid)
    storing.stop()
    assert not Path(f"/proc/{storing.pid}").exists()


@EMBEDDED_CONTAINER
def test_a_process_that_could_not_be_started_is_started_later(
    storing: StoringProcess, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[int] = []

    def refuse_twice(control: socket.socket) -> subprocess.Popen[bytes]:
        tries.append(1)
        return refuse(control) if len(tries) <= 2 else start_new(control)

    wait_until(lambda: storing.load == 0, "the first process")
    monkeypatch.setattr("app.process.storing.start_new", refuse_twice)
    os.kill(storing.pid, signal.SIGKILL)
    wait_until(lambda: len(tries) == 3 and storing.load == 0, "the next process")
    assert store(storing, world, batch(world))[0].outcome == "stored"


@EMBEDDED_CONTAINER
def test_no_batch_is_sent_to_a_process_that_is_not_ready(
    two: StoringProcesses, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = two.processes
    pid = second.pid
    with monkeypatch.context() as patched:
        patched.setattr("app.process.storing.start_new", refuse)
        os.kill(first.pid, signal.SIGKILL)
        wait_until(lambda: first.load == math.inf, "its end to be known")
        assert store(two, world, batch(world))[0].outcome == "stored"
    assert second.pid == pid
    wait_until(lambda: first.load == 0, "the next process")


def test_a_batch_that_outlasts_its_request_is_stored_and_known_when_it_is_sent_again(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path, settings={"REPRISE_INGEST_WAIT_S": "1"}) as server:
        (serving,) = children_of(server.process.pid)
        first = json_batch(server)
        wait_until(lambda: send(server, first).status == 200, "the first batch")
        body, before = json_batch(server), stored_spans(server)
        pause(*children_of(serving))
        try:
            assert [send(server, body).status for _ in range(3)] == [503] * 3
        finally:
            resume(*children_of(serving))
        wait_until(lambda: send(server, body).status == 200, "the batch")
        assert stored_spans(server) == before + 1


def test_the_process_ends_with_the_one_that_uses_it(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        (serving,) = children_of(server.process.pid)
        storing = children_of(serving)
        os.kill(serving, signal.SIGKILL)
        wait_until(lambda: not any(Path(f"/proc/{one}").exists() for one in storing), "their end")
        # The one that was killed is among them until it has been waited for.
        (next_serving,) = wait_until(
            lambda: [one for one in children_of(server.process.pid) if one != serving], "the next process that serves"
        )
        assert not set(wait_until(lambda: children_of(next_serving), "the next ones that store")) & set(storing)


def test_the_copy_of_a_server_has_none_of_its_signals_and_files(tmp_path: Path) -> None:
    """gunicorn writes the number of each signal to a descriptor, which is the database in the copy."""
    with EmbeddedServer(tmp_path) as server:
        (serving,) = children_of(server.process.pid)
        storing = children_of(serving)
        assert len(storing) == PROCESSES
        assert _caught(serving) > {signal.SIGWINCH, signal.SIGTERM}
        for one in storing:
            assert _caught(one) == set()
            files = [str(file.readlink()) for file in Path(f"/proc/{one}/fd").iterdir() if int(file.name) > 2]
            opened = sorted(file for file in files if not file.startswith("socket:"))
            assert {Path(file).name.partition("-")[0] for file in opened} <= {"reprise.db"}, opened
            for number in (signal.SIGWINCH, signal.SIGTERM, signal.SIGINT):
                os.kill(one, number)
        assert (status_of_a_batch(server), children_of(serving)) == (200, storing)


def json_batch(server: EmbeddedServer) -> bytes:
    prompt_id = int(read_assignments(server.home / "dev.env")["PROMPT_ID"])
    ids = {"traceId": secrets.token_hex(16), "spanId": secrets.token_hex(8)}
    return export(span({"service.prompt.id": prompt_id}, **ids))


def stored_spans(server: EmbeddedServer) -> int:
    with closing(sqlite3.connect(server.home / "reprise.db")) as connection:
        return int(connection.execute("SELECT count(*) FROM spans").fetchone()[0])


def send(server: EmbeddedServer, body: bytes) -> Answer:
    headers = {"Content-Type": "application/json"}
    return server.client().request("POST", "/api/public/otel/v1/traces", body=body, headers=headers)


def status_of_a_batch(server: EmbeddedServer) -> int:
    return send(server, json_batch(server)).status


def _caught(pid: int) -> set[int]:
    """The signals for which a process has a handler, without those of the C library's threads."""
    mask = int(Path(f"/proc/{pid}/status").read_text().partition("SigCgt:")[2].split()[0], 16)
    return {number for number in range(1, 32) if mask >> (number - 1) & 1}


def test_a_process_that_dies_in_a_server_is_replaced(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path, {"REPRISE_METRICS_TOKEN": "watcher"}) as server:
        (serving,) = children_of(server.process.pid)
        storing = children_of(serving)
        wait_until(lambda: _ready_in_metrics(server) == len(storing), "the metrics of all")
        os.kill(storing[0], signal.SIGKILL)
        wait_until(
            lambda: len(found := children_of(serving)) == len(storing) and storing[0] not in found, "the next process"
        )
        assert (status_of_a_batch(server), children_of(server.process.pid)) == (200, [serving])


def _ready_in_metrics(server: EmbeddedServer) -> float | None:
    body = Client(server.url).get("/metrics", headers={"Authorization": "Bearer watcher"}).body.decode()
    samples = [sample for family in text_string_to_metric_families(body) for sample in family.samples]
    found = {sample.labels["state"]: sample.value for sample in samples if sample.name == STORING_PROCESSES.name}
    return found.get("ready")
