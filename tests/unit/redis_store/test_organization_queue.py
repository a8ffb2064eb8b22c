"""Messages of an organization that floods a queue keep no thread, and no place in line, from another's."""

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import dramatiq
import fakeredis
import pytest
import redis
from dramatiq import Message
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from app.concurrency.quotas import Quota
from app.redis_store.broker import build_broker
from app.redis_store.middleware import for_organization, organization_of
from app.redis_store.organization_queue import OrganizationQueue
from app.redis_store.queues import read_queues
from tests.support.redis_server import RedisServer
from tests.support.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.slow

THREADS = 5  # four places, and one more for others
QUEUE = "runs"


@pytest.fixture(params=["embedded", pytest.param("services", marks=pytest.mark.services)])
def client(request: pytest.FixtureRequest) -> Iterator[redis.Redis]:
    if request.param == "embedded":
        yield fakeredis.FakeRedis(version=(7,))
        return
    server: RedisServer = request.getfixturevalue("redis_server")
    with server.database() as url, redis.Redis.from_url(url) as client:
        yield client


class Process:
    """A worker process, and an actor that works until it is let go; `begun` are the organizations in work, in order."""

    def __init__(self, client: redis.Redis, threads: int = THREADS) -> None:
        self.broker = build_broker(client, client)
        self.begun: list[int] = []
        self.release = {number: threading.Event() for number in range(10)}

        def work(organization_id: int) -> None:
            self.begun.append(organization_id)
            assert self.release[organization_id].wait(60)

        self.actor = dramatiq.actor(work, broker=self.broker, queue_name=QUEUE, actor_name="work", max_retries=0)
        self.worker = dramatiq.Worker(self.broker, queues={QUEUE}, worker_threads=threads)

    def send(self, organization_id: int, count: int = 1) -> None:
        for _ in range(count):
            self.broker.enqueue(for_organization(self.actor.message(organization_id), organization_id))

    def close(self) -> None:
        for event in self.release.values():
            event.set()
        self.worker.stop()
        self.broker.close()


@contextmanager
def process(client: redis.Redis, threads: int = THREADS, *, start: bool = True) -> Iterator[Process]:
    made = Process(client, threads)
    if start:
        made.worker.start()
    try:
        yield made
    finally:
        made.close()


def waiting(client: redis.Redis) -> int:
    return next(state.waiting for state in read_queues(client, [QUEUE]))


def test_a_message_is_worked_on_while_a_thousand_of_another_organization_hang_before_it(client: redis.Redis) -> None:
    with process(client) as worker:
        worker.send(1, 1000)
        wait_until(lambda: len(worker.begun) == THREADS - 1, "all places to be taken")

        worker.send(2)

        wait_until(lambda: 2 in worker.begun, "the other organization's message")
        assert Counter(worker.begun) == {1: THREADS - 1, 2: 1}
        assert waiting(client) == 1000 - (THREADS - 1)


def test_what_waits_goes_on_as_soon_as_its_organization_has_a_place_again(client: redis.Redis) -> None:
    with process(client) as worker:
        worker.send(1, 30)
        wait_until(lambda: len(worker.begun) == THREADS - 1, "all places to be taken")
        worker.release[1].set()

        wait_until(lambda: len(worker.begun) == 30, "all messages")


