"""Redis clients: one for commands, one for waiting. In the embedded mode both share a server in this process."""

from __future__ import annotations

from dataclasses import dataclass

import fakeredis
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

COMMAND_S = 5
# Longer than anybody blocks at a time (for the next piece of a run, or for a batch).
WAIT_MARGIN_S = 2
FOLLOWING_S = 10


@dataclass(frozen=True, slots=True)
class RedisClients:
    """`commands` answers or fails within seconds; `waiting` may block, and gives a Redis that hangs a little longer."""

    commands: redis.Redis
    waiting: redis.Redis


def connect(url: str, *, waiters: int, longest_wait_s: float) -> RedisClients:
    """Clients for `url`, or fakes for ""; `waiters` is how many threads may block at once, each for so long at most."""
    if not url:
        server = fakeredis.FakeServer()
        fake = fakeredis.FakeRedis(server=server, version=(7,))
        return RedisClients(fake, fake)
    commands = redis.Redis.from_url(
        url,
        socket_timeout=COMMAND_S,
        socket_connect_timeout=2,
        max_connections=1024,
        retry=_for_stale_connections(),
    )
    waiting = redis.Redis.from_url(
        url,
        socket_timeout=max(longest_wait_s, FOLLOWING_S) + WAIT_MARGIN_S,
        socket_connect_timeout=2,
        max_connections=max(1024, waiters + 64),
        retry=_for_stale_connections(),
    )
    return RedisClients(commands, waiting)


def _for_stale_connections() -> Retry:
    """One new connection for one that was closed. A Redis that does not answer is not asked again: callers wait."""
    return Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,))
