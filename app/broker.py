"""The Dramatiq broker: Redis, with consumers that wake at once instead of polling, and results to wait for."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import redis
from dramatiq import Broker, Message, Middleware, Worker
from dramatiq.broker import MessageProxy
from dramatiq.brokers.redis import RedisBroker, _RedisConsumer
from dramatiq.errors import ConnectionClosed
from dramatiq.middleware import AgeLimit, CurrentMessage, Retries, TimeLimit
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend

from app.coalesce import Coalescer
from app.errors import Unavailable

QUEUES = ("runs", "spans", "replays")
# A worker that has been silent for so long is dead: its messages go to the others.
HEARTBEAT_MS = 15_000
RESULT_TTL_MS = 600_000
# Senders' clocks are compared with workers' here, so that it is far longer than any of them is off. What is too old to
# be worth its work the row of a run or replay says, and a batch's body, which Redis keeps for a minute.
MAX_AGE_MS = 7 * 86_400_000
WAKE_S = 1
REPORT_S = 5
# Under load messages are fetched so often at most: several at a time cost little more than one.
FETCH_S = 0.005
WORKERS_KEY = "reprise:workers:{}"


def workers_seen(client: redis.Redis, queue: str) -> int:
    """How many processes have asked for messages of the queue within the last heartbeats."""
    return int(client.zcount(WORKERS_KEY.format(queue), _redis_now(client) - HEARTBEAT_MS / 1000, "+inf"))


def _redis_now(client: redis.Redis) -> float:
    """Seconds since 1970 by the one clock that all processes share."""
    seconds, microseconds = client.time()
    return float(seconds) + microseconds / 1_000_000


def build_broker(client: redis.Redis, waiting_client: redis.Redis, *further: Middleware) -> WakingBroker:
    """A broker on `client`; results are awaited on `waiting_client`, whose sockets must never time out."""
    results = Results(backend=RedisBackend(client=waiting_client), result_ttl=RESULT_TTL_MS)
    return WakingBroker(  # type: ignore[no-untyped-call]
        client=client,
        heartbeat_timeout=HEARTBEAT_MS,
        middleware=[
            AgeLimit(),
            TimeLimit(),
            Retries(),
            CurrentMessage(),
            results,
            HandBack(),
            *further,
        ],
    )


# KEYS: what this worker has fetched of the queue, and its messages; ARGV: their ids. Dramatiq's own takes one.
_ACK = """
for _, id in ipairs(ARGV) do
    if redis.call('SREM', KEYS[1], id) > 0 then redis.call('HDEL', KEYS[2], id) end
