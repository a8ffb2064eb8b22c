"""The consumers of the broker, which are woken instead of polling."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import redis
from dramatiq import Message
from dramatiq.broker import MessageProxy
from dramatiq.errors import ConnectionClosed

from app.concurrency.batching import Forwarder
from app.concurrency.quotas import Quota
from app.redis_store import keys
from app.redis_store.dramatiq_internals import Consumer
from app.redis_store.middleware import organization_of

if TYPE_CHECKING:
    from app.redis_store.broker import WakingBroker

# A worker without a heartbeat for this long is dead: its messages go to the others.
HEARTBEAT_MS = 15_000
# How often a consumer with delayed messages checks whether one is due, and how long a full one waits for a thread.
LOOK_S = 1
# How often a consumer that is not woken asks Redis for messages and sends a heartbeat.
BEAT_S = 3
REPORT_S = 5
# The shortest time between fetches: under load, several messages at a time cost little more than one.
FETCH_S = 0.005


def redis_now(client: redis.Redis) -> float:
    """Return the seconds since 1970 by Redis' clock, which all processes share."""
    seconds, microseconds = client.time()
    return float(seconds) + microseconds / 1_000_000


class _Consumer(Consumer):
    """Returns the messages that `_fetch_next` fetched, one at a time."""

    def __next__(self) -> MessageProxy | None:
        """Return the next message, or None when the caller should check its delayed messages and flags again."""
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


class WakingConsumer(_Consumer):
    """Fetches as many messages of an organization as a `Quota` of this process' threads admits."""

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
        """Record that this process works on the queue, because Dramatiq's heartbeats do not name queues."""
        if time.monotonic() < self._next_report or self.broker.stopping:
            return
        self._next_report = time.monotonic() + REPORT_S
        key = keys.workers(self.queue_name)
        now = redis_now(self._client)
        self._client.zadd(key, {self.broker.broker_id: now})
        self._client.zremrangebyscore(key, 0, now - HEARTBEAT_MS / 1000)

    def _wait(self) -> bool:
        """Wait for messages and for a free thread; return whether there may be both."""
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
        """Send Dramatiq's heartbeat, so that messages in work are not given to other workers.

        The heartbeat is a fetch of no messages. It also requeues the messages of dead workers.
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
        # From now on a thread that becomes free wakes this consumer: messages may have been refused for want of it.
        self._refusing = taken >= self._quota.places
        # A thread that became free before that has not woken it.
        self._more = more or (self._refusing and len(self._held) < taken)
        if deferred:
            self.broker.on_deferred(self.queue_name)
        return messages

    def ack(self, message: MessageProxy) -> None:
        """Acknowledge a message, in one round trip with all messages that end at the same time."""
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
        """Free the thread here before Redis is informed, which wakes the processes that wait for a thread."""
        self._held.discard(message.options["redis_message_id"])
        self.queued_message_ids.discard(message.message_id)
        self._freed.set()

    def requeue(self, messages: Iterable[MessageProxy]) -> None:
        """Requeue messages that this process has not begun, and wake other processes for them."""
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


class DelayedConsumer(_Consumer):
    """Fetches delayed messages, which are retries: as soon as this process has sent one.

    The messages of other processes, which may have died, are fetched with the heartbeat.
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
        # A fetch of 0 messages is a heartbeat.
        free = 0 if self.broker.stopping else max(0, self.prefetch - self.outstanding_message_count)
        # Redis may have lost a message's body (a flush) and kept its id.
        return [Message.decode(data) for data in self.broker.do_fetch(self.queue_name, free) if data is not None]

    def _wait(self) -> bool:
        """Wait for messages; return whether there may be any, and room for them."""
        if self.broker.stopping or self.outstanding_message_count >= self.prefetch:
            time.sleep(LOOK_S / 4)
            return False
        arrived = self._arrived.wait(LOOK_S if self.outstanding_message_count else BEAT_S)
        if arrived:  # after a time-out the event is not cleared: a message may arrive right now
            self._arrived.clear()
        return arrived
