"""Real processes die: acknowledged spans are stored exactly once, all others by the retry."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import pytest
from sqlalchemy import delete

from app.models.spans import spans
from app.redis_store.batches import Mailbox
from app.services.ingest.batch import BatchForm
from tests.support.deployment import PATIENT, Deployment
from tests.support.exports import export, span
from tests.support.http_client import Answer, Client
from tests.support.mariadb import MariaDB, mariadb_server
from tests.support.redis_server import RedisServer, redis_server
from tests.support.waiting import wait_until
from tests.support.world import World

TRACES = "/api/public/otel/v1/traces"
SPANS = 20


@dataclass(frozen=True)
class System:
    """A deployment with servers that a test may kill; its second web server waits long for a batch."""

    mariadb: MariaDB
    redis: RedisServer
    deployment: Deployment
    client: Client
    prompt_id: int

    def batch(self) -> bytes:
        trace_id = secrets.token_hex(16)
        listed = [
            span({"service.prompt.id": self.prompt_id}, traceId=trace_id, spanId=f"{n + 1:016x}") for n in range(SPANS)
        ]
        return export(*listed)

    def send(self, batch: bytes) -> Answer:
        return self.client.post(TRACES, body=batch, headers={"Content-Type": "application/json"})

    def send_until_stored(self, batch: bytes) -> None:
        """Retry as an exporter does: the same body, on 503 and on a lost connection."""

        def stored() -> bool:
            try:
                answer = self.send(batch)
            except OSError:
                return False
            assert answer.status in {200, 503}, answer.body
            assert answer.status == 200 or answer.headers["Retry-After"] == "1"
            return answer.status == 200

        wait_until(stored, "the batch to be stored")

    def read(self, path: str) -> Any:
        """The answer, asked again while it is 503: a restarted database has cut the connections to it."""

        def answer() -> Any:
            found = self.client.get(path)
            assert found.status in {200, 503}, found.body
            return found.json() if found.status == 200 else None

        return wait_until(answer, path)

    def spans(self) -> int:
        """Spans that the sessions of the prompt show."""
        entries = self.read(f"/api/v1/prompts/{self.prompt_id}/logs?limit=200&include=all")["entries"]
        sessions = [self.read(f"/api/v1/sessions/{entry['id']}") for entry in entries]
        return sum(len(turn["spans"]) for session in sessions for turn in session["turns"])


@pytest.fixture(scope="module")
def system(needs_mariadb: None, needs_redis: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    with (
        mariadb_server() as mariadb,
        mariadb.database() as mysql_url,
        redis_server() as redis,
        redis.database() as redis_url,
        Deployment(
            tmp_path_factory.mktemp("faults"),
            mysql_url=mysql_url,
            redis_url=redis_url,
            web=2,
            workers=1,
            processes=1,
            of_kind={"web.1": PATIENT},
        ) as deployment,
    ):
        client = deployment.client()
        created = client.post("/api/v1/prompts", {"name": "Faults", "value": "x"}).json()
        yield System(mariadb, redis, deployment, client, created["prompt"]["id"])


def while_the_database_hangs(system: System, act: Callable[[], None], *batches: bytes) -> list[Answer]:
    """Send the batches to a database that does not answer, `act`, let it go on; the answers."""
    system.mariadb.pause()
    try:
        with ThreadPoolExecutor(len(batches)) as pool:
            sent: list[Future[Answer]] = [pool.submit(system.send, batch) for batch in batches]
            threading.Event().wait(1)
            act()
            system.mariadb.resume()
            return [one.result() for one in sent]
    finally:
        system.mariadb.resume()


def check_stored_once(system: System, batch: bytes, before: int) -> None:
    system.send_until_stored(batch)
    assert system.spans() == before + SPANS


def test_a_worker_killed_in_the_middle_loses_nothing(system: System) -> None:
    before, batch = system.spans(), system.batch()
    worker = system.deployment.workers["spans"][0]

    [answer] = while_the_database_hangs(system, lambda: (worker.kill(), None)[1], batch)
    worker.start()

    assert answer.status == 503
    check_stored_once(system, batch, before)


def test_redis_flushed_in_the_middle_loses_nothing(system: System) -> None:
    before, batch = system.spans(), system.batch()

    while_the_database_hangs(system, lambda: (system.redis.client().flushall(), None)[1], batch)

    check_stored_once(system, batch, before)


def test_a_resend_while_the_first_is_in_work_joins_it(system: System) -> None:
    before, batch = system.spans(), system.batch()
    patient = replace(system, client=system.deployment.client(web=1))

    answers = while_the_database_hangs(patient, lambda: None, batch, batch, batch)

    assert [answer.status for answer in answers] == [200, 200, 200]
    assert system.spans() == before + SPANS


def test_a_client_that_gives_up_and_resends_gets_its_batch_stored_once(system: System) -> None:
    before, batch = system.spans(), system.batch()
    impatient = Client(system.client.base_url, system.client.api_key, timeout_s=0.5)
    system.mariadb.pause()
    try:
        with pytest.raises(TimeoutError):
            impatient.post(TRACES, body=batch, headers={"Content-Type": "application/json"})
    finally:
        system.mariadb.resume()

    check_stored_once(system, batch, before)


def test_redis_killed_is_503_and_the_retry_is_stored(system: System) -> None:
    before, batch = system.spans(), system.batch()

    system.redis.kill()
    answer = system.send(batch)
    system.redis.start()

    assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
    check_stored_once(system, batch, before)


def test_the_database_killed_is_503_and_the_retry_is_stored(system: System) -> None:
    before, batch = system.spans(), system.batch()

    system.mariadb.kill()
    answer = system.send(batch)
    system.mariadb.start()

    assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
    check_stored_once(system, batch, before)


def test_a_read_only_database_is_503_and_the_retry_is_stored(system: System) -> None:
    before, batch = system.spans(), system.batch()

    system.mariadb.execute("SET GLOBAL read_only = 1")
    try:
        answer = system.send(batch)
    finally:
        system.mariadb.execute("SET GLOBAL read_only = 0")

    assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
    check_stored_once(system, batch, before)


def test_a_worker_that_died_after_the_commit_leaves_no_duplicate(world: World) -> None:
    batch = export(span({"service.prompt.id": world.prompt()}, traceId=secrets.token_hex(16)))
    world.container.services.ingest.store(world.project_id, batch)

    assert world.send(batch).json == {"partialSuccess": {}}
    assert world.count("spans") == 1


@pytest.mark.parametrize("note", [b"1", bytes(24), bytes(24 * 3000)])
def test_redis_claiming_that_a_batch_was_stored_loses_nothing(world: World, note: bytes) -> None:
    batch = export(span({"service.prompt.id": world.prompt()}, traceId=secrets.token_hex(16)))
    key = Mailbox.key_of(world.project_id, "identity", batch)
    world.container.mailbox.done(key, "ticket", note=note)
    assert world.container.mailbox.read(key, "ticket") == (None, note)

    assert world.send(batch).json == {"partialSuccess": {}}
    assert world.count("spans") == 1


def test_a_batch_sent_again_after_a_span_of_it_was_removed_is_stored_again(world: World) -> None:
    prompt_id, trace_id = world.prompt(), secrets.token_hex(16)
    batch = export(*(span({"service.prompt.id": prompt_id}, traceId=trace_id, spanId=f"{n:016x}") for n in (1, 2)))
    world.send(batch)
    with world.container.database.write() as connection:
        # Only of this test: in other turns, such a span may have the bodies of others.
        of_test = (spans.c.trace_id == bytes.fromhex(trace_id), spans.c.span_id == bytes.fromhex(f"{2:016x}"))
        connection.execute(delete(spans).where(*of_test))

    assert world.send(batch).json == {"partialSuccess": {}}
    assert world.count("spans") == 2


def test_spans_that_were_refused_are_named_each_time_a_batch_is_sent(world: World) -> None:
    trace_id = secrets.token_hex(16)
    good = span({"service.prompt.id": world.prompt()}, traceId=trace_id, spanId="1" * 16)
    batch = export(good, span({}, traceId=trace_id, spanId="2" * 16))

    def answer() -> Any:
        """Asked again while it is 503, as an exporter does: on a busy machine a batch may not be stored in time."""
        found = world.send(batch)
        assert found.status_code in {200, 503}, found.text
        return found.json if found.status_code == 200 else None

    first, second = (wait_until(answer, "the batch to be stored") for _ in range(2))

    assert first == second
    assert first["partialSuccess"]["rejectedSpans"] == "1"


def test_a_message_asks_for_the_batch_again_when_redis_has_lost_its_body(world: World) -> None:
    receipt = world.container.services.ingest.store_claimed(
        world.project_id, "no such key", "no such ticket", BatchForm()
    )

    assert receipt.outcome == "unavailable"
