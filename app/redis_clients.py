"""Redis clients: one for commands, one for waiting. In the embedded mode both share a server in this process."""

from __future__ import annotations

from dataclasses import dataclass

import fakeredis
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry


@dataclass(frozen=True, slots=True)
class RedisClients:
    """`commands` answers or fails within seconds; `waiting` may block as long as a caller waits for a result."""

    commands: redis.Redis
    waiting: redis.Redis


def connect(url: str, *, waiters: int) -> RedisClients:
    """Clients for `url`, or fakes for ""; `waiters` is how many threads may block at once."""
    if not url:
        server = fakeredis.FakeServer()
        fake = fakeredis.FakeRedis(server=server, version=(7,))
        return RedisClients(fake, fake)
    commands = redis.Redis.from_url(
        url,
        socket_timeout=5,
        socket_connect_timeout=2,
        max_connections=1024,
        # One new connection for a stale one; after that the caller is told at once.
        retry=Retry(NoBackoff(), 1),
    )
    waiting = redis.Redis.from_url(
        url,
        socket_timeout=None,
        socket_connect_timeout=2,
        max_connections=max(1024, waiters + 64),
        retry=Retry(NoBackoff(), 1),
    )
    return RedisClients(commands, waiting)