@pytest.mark.parametrize("late", [False, True])
def test_a_thread_that_becomes_free_during_a_fetch_is_not_left_idle(
    client: redis.Redis, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    with process(client, start=False) as stopped:
        consumer = stopped.broker.consume(QUEUE, prefetch=2 * THREADS)
        stopped.send(1, THREADS)
        begun = [next(consumer) for _ in range(THREADS - 1)]
        queue, woken = stopped.broker.queue(QUEUE), []
        fetch = queue.fetch

        def fetch_while_one_ends(*args: Any) -> Any:
            fetched = fetch(*args) if late else None
            consumer.ack(begun.pop())
            monkeypatch.setattr(queue, "fetch", fetch)
            return fetched or fetch(*args)

        def wait(_timeout_s: int) -> bool:
            woken.append(bool(client.keys("*:wake:*")))
            return woken[-1] or len(woken) == 1  # the first, as after a message that another process has taken

        monkeypatch.setattr(queue, "fetch", fetch_while_one_ends)
        monkeypatch.setattr(queue, "wait", wait)
        first, second = next(consumer), next(consumer)

        assert (first is None, second is None) == (True, False)


def test_a_consumer_that_nothing_wakes_asks_for_messages_only_with_its_heartbeat(
    client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, asked = 1000.0, list[str]()
    monkeypatch.setattr("app.redis_store.consumers.BEAT_S", 0.01)
    monkeypatch.setattr("app.redis_store.consumers.time.monotonic", lambda: now)
    with process(client, start=False) as idle:
        consumers = [idle.broker.consume(name, prefetch=2 * THREADS) for name in (QUEUE, f"{QUEUE}.DQ")]
        queue, fetch, do_fetch = idle.broker.queue(QUEUE), idle.broker.queue(QUEUE).fetch, idle.broker.do_fetch
        monkeypatch.setattr(queue, "fetch", lambda *args: asked.append("messages") or fetch(*args))
        monkeypatch.setattr(idle.broker, "do_fetch", lambda name, *args: asked.append(name) or do_fetch(name, *args))

        for beat in range(3):
            now += beat
            asked.clear()
            assert [next(consumer) for consumer in consumers * 5] == [None] * 10
            assert asked == [QUEUE, "messages", f"{QUEUE}.DQ"]

        asked.clear()
        idle.send(1)
        idle.broker.enqueue(idle.actor.message(2), delay=1)
        assert [next(consumer).args for consumer in consumers] == [(1,), (2,)]
        assert asked == ["messages", f"{QUEUE}.DQ"]


def test_organizations_that_flood_a_queue_share_its_threads_alike(client: redis.Redis) -> None:
    with process(client, 10, start=False) as worker:
        worker.send(1, 100)
        worker.send(2, 100)
        worker.worker.start()

        wait_until(lambda: len(worker.begun) == 8, "all places to be taken")
        assert Counter(worker.begun) == {1: 4, 2: 4}


def test_a_process_with_threads_to_spare_accepts_what_another_one_refuses(client: redis.Redis) -> None:
    with process(client) as first:
        first.send(1, 20)
        wait_until(lambda: len(first.begun) == THREADS - 1, "all places of the first to be taken")
        with process(client) as second:
            wait_until(lambda: len(second.begun) == THREADS - 1, "all places of the second to be taken")
            first.send(2, 2)
            wait_until(lambda: (first.begun + second.begun).count(2) == 2, "the other organization's messages")


def test_a_message_wakes_one_of_the_idle_processes_and_the_next_message_another(client: redis.Redis) -> None:
    queues = [OrganizationQueue(client, queue=QUEUE, consumer=name) for name in "abc"]
    for queue in queues:
        queue.fetch(Quota.of(4, 25), {})
    woken = []
    for number in range(4):
        queues[0].put(f"1:{number}", b"{}")
        woken.append(sum(client.exists(f"dramatiq:{QUEUE}:wake:{name}") for name in "abc"))
    assert woken == [1, 2, 3, 3]


def test_messages_that_are_put_together_are_all_there_and_each_wakes_a_process(client: redis.Redis) -> None:
    queues = [OrganizationQueue(client, queue=QUEUE, consumer=name) for name in "abc"]
    for queue in queues:
        queue.fetch(Quota.of(4, 25), {})
    names = [str(number) for number in range(4)]
    queues[0]._put_all([(f"1:{name}", Message(QUEUE, "work", (), {}, {}, name).encode()) for name in names])

    assert [client.exists(f"dramatiq:{QUEUE}:wake:{name}") for name in "abc"] == [1, 1, 1]
    assert [message.message_id for message in queues[1].fetch(Quota.of(4, 25), {}).messages] == names


def test_of_messages_that_many_threads_put_none_is_lost(client: redis.Redis) -> None:
    queue = OrganizationQueue(client, queue=QUEUE, consumer="a")
    messages = {f"1:{number}": Message(QUEUE, "work", (), {}, {}, str(number)).encode() for number in range(400)}
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(queue.put, messages, messages.values()))

    fetched = queue.fetch(Quota.of(400, 25), {}).messages
    assert sorted(int(message.message_id) for message in fetched) == list(range(400))


def test_messages_of_ten_thousand_organizations_are_all_fetched_once(client: redis.Redis) -> None:
    queue = OrganizationQueue(client, queue=QUEUE, consumer="a")
    sent = [(f"{number}:{number}", str(number)) for number in range(10_000)]
    queue._put_all([(id_, Message(QUEUE, "work", (), {}, {}, name).encode()) for id_, name in sent])

    fetched = []
    while (answer := queue.fetch(Quota.of(800, 25), {})).messages:
        fetched += [message.message_id for message in answer.messages]
    assert sorted(fetched, key=int) == [name for _, name in sent]


def test_a_process_with_more_threads_than_a_fetch_returns_messages_fetches_again(client: redis.Redis) -> None:
    queue = OrganizationQueue(client, queue=QUEUE, consumer="a")
    queue._put_all([(f"1:{name}", Message(QUEUE, "work", (), {}, {}, str(name)).encode()) for name in range(1_001)])
    quota = Quota.of(2_000, 25)

    first = queue.fetch(quota, {})
    second = queue.fetch(quota, {1: len(first.messages)})
    assert (len(first.messages), first.more) == (1_000, True)
    assert (len(second.messages), second.more) == (1, False)


def test_what_a_process_leaves_behind_wakes_another_one(client: redis.Redis) -> None:
    first = OrganizationQueue(client, queue=QUEUE, consumer="first")
    for number in range(2):
        first.put(f"1:{number}", Message(QUEUE, "work", (), {}, {}, str(number)).encode())
    client.hset(f"dramatiq:{QUEUE}:idle", "second", ",")
    assert len(first.fetch(Quota.of(1, 25), {}).messages) == 1
    assert client.exists(f"dramatiq:{QUEUE}:wake:second")


def test_what_a_process_did_not_begin_another_one_does(client: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.redis_store.consumers.BEAT_S", 2 * PATIENCE_S)
    with process(client, start=False) as stopped, process(client, start=False) as alive:
        stopped.send(1)
        consumer = stopped.broker.consume(QUEUE, prefetch=2 * THREADS)
        taken = next(consumer)
        assert taken is not None
        alive.worker.start()
        consumer.requeue([taken])
        wait_until(lambda: alive.begun, "the message that was put back")


def test_a_process_that_stops_ends_what_its_consumers_wait_for_and_is_woken_no_more(
    client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.redis_store.consumers.BEAT_S", 2 * PATIENCE_S)
    idle = f"dramatiq:{QUEUE}:idle"
    with process(client, start=False) as stopped:
        consumers = [stopped.broker.consume(name, prefetch=2 * THREADS) for name in (QUEUE, f"{QUEUE}.DQ")]
        assert [next(consumer) for consumer in consumers] == [None, None]
        assert client.hlen(idle) == 1
        with ThreadPoolExecutor(2) as threads:
            waits = [threads.submit(next, consumer) for consumer in consumers]
            stopped.broker.stop_consuming()
            assert [wait.result(PATIENCE_S) for wait in waits] == [None, None]
        assert [next(consumer) for consumer in consumers] == [None, None]
        assert client.hlen(idle) == 0


def test_what_a_dead_process_had_begun_goes_on_whichever_queue_was_asked_last(client: redis.Redis) -> None:
    dead = build_broker(client, client)
    dead.declare_queue(QUEUE)
    with process(client, start=False) as alive:
        alive.send(1)
        assert len(dead.queue(QUEUE).fetch(Quota.of(4, 25), {}).messages) == 1
        client.zadd("dramatiq:__heartbeats__", {dead.broker_id: 1})

        # Both are asked within a second, the delayed messages first.
        alive.broker.do_fetch(f"{QUEUE}.DQ", 0)
        alive.broker.do_fetch(QUEUE, 0)

        assert len(alive.broker.queue(QUEUE).fetch(Quota.of(4, 25), {}).messages) == 1


def test_messages_without_an_organization_which_older_processes_send_are_worked_on(client: redis.Redis) -> None:
    with process(client, start=False) as worker:
        for _ in range(2):
            message = worker.actor.message(0).copy(options={"redis_message_id": "2b8f0c1e"})
            client.hset(f"dramatiq:{QUEUE}.msgs", "2b8f0c1e", message.encode())
            client.rpush(f"dramatiq:{QUEUE}", "2b8f0c1e")
        worker.worker.start()

        wait_until(lambda: worker.begun, "the message")


def test_a_message_that_is_tried_again_is_still_its_organizations(client: redis.Redis) -> None:
    with process(client, start=False) as worker:
        worker.broker.enqueue(for_organization(worker.actor.message(7), 7), delay=1)
        delayed = client.lrange(f"dramatiq:{QUEUE}.DQ", 0, -1)
        assert [organization_of(message_id.decode()) for message_id in delayed] == [7]  # type: ignore[union-attr]


def test_work_beyond_a_share_is_counted(client: redis.Redis) -> None:
    deferred: list[str] = []
    with process(client) as worker:
        worker.broker.on_deferred = deferred.append
        worker.send(1, THREADS - 1)
        wait_until(lambda: len(worker.begun) == THREADS - 1, "all places to be taken")
        assert not deferred
        worker.send(1)
        wait_until(lambda: deferred, "the message that has to wait")
        assert set(deferred) == {QUEUE}


@pytest.mark.parametrize(
    ("message_id", "organization_id"), [("7:2b8f", 7), ("2b8f-0c1e", 0), ("", 0), (":2b8f", 0), ("x:2b8f", 0)]
)
def test_an_organization_is_the_number_in_front_of_an_id(message_id: str, organization_id: int) -> None:
    assert organization_of(message_id) == organization_id


class Queue(RuleBasedStateMachine):
    """Two processes receive messages of some organizations from one queue, and end them in any order."""

    PROCESSES = ("one", "two")
    ORGANIZATIONS = st.integers(1, 5)
    quota = Quota.within(10, 25)

    def __init__(self) -> None:
        super().__init__()
        self.client = fakeredis.FakeRedis(version=(7,))
        self.queues = {name: OrganizationQueue(self.client, queue=QUEUE, consumer=name) for name in self.PROCESSES}
        self.sent = 0
        self.line: dict[int, list[str]] = {}
        self.held: dict[str, list[str]] = {name: [] for name in self.PROCESSES}
        self.refusing = dict.fromkeys(self.PROCESSES, False)
        self.awake = dict.fromkeys(self.PROCESSES, True)

    @rule(organization_id=ORGANIZATIONS, count=st.integers(1, 9))
    def send(self, organization_id: int, count: int) -> None:
        for _ in range(count):
            self.sent += 1
            message_id = f"{organization_id}:{self.sent}"
            message = Message(QUEUE, "work", (), {}, {"redis_message_id": message_id}, message_id)
            self.queues["one"].put(message_id, message.encode())
            self.line.setdefault(organization_id, []).append(message_id)

    @rule(name=st.sampled_from(PROCESSES))
    def fetch(self, name: str) -> None:
        before = self._taken(name)
        if len(self.held[name]) >= self.quota.capacity:
            return
        fetched = self.queues[name].fetch(self.quota, before)
        for message in fetched.messages:
            message_id = message.options["redis_message_id"]
            assert self.line[organization_of(message_id)].pop(0) == message_id
            self.held[name].append(message_id)
        self.refusing[name] = len(self.held[name]) >= self.quota.places
        self.awake[name] = False
        assert not self._admissible(name)

    @rule(name=st.sampled_from(PROCESSES), data=st.data())
    def end(self, name: str, data: st.DataObject) -> None:
        if not self.held[name]:
            return
        message_id = data.draw(st.sampled_from(self.held[name]))
        full = len(self.held[name]) >= self.quota.capacity
        self.held[name].remove(message_id)
        self.queues[name].ack([message_id], wake=self.refusing[name])
        self.awake[name] |= full  # as its threads report to the consumer

    def _taken(self, name: str) -> dict[int, int]:
        return dict(Counter(map(organization_of, self.held[name])))

    def _admissible(self, name: str) -> list[int]:
        held, taken = self._taken(name), len(self.held[name])
        return [
            one for one, line in self.line.items() if line and self.quota.admits(taken=taken, held=held.get(one, 0))
        ]

    @invariant()
    def no_process_holds_more_than_its_threads_and_those_over_their_shares_leave_the_reserve(self) -> None:
        for name in self.PROCESSES:
            held = self._taken(name)
            assert sum(held.values()) <= self.quota.capacity
            assert sum(number for number in held.values() if number > self.quota.share) <= self.quota.places

    @invariant()
    def not_all_processes_sleep_while_there_is_something_for_one(self) -> None:
        told = [self.awake[name] or self.client.exists(f"dramatiq:{QUEUE}:wake:{name}") for name in self.PROCESSES]
        assert any(told) or not any(map(self._admissible, self.PROCESSES))

    @invariant()
    def every_message_is_in_line_or_in_work(self) -> None:
        kept = self.client.hlen(f"dramatiq:{QUEUE}.msgs")
        assert kept == sum(map(len, self.line.values())) + sum(map(len, self.held.values()))


TestQueue = Queue.TestCase
TestQueue.settings = settings(max_examples=60, stateful_step_count=40)
