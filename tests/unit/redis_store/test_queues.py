"""The messages in a queue with their age, as Dramatiq keeps them; and messages that a stopping worker leaves."""

import threading
import time
from collections.abc import Iterator
from unittest.mock import patch

import dramatiq
import fakeredis
import pytest

from app.concurrency.quotas import Quota
from app.metrics import Metrics, registry
from app.redis_store.broker import QUEUES, WakingBroker, build_broker, queues_without_workers, workers_seen
from app.redis_store.clients import connect
from app.redis_store.keys import QueueKeys
from app.redis_store.middleware import QueueMetrics
from app.redis_store.queues import QueueState, read_queues
from tests.support.waiting import wait_until

Counted = dict[tuple[str, ...], int]


@pytest.fixture
def client() -> fakeredis.FakeRedis:
    return fakeredis.FakeRedis(version=(7,))


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def broker(client: fakeredis.FakeRedis, metrics: Metrics) -> Iterator[WakingBroker]:
    broker = build_broker(client, client, QueueMetrics(metrics))
    yield broker
    broker.close()


def spans(client: fakeredis.FakeRedis) -> QueueState:
    (state,) = read_queues(client, ["spans"])
    return state


def counted(metrics: Metrics, metric: object) -> Counted:
    return {labels: by for (found, labels, _), by in metrics.pending().items() if found is metric}


def store(broker: WakingBroker, work: object = None, **options: object) -> dramatiq.Actor[[], None]:
    def actor() -> None:
        if callable(work):
            work()

    return dramatiq.actor(actor, broker=broker, queue_name="spans", actor_name="store", **options)


def test_an_empty_redis_has_empty_queues(client: fakeredis.FakeRedis) -> None:
    assert read_queues(client, QUEUES) == [QueueState(queue, 0, 0, 0, 0, 0.0, 0) for queue in QUEUES]


def test_messages_wait_and_the_oldest_has_an_age(broker: WakingBroker, client: fakeredis.FakeRedis) -> None:
    actor = store(broker)
    for age_s in (5, 90, 20):
        broker.enqueue(actor.message().copy(message_timestamp=int((time.time() - age_s) * 1000)))
    actor.send_with_options(delay=60_000)
    state = spans(client)
    assert (state.waiting, state.taken, state.delayed) == (3, 0, 1)
    assert 90 <= state.oldest_s < 180


def test_a_message_without_its_body_has_no_age(broker: WakingBroker, client: fakeredis.FakeRedis) -> None:
    store(broker).send()
    client.delete("dramatiq:spans.msgs")
    assert (spans(client).waiting, spans(client).oldest_s) == (1, 0.0)


def test_a_message_in_work_is_taken_by_a_worker(broker: WakingBroker, client: fakeredis.FakeRedis) -> None:
    begun, end = threading.Event(), threading.Event()
    store(broker, lambda: (begun.set(), end.wait(60))).send()
    worker = dramatiq.Worker(broker, worker_threads=1)
    worker.start()
    try:
        assert begun.wait(60)
        state = spans(client)
        assert (state.waiting, state.taken, state.workers) == (0, 1, 1)
    finally:
        end.set()
        worker.stop()


def test_a_stopped_worker_is_seen_no_longer(broker: WakingBroker, client: fakeredis.FakeRedis) -> None:
    store(broker)
    worker = dramatiq.Worker(broker, worker_threads=1)
    worker.start()
    wait_until(lambda: workers_seen(client, "spans"), "a worker")
    worker.stop()
    assert workers_seen(client, "spans") == 0


def test_queues_without_workers_need_two_round_trips(client: fakeredis.FakeRedis) -> None:
    with (
        patch.object(client, "execute_command", wraps=client.execute_command) as command,
        patch.object(client, "pipeline", wraps=client.pipeline) as pipeline,
    ):
        assert queues_without_workers(client, QUEUES) == list(QUEUES)
    assert (command.call_count, pipeline.call_count) == (1, 1)


@pytest.mark.slow
def test_a_stopping_worker_leaves_messages_to_others(broker: WakingBroker, client: fakeredis.FakeRedis) -> None:
    # Given a worker with an actor in work, that is asked to stop
    begun, end, done = threading.Event(), threading.Event(), threading.Event()
    actor = store(broker, lambda: (begun.set(), end.wait(60)))
    actor.send()
    stopping = dramatiq.Worker(broker, worker_threads=4)
    stopping.start()
    assert begun.wait(60)
    stop = threading.Thread(target=stopping.stop)
    stop.start()
    wait_until(lambda: broker.stopping, "the stop")
    # When a message arrives, and another process works on the queue
    other = build_broker(client, client)
    store(other, done.set).send()
    worker = dramatiq.Worker(other, worker_threads=1)
    worker.start()
    # Then that one gets it while the first goes on, alive
    try:
        assert done.wait(60)
        assert stop.is_alive()
        heartbeat = client.zscore("dramatiq:__heartbeats__", broker.broker_id)
        wait_until(lambda: client.zscore("dramatiq:__heartbeats__", broker.broker_id) > heartbeat, "a heartbeat")
    finally:
        end.set()
        stop.join()
        worker.stop()
        other.close()


