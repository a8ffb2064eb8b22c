"""The Dramatiq broker on Redis, with consumers that wake at once instead of polling, and with results.

It uses parts of Dramatiq that are not documented; `tests/unit/redis_store/test_broker_version.py` names the version.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import redis
from dramatiq import Message, Middleware
from dramatiq.broker import MessageProxy
from dramatiq.brokers.redis import RedisBroker, _RedisConsumer
from dramatiq.errors import ConnectionClosed
from dramatiq.middleware import AgeLimit, CurrentMessage, Retries, TimeLimit
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend

from app.coalesce import Forwarder
from app.redis_store import keys
from app.redis_store.middleware import HandBack, IdleThreads, Ownership, organization_of
from app.redis_store.organization_queue import OrganizationQueue
from app.shares import Quota

REQUEST_QUEUES = ("runs", "spans", "replays")
"""The queues that requests need: callers wait for the end of their messages."""
QUEUES = (*REQUEST_QUEUES, "webhooks")
QUEUES_EMBEDDED = tuple(queue for queue in QUEUES if queue != "spans")
"""Without the queue of batches, which the embedded mode stores in the threads of their requests."""
# A worker that has been silent for so long is dead: its messages go to the others.
HEARTBEAT_MS = 15_000
RESULT_TTL_MS = 600_000
# Far longer than the clocks of senders and workers differ, which are compared here. Whether work is out of date is told
# by the row of a run or replay, and by the body of a batch, which Redis keeps for a minute.
MAX_AGE_MS = 7 * 86_400_000
# How often a consumer that holds delayed messages looks whether one is due, and how long a full one waits for a thread.
LOOK_S = 1
# How often a consumer that nothing wakes asks Redis for messages, and tells it that its process lives.
BEAT_S = 3
REPORT_S = 5
# The shortest time between fetches: under load several messages at a time cost little more than one.
FETCH_S = 0.005
# Percent of a process' threads that are an organization's own.
SHARE = 25

OnDeferred = Callable[[str], None]


def workers_seen(client: redis.Redis, queue: str) -> int:
    """Count the processes that have asked for messages of the queue within the last heartbeats."""
    return int(client.zcount(keys.workers(queue), _redis_now(client) - HEARTBEAT_MS / 1000, "+inf"))


def _redis_now(client: redis.Redis) -> float:
    """Seconds since 1970 by the one clock that all processes share."""
    seconds, microseconds = client.time()
    return float(seconds) + microseconds / 1_000_000


def build_broker(
    client: redis.Redis,
    waiting_client: redis.Redis,
    *further: Middleware,
    organization_share: int = SHARE,
    on_deferred: OnDeferred = lambda queue: None,
) -> WakingBroker:
    """Build a broker on `client`; results are awaited on `waiting_client`, whose sockets must not time out earlier."""
    results = Results(backend=RedisBackend(client=waiting_client), result_ttl=RESULT_TTL_MS)
    return WakingBroker(
        organization_share=organization_share,
        on_deferred=on_deferred,
        client=client,
        namespace=keys.NAMESPACE,
        heartbeat_timeout=HEARTBEAT_MS,
        middleware=[
            AgeLimit(),
            TimeLimit(),
            Retries(),
            CurrentMessage(),
            results,
            HandBack(),
            IdleThreads(),
            Ownership(),
            *further,
        ],
    )


class WakingBroker(RedisBroker):
    """Differs from its parent in how an idle or full consumer waits, and in when maintenance is done.

    The parent polls with pauses that grow to a second, prefetches two messages per thread (which may starve
    another worker), and looks after dead workers once in a thousand commands, which on a quiet queue is never.

    An organization holds no more than its share of a process' threads, `organization_share` percent, while others
    want them; `on_deferred` is called with each queue in which messages had to wait for that.
    """

    stopping = False

    def __init__(self, *, organization_share: int, on_deferred: OnDeferred, **options: Any) -> None:
        super().__init__(**options)  # type: ignore[no-untyped-call]
        self.organization_share = organization_share
        self.on_deferred = on_deferred
        self._queues: dict[str, OrganizationQueue] = {}
        self._delayed: dict[str, threading.Event] = {}
        # The ids of a queue's messages that are in work here: they stay when a consumer loses its connection.
        self.held: defaultdict[str, set[str]] = defaultdict(set)

    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 5000) -> Any:
        """Prefetch one message per thread; Dramatiq asks for two."""
        if queue_name.endswith(".DQ"):
            return _DelayedConsumer(self, queue_name, prefetch, timeout)
        return _WakingConsumer(self, queue_name, max(1, prefetch // 2), timeout)

    def queue(self, name: str) -> OrganizationQueue:
        if name not in self._queues:
            self._queues[name] = OrganizationQueue(self.client, queue=name, consumer=self.broker_id)
        return self._queues[name]

    def delayed(self, queue_name: str) -> threading.Event:
        """Return the event that is set when this process has put a message into a queue of delayed ones."""
        return self._delayed.setdefault(queue_name, threading.Event())

    def stop_consuming(self) -> None:
        """Let consumers take no more messages, and end what they wait for."""
        self.stopping = True
        for event in list(self._delayed.values()):
            event.set()
        for queue in list(self._queues.values()):
            with suppress(redis.RedisError):
                queue.leave()
                queue.ack([], wake=True)

    def do_enqueue(self, queue_name: str, message_id: str, data: bytes) -> None:
        if queue_name.endswith(".DQ"):
            self._dispatch("enqueue")(queue_name, message_id, data)  # type: ignore[no-untyped-call]
            self.delayed(queue_name).set()
        else:
            self.queue(queue_name).put(message_id, data)

    def _should_do_maintenance(self, command: str) -> int:
        """Return 1 for each fetch: consumers do few, and only a fetch finds dead workers of its own queue."""
        return int(command == "fetch")


class _Consumer(_RedisConsumer):
    """Returns one by one the messages that `_fetch_next` gets."""

    def __next__(self) -> MessageProxy | None:
        """Return the next message, or None when the caller should look at its delayed messages and flags again."""
        try:
            self.message_cache = self.message_cache or self._fetch_next()
        except redis.RedisError as error:
            raise ConnectionClosed(error) from None
        if not self.message_cache:
            return None
        message: Message[object] = self.message_cache.pop(0)
        self.queued_message_ids.add(message.message_id)
        return MessageProxy(message)

    def _fetch_next(self) -> list[Message[object]]:
        raise NotImplementedError


class _WakingConsumer(_Consumer):
    """Fetches no more messages of an organization than `Quota` admits to the threads of this process."""

    def __init__(self, broker: WakingBroker, queue_name: str, prefetch: int, timeout: int) -> None:
        super().__init__(broker, queue_name, prefetch, timeout)  # type: ignore[no-untyped-call]
        self._client: redis.Redis = broker.client
        self._quota = Quota.within(prefetch, broker.organization_share)
        self._queue, self._held = broker.queue(queue_name), broker.held[queue_name]
        self._freed = threading.Event()
        self._next_report = self._next_fetch = self._next_heartbeat = 0.0
        # The first fetch waits for nothing.
        self._more, self._refusing = True, False
        self._ack: Forwarder[str] = Forwarder(self._ack_all)

    def _fetch_next(self) -> list[Message[object]]:
        self._report()
        if not self._wait() and time.monotonic() < self._next_heartbeat:
            return []
        self._pace()
        self._heartbeat()
        return self._fetch()

    def _report(self) -> None:
        """Record that this process works on the queue, since Dramatiq's own heartbeats name no queues."""
        if time.monotonic() < self._next_report or self.broker.stopping:
            return
        self._next_report = time.monotonic() + REPORT_S
        key = keys.workers(self.queue_name)
        now = _redis_now(self._client)
        self._client.zadd(key, {self.broker.broker_id: now})
        self._client.zremrangebyscore(key, 0, now - HEARTBEAT_MS / 1000)

    def _wait(self) -> bool:
        """Wait for messages, and for a thread that is free for them; returns whether there may be both."""
        if self.broker.stopping:
            self._queue.leave()
            time.sleep(LOOK_S / 4)
            return False
        if len(self._held) >= self._quota.capacity:
            self._freed.clear()
            return len(self._held) < self._quota.capacity or self._freed.wait(LOOK_S)
        return self._more or self._queue.wait(BEAT_S)

    def _pace(self) -> None:
        time.sleep(max(0.0, self._next_fetch - time.monotonic()))
        self._next_fetch = time.monotonic() + FETCH_S

    def _heartbeat(self) -> None:
        """Send Dramatiq's heartbeat, a fetch of no messages, so that messages in work are not given to others.

        It also puts back the messages of dead workers.
        """
        if time.monotonic() >= self._next_heartbeat:
            self._next_heartbeat = time.monotonic() + BEAT_S
            self.broker.do_fetch(self.queue_name, 0)

    def _fetch(self) -> list[Message[object]]:
        if self.broker.stopping or len(self._held) >= self._quota.capacity:
            return []
        held = self._held.copy()
        messages, more, deferred = self._queue.fetch(self._quota, Counter(map(organization_of, held)))
        self._held.update(message.options["redis_message_id"] for message in messages)
        taken = len(held) + len(messages)
        # From now on a thread that becomes free may be one for messages that were refused.
        self._refusing = taken >= self._quota.places
        # A thread that became free meanwhile has not woken this one.
        self._more = more or (self._refusing and len(self._held) < taken)
        if deferred:
            self.broker.on_deferred(self.queue_name)
        return messages

    def ack(self, message: MessageProxy) -> None:
        """Acknowledge a message, in one round trip with all others that are done at the same time."""
        try:
            self._release(message)
            self._ack(message.options["redis_message_id"])
        except redis.RedisError as error:
            raise ConnectionClosed(error) from None

    def _ack_all(self, ids: Sequence[str]) -> None:
        self._queue.ack(ids, wake=self._refusing)

    def nack(self, message: MessageProxy) -> None:
        try:
            self._release(message)
            self.broker.do_nack(self.queue_name, message.options["redis_message_id"])
            if self._refusing:
                self._queue.ack([], wake=True)
        except redis.RedisError as error:
            raise ConnectionClosed(error) from None

    def _release(self, message: MessageProxy) -> None:
        """Free the thread's share before Redis hears of it, which wakes processes that wait for it."""
        self._held.discard(message.options["redis_message_id"])
        self.queued_message_ids.discard(message.message_id)
        self._freed.set()

    def requeue(self, messages: Iterable[MessageProxy]) -> None:
        """Put back messages that this process has not begun, and wake other processes for them."""
        put_back = list(messages)
        super().requeue(put_back)  # type: ignore[no-untyped-call]
        for message in put_back:
            self._release(message)
        if put_back:
            self._queue.leave()
            self._queue.wake_for(message.options["redis_message_id"] for message in put_back)

    def close(self) -> None:
        """Remove the record of this process at once, so that it is not counted as a worker until it expires."""
        with suppress(redis.RedisError):
            self._client.zrem(keys.workers(self.queue_name), self.broker.broker_id)
            self._queue.leave()
        super().close()