end
"""


class HandBack(Middleware):
    """A worker that stops takes no further messages: they would wait for its last actor to end.

    Dramatiq's consumers go on fetching meanwhile, so that their heartbeats do.
    """

    def before_worker_boot(self, broker: Broker, _worker: Worker) -> None:
        broker.stopping = False  # type: ignore[attr-defined]

    def before_worker_shutdown(self, broker: Broker, _worker: Worker) -> None:
        broker.stopping = True  # type: ignore[attr-defined]


class WakingBroker(RedisBroker):
    """Differs from its parent in how an idle or full consumer waits, and in when maintenance is done.

    The parent polls with pauses that grow to a second, prefetches two messages per thread (which may starve
    another worker), and looks after dead workers once in a thousand commands, which on a quiet queue is never.
    """

    stopping = False
    _next_maintenance = 0.0

    @property
    def consumer_class(self) -> type[_WakingConsumer]:
        return _WakingConsumer

    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 5000) -> Any:
        """Dramatiq asks for two messages per thread; one is what a thread can work on."""
        return super().consume(queue_name, prefetch if queue_name.endswith(".DQ") else max(1, prefetch // 2), timeout)

    def _should_do_maintenance(self, command: str) -> int:
        now = time.monotonic()
        if command != "fetch" or now < self._next_maintenance:
            return 0
        self._next_maintenance = now + WAKE_S
        return 1


class _WakingConsumer(_RedisConsumer):
    def __init__(self, broker: WakingBroker, queue_name: str, prefetch: int, timeout: int) -> None:
        super().__init__(broker, queue_name, prefetch, timeout)  # type: ignore[no-untyped-call]
        self._freed = threading.Event()
        self._client: redis.Redis = broker.client
        # Without the guard of `GuardedRedis`: see `_wait_for_message`.
        self._waiting = redis.Redis(connection_pool=broker.client.connection_pool)
        self._key = f"{broker.namespace}:{queue_name}"
        self._next_report = self._next_fetch = 0.0
        self._script = broker.client.register_script(_ACK)
        self._ack: Coalescer[str, None] = Coalescer(self._ack_all)

    def __next__(self) -> MessageProxy | None:
        """The next message, or None when the caller should look at its delayed messages and flags again."""
        if not self.message_cache:
            self._report()
            self._wait()
            self._pace()
            self.message_cache = self._fetch()
        if not self.message_cache:
            return None
        message = Message.decode(self.message_cache.pop(0))
        self.queued_message_ids.add(message.message_id)
        return MessageProxy(message)

    def _report(self) -> None:
        """Leave a sign of life for the queue: Dramatiq's own heartbeats name no queues."""
        if time.monotonic() < self._next_report or self.queue_name.endswith(".DQ") or self.broker.stopping:
            return
        self._next_report = time.monotonic() + REPORT_S
        key = WORKERS_KEY.format(self.queue_name)
        try:
            now = _redis_now(self._client)
            self._client.zadd(key, {self.broker.broker_id: now})
            self._client.zremrangebyscore(key, 0, now - HEARTBEAT_MS / 1000)
        except redis.RedisError as error:
            raise ConnectionClosed(error) from None

    def _fetch(self) -> list[bytes]:
        free = self.prefetch - self.outstanding_message_count
        if self.broker.stopping:
            free = 0  # asking for none is a heartbeat: what is still in work must not be taken for a dead worker's
        elif free <= 0:
            return []
        try:
            fetched = self.broker.do_fetch(self.queue_name, free)
        except redis.RedisError as error:
            raise ConnectionClosed(error) from None
        # Redis may have lost a message's body (a flush) and kept its id.
        return [data for data in fetched if data is not None]

    def _wait(self) -> None:
        if self.broker.stopping:
            time.sleep(WAKE_S / 4)
            return
        if self.outstanding_message_count >= self.prefetch:
            self._freed.clear()
            if self.outstanding_message_count >= self.prefetch:
                self._freed.wait(WAKE_S)
            return
        self._wait_for_message()

    def _wait_for_message(self) -> None:
        """Redis ends a wait by its wall clock. If that was put back meanwhile, the wait is not over for as long, and
        is given up like one that brought nothing: whether Redis answers at all, the fetch finds out."""
        try:
            # Rotating the list loses nothing, and blocks while it is empty. (fakeredis does not block in BLMOVE.)
            self._waiting.brpoplpush(self._key, self._key, WAKE_S)
        except redis.TimeoutError:
            return
        except redis.RedisError as error:
            raise ConnectionClosed(error) from None

    def _pace(self) -> None:
        time.sleep(max(0.0, self._next_fetch - time.monotonic()))
        self._next_fetch = time.monotonic() + FETCH_S

    def ack(self, message: MessageProxy) -> None:
        """As the parent's, in one round trip for all messages that are done at the same time."""
        try:
            self._ack(message.options["redis_message_id"])
        except (redis.RedisError, Unavailable) as error:
            raise ConnectionClosed(error) from None
        finally:
            self.queued_message_ids.discard(message.message_id)
            self._freed.set()

    def _ack_all(self, ids: Sequence[str]) -> list[None]:
        acks = f"{self.broker.namespace}:__acks__.{self.broker.broker_id}.{self.queue_name}"
        self._script([acks, f"{self._key}.msgs"], ids)
        return [None] * len(ids)

    def nack(self, message: MessageProxy) -> None:
        super().nack(message)  # type: ignore[no-untyped-call]
        self._freed.set()

    def close(self) -> None:
        """Take the sign of life back: whoever counts workers need not wait until it is too old."""
        with suppress(redis.RedisError):
            self._client.zrem(WORKERS_KEY.format(self.queue_name), self.broker.broker_id)
        super().close()