def test_messages_wake_no_worker_that_stops(broker: WakingBroker, client: fakeredis.FakeRedis) -> None:
    idle = QueueKeys("spans").idle
    broker.queue("spans").fetch(Quota.within(1, 100), {})
    assert client.hkeys(idle) == [broker.broker_id.encode()]
    broker.stop_consuming()
    assert client.hkeys(idle) == []


def test_a_delayed_message_that_arrives_when_the_wait_has_ended_is_announced_by_the_next_one(
    broker: WakingBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    consumer, arrived = broker.consume("spans.DQ"), broker.delayed("spans.DQ")
    arrived.clear()
    with monkeypatch.context() as patched:
        patched.setattr(arrived, "wait", lambda _timeout_s: (False, arrived.set())[0])
        assert not consumer._wait()
    assert consumer._wait()


def test_messages_that_are_done_together_are_gone(broker: WakingBroker, client: fakeredis.FakeRedis) -> None:
    all_begun = threading.Barrier(8)
    actor = store(broker, lambda: all_begun.wait(60))
    for _ in range(24):
        actor.send()
    worker = dramatiq.Worker(broker, worker_threads=10)  # of which eight may be one organization's
    worker.start()
    try:
        wait_until(lambda: not client.hlen("dramatiq:spans.msgs"), "the end of all messages")
        assert (spans(client).waiting, spans(client).taken) == (0, 0)
    finally:
        worker.stop()


def test_a_late_worker_leaves_the_message_to_the_one_that_has_it_now(
    broker: WakingBroker, client: fakeredis.FakeRedis
) -> None:
    # Given a message that was taken for a dead worker's, and handed to another
    store(broker).send()
    late = next(broker.consume("spans", prefetch=2))
    assert late is not None
    client.delete(f"dramatiq:__acks__.{broker.broker_id}.spans")
    # When the first is done with it after all
    consumer = broker.consume("spans", prefetch=2)
    consumer.ack(late)
    # Then the other still has it
    assert client.hlen("dramatiq:spans.msgs") == 1


def test_a_wait_that_redis_forgets_is_no_outage(redis_url: str) -> None:
    """As when its clock is put back. Here the client's patience ends before the wait does."""
    clients = connect(redis_url, waiters=1, longest_wait_s=1)
    consumer = build_broker(clients.quick, clients.waiting).consume("spans")

    assert next(consumer) is None  # the first fetch waits for nothing
    assert next(consumer) is None
    assert clients.quick.ping()
    for client in (clients.quick, clients.waiting):
        client.close()


def fails() -> None:
    raise ValueError


@pytest.mark.parametrize(
    ("work", "retries", "outcomes", "retried", "dead"),
    [
        (lambda: None, 0, {("store", "done"): 1}, {}, {}),
        (fails, 0, {("store", "failed"): 1}, {}, {("store",): 1}),
        (fails, 2, {("store", "failed"): 3}, {("store",): 2}, {("store",): 1}),
    ],
    ids=["done", "given up", "given up after retries"],
)
def test_what_becomes_of_messages_is_counted(
    broker: WakingBroker,
    metrics: Metrics,
    work: object,
    retries: int,
    outcomes: Counted,
    retried: Counted,
    dead: Counted,
) -> None:
    actor = store(broker, work, max_retries=retries, min_backoff=1, max_backoff=1)
    worker = dramatiq.Worker(broker, worker_threads=1, worker_timeout=10)
    worker.start()
    actor.send()
    try:
        wait_until(lambda: counted(metrics, registry.MESSAGES) == outcomes, "the outcome")
        wait_until(lambda: counted(metrics, registry.DEAD_LETTERS) == dead, "the dead letter")
    finally:
        worker.stop()
    assert counted(metrics, registry.MESSAGE_RETRIES) == retried
    sums = [labels for metric, labels, part in metrics.pending() if metric is registry.MESSAGE_WAIT and part == "sum"]
    assert sums == [("spans",)]


@pytest.mark.slow
def test_threads_that_have_nothing_to_do_sleep_until_there_is_a_message_or_the_end(
    broker: WakingBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = threading.Semaphore(0)
    began = threading.Event()
    actor = store(broker, began.set)
    worker = dramatiq.Worker(broker, queues={"spans"}, worker_threads=4, worker_timeout=10)
    worker.start()
    wait_until(lambda: len(worker.work_queue.not_empty._waiters) == 4, "all four to sleep")
    queue_size = type(worker.work_queue)._qsize
    monkeypatch.setattr(type(worker.work_queue), "_qsize", lambda queue: looked.release() or queue_size(queue))

    # In the parent's way each of the four would look thirty times.
    assert not looked.acquire(timeout=0.3)
    actor.send()
    assert began.wait(60)
    assert looked.acquire(blocking=False)
    worker.stop()
    assert not any(thread.is_alive() for thread in worker.workers)