class _DelayedConsumer(_Consumer):
    """Fetches messages that wait for their time, which are retries: those of this process as soon as there are any.

    Those of others, which may have died, are fetched with the heartbeat.
    """

    def __init__(self, broker: WakingBroker, queue_name: str, prefetch: int, timeout: int) -> None:
        super().__init__(broker, queue_name, prefetch, timeout)  # type: ignore[no-untyped-call]
        self._arrived = broker.delayed(queue_name)
        # The first fetch waits for nothing.
        self._arrived.set()
        self._next_heartbeat = 0.0

    def _fetch_next(self) -> list[Message[object]]:
        if not self._wait() and time.monotonic() < self._next_heartbeat:
            return []
        self._next_heartbeat = time.monotonic() + BEAT_S
        # To ask for none is a heartbeat.
        free = 0 if self.broker.stopping else max(0, self.prefetch - self.outstanding_message_count)
        # Redis may have lost a message's body (a flush) and kept its id.
        return [Message.decode(data) for data in self.broker.do_fetch(self.queue_name, free) if data is not None]

    def _wait(self) -> bool:
        """Wait for messages; returns whether there may be some that this process can hold."""
        if self.broker.stopping or self.outstanding_message_count >= self.prefetch:
            time.sleep(LOOK_S / 4)
            return False
        arrived = self._arrived.wait(LOOK_S if self.outstanding_message_count else BEAT_S)
        if arrived:  # a message that arrives after the time-out is told by the next wait
            self._arrived.clear()
        return arrived
