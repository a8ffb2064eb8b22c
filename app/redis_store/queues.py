"""Reads the state of each queue from Redis: its messages, the age of the oldest one, and its number of workers."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

import orjson
import redis

from app.redis_store.broker import workers_seen
from app.redis_store.keys import QueueKeys
from app.redis_store.organization_queue import lists_of

# Both ends of a list are read. It is nearly in order of age: retries, and messages of dead workers, are added at an
# end.
_SAMPLE = 20


@dataclass(frozen=True, slots=True)
class QueueState:
    """Numbers of messages: waiting, in work, delayed, and dead (without further retries, kept for 7 days).

    `oldest_s` is the age of the oldest waiting message, 0 without any; `workers` is the number of processes.
    """

    queue: str
    waiting: int
    taken: int
    delayed: int
    dead: int
    oldest_s: float
    workers: int


def read_queues(client: redis.Redis, queues: Iterable[str]) -> list[QueueState]:
    """Return the state of each queue; may raise `redis.RedisError`."""
    return [_read(client, queue, time.time()) for queue in queues]


def _read(client: redis.Redis, queue: str, now_s: float) -> QueueState:
    keys = QueueKeys(queue)
    lists = lists_of(client, keys)
    with client.pipeline(transaction=False) as pipe:
        pipe.hlen(keys.messages)
        pipe.hlen(keys.delayed_messages)
        pipe.zcard(keys.dead)
        for name in lists:
            pipe.llen(name)
            pipe.lrange(name, 0, _SAMPLE - 1)
            pipe.lrange(name, -_SAMPLE, -1)
        kept, delayed, dead, *replies = pipe.execute()
    waiting = sum(replies[::3])
    ids = [*{message_id for sample in (*replies[1::3], *replies[2::3]) for message_id in sample}]
    messages = client.hmget(keys.messages, ids) if ids else []
    made = [orjson.loads(message)["message_timestamp"] / 1000 for message in messages if message]
    oldest_s = max(0.0, now_s - min(made, default=now_s))
    return QueueState(queue, waiting, max(0, kept - waiting), delayed, dead, oldest_s, workers_seen(client, queue))
