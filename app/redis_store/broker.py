"""The Dramatiq broker on Redis, with results, and with consumers that are woken instead of polling.

It uses the undocumented parts of Dramatiq that `dramatiq_internals.py` has.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import redis
from dramatiq import Middleware
from dramatiq.middleware import AgeLimit, CurrentMessage, Retries, TimeLimit
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend

from app.redis_store import keys
from app.redis_store.consumers import HEARTBEAT_MS, DelayedConsumer, WakingConsumer, redis_now
from app.redis_store.dramatiq_internals import IdleThreads, MaintainedBroker
from app.redis_store.middleware import OrganizationPrefix, StopFetching
from app.redis_store.organization_queue import OrganizationQueue

REQUEST_QUEUES = ("runs", "spans", "replays")
"""The queues of requests: callers wait until their messages are done."""
QUEUES = (*REQUEST_QUEUES, "webhooks")
QUEUES_EMBEDDED = tuple(queue for queue in QUEUES if queue != "spans")
"""The embedded mode stores batches in the threads of their requests, so it has no queue of them."""
RESULT_TTL_MS = 600_000
# The age is the worker's clock minus the sender's, so the limit is far longer than clocks differ. Outdated work is
# recognized by the row of a run or replay, or by the body of a batch, which expires after a minute.
MAX_AGE_MS = 7 * 86_400_000
# Percent of a process' threads that are guaranteed to an organization.
SHARE_PERCENT = 25

OnDeferred = Callable[[str], None]


def workers_seen(client: redis.Redis, queue: str) -> int:
    """Count the processes that have asked for messages of the queue within the last heartbeats."""
    return int(client.zcount(keys.workers(queue), redis_now(client) - HEARTBEAT_MS / 1000, "+inf"))


def queues_without_workers(client: redis.Redis, queues: Sequence[str]) -> list[str]:
    """Return those of the queues for which `workers_seen` counts no process; two round trips, for a slow Redis."""
    since = redis_now(client) - HEARTBEAT_MS / 1000
    with client.pipeline(transaction=False) as pipe:
        for queue in queues:
            pipe.zcount(keys.workers(queue), since, "+inf")
        return [queue for queue, count in zip(queues, pipe.execute(), strict=True) if not count]


def build_broker(
    client: redis.Redis,
    waiting_client: redis.Redis,
    *further: Middleware,
    organization_share: int = SHARE_PERCENT,
    on_deferred: OnDeferred = lambda queue: None,
) -> WakingBroker:
    """Build a broker on `client`. Results are awaited on `waiting_client`, so its sockets must time out later."""
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
            StopFetching(),
            IdleThreads(),
            OrganizationPrefix(),
            *further,
        ],
    )


class WakingBroker(MaintainedBroker):
    """A Redis broker that wakes its consumers, and shares the threads of a process between organizations.

    Dramatiq's broker polls with pauses that grow to a second, prefetches two messages per thread (which may starve
    another worker), and looks for dead workers once in a thousand commands, which on a quiet queue is never.

    While others want threads, an organization has at most its share of a process' threads, `organization_share`
    percent. `on_deferred` is called with the name of each queue in which messages had to wait for that reason.
    """

    stopping = False

    def __init__(self, *, organization_share: int, on_deferred: OnDeferred, **options: Any) -> None:
        super().__init__(**options)  # type: ignore[no-untyped-call]
        self.organization_share = organization_share
        self.on_deferred = on_deferred
        self._queues: dict[str, OrganizationQueue] = {}
        self._delayed: dict[str, threading.Event] = {}
        # The ids of a queue's messages that are in work here. They outlive a consumer that loses its connection.
        self.held: defaultdict[str, set[str]] = defaultdict(set)

    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 5000) -> Any:
        """Return a consumer that prefetches one message per thread; Dramatiq asks for two."""
        if queue_name.endswith(".DQ"):
            return DelayedConsumer(self, queue_name, prefetch, timeout)
        return WakingConsumer(self, queue_name, max(1, prefetch // 2), timeout)

    def queue(self, name: str) -> OrganizationQueue:
        if name not in self._queues:
            self._queues[name] = OrganizationQueue(self.client, queue=name, consumer=self.broker_id)
        return self._queues[name]

    def delayed(self, queue_name: str) -> threading.Event:
        """Return the event that is set when this process puts a message into the queue of delayed messages."""
        return self._delayed.setdefault(queue_name, threading.Event())

    def stop_consuming(self) -> None:
        """Stop fetching messages, and wake consumers that wait for any."""
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
