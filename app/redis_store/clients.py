"""Redis clients: one for commands, one for what can do without, one for waiting. Embedded, all share a fake server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.client import Pipeline
from redis.connection import HiredisRespSerializer, PythonRespSerializer
from redis.retry import Retry
from redis.sentinel import Sentinel

from app.breaker import OutageBreaker
from app.redis_store.bounded import CutShort, bounded
from app.redis_store.own_counts import OwnCounts
from app.redis_store.watched_primary import PrimaryWatch, SentinelConnection
from config.servers import Sentinels

COMMAND_S = 5
# For callers that can do without the answer.
QUICK_S = 0.5
CONNECT_S = 2
# On top of the longest blocking command (for the next event of a run, or for a batch's result).
WAIT_MARGIN_S = 2
FOLLOWING_S = 10
# After a command that was not answered, one caller in so many seconds asks again; the others fail at once.
COOL_DOWN_S = 1.0
# Values from this size on are sent as they are.
UNCOPIED_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class RedisClients:
    """`commands` answers or fails within seconds, `quick` within half a second: for what goes on without Redis.

    `waiting` may block, and gives a Redis that hangs a little longer. `own` has what a process without a Redis counts
    by itself.
    """

    commands: redis.Redis
    quick: redis.Redis
    waiting: redis.Redis
    own: OwnCounts | None = None

    def close(self) -> None:
        """Close the connections that nobody uses."""
        for client in (self.commands, self.quick, self.waiting):
            client.connection_pool.disconnect(inuse_connections=False)


class GuardedRedis(redis.Redis):
    """Fails at once while Redis hangs: one caller at a time waits for the time-out.

    A dead Redis refuses connections at once, so that its callers fail fast by themselves.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.breaker = OutageBreaker(
            "Redis", is_outage=_is_outage, refusal=redis.ConnectionError, cool_down_s=COOL_DOWN_S
        )

    def execute_command(self, *args: Any, **options: Any) -> Any:
        with self.breaker.guard():
            return super().execute_command(*args, **options)  # type: ignore[no-untyped-call]

    def pipeline(self, transaction: bool = True, shard_hint: Any = None) -> Pipeline:
        made = _GuardedPipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)
        made.breaker = self.breaker
        return made


class _GuardedPipeline(Pipeline):
    breaker: OutageBreaker

    def execute(self, raise_on_error: bool = True) -> list[Any]:
        with self.breaker.guard():
            return super().execute(raise_on_error)


class CommandPacker(HiredisRespSerializer):
    """Packs commands by hiredis, but for those that set a large value, which it takes 1.5 ms a MB to copy."""

    def __init__(self) -> None:
        self._uncopied = PythonRespSerializer(UNCOPIED_BYTES - 1, _encoded)

    def pack(self, *command: Any) -> list[Any]:
        """Return the pieces of a command in Redis' protocol."""
        value = command[2] if len(command) > 2 else None
        if type(value) is bytes and len(value) >= UNCOPIED_BYTES:
            return list(self._uncopied.pack(*command))
        return list(super().pack(*command))


def _encoded(part: Any) -> bytes:
    return part if isinstance(part, bytes) else str(part).encode()


def _is_outage(error: BaseException) -> bool | None:
    """Tell a time-out from an error reply, which shows that Redis answers; other errors show neither."""
    if isinstance(error, redis.TimeoutError) and not isinstance(error, CutShort):
        return True
    return False if isinstance(error, redis.ResponseError) else None


def connect(url: str, *, waiters: int, longest_wait_s: float) -> RedisClients:
    """Clients for `url`, or fakes for ""; `waiters` is how many threads may block at once, each for so long at most."""
    if not url:
        # Imported here alone, because it takes 0.1 s, which a process that has a Redis need not wait.
        from app.redis_store.in_process import in_process_client

        client = in_process_client()
        return RedisClients(client, client, client, OwnCounts())
    return RedisClients(
        commands=_client(GuardedRedis, url, timeout_s=COMMAND_S, connect_s=CONNECT_S),
        quick=_client(GuardedRedis, url, timeout_s=QUICK_S, connect_s=QUICK_S),
        waiting=_client(
            redis.Redis,
            url,
            timeout_s=max(longest_wait_s, FOLLOWING_S) + WAIT_MARGIN_S,
            connect_s=CONNECT_S,
            connections=max(1024, waiters + 64),
            repeats=0,  # who has waited does not begin to wait anew
        ),
    )


def _client(
    kind: type[redis.Redis], url: str, *, timeout_s: float, connect_s: float, connections: int = 1024, repeats: int = 1
) -> redis.Redis:
    """Make a client that replaces a closed connection `repeats` times, and repeats no command that was not answered."""
    options: dict[str, Any] = {
        "socket_timeout": timeout_s,
        "socket_connect_timeout": connect_s,
        "max_connections": connections,
        "command_packer": CommandPacker(),
        "retry": Retry(NoBackoff(), repeats, supported_errors=(redis.ConnectionError,)),
    }
    sentinels = Sentinels.in_url(url)
    if sentinels is None:
        return _bounded(kind.from_url(url, **options))
    # Each new connection asks the Sentinels for the primary, and one that finds itself on a replica is closed. After a
    # Sentinel that does not answer the next one is asked, at once.
    once = {"socket_timeout": QUICK_S, "socket_connect_timeout": QUICK_S, "retry": Retry(NoBackoff(), 0)}
    sentinel = Sentinel(sentinels.addresses, sentinel_kwargs=once)
    client: redis.Redis = sentinel.master_for(
        sentinels.service,
        redis_class=kind,
        connection_class=SentinelConnection,
        watch=PrimaryWatch(sentinel, sentinels.service),
        db=sentinels.database,
        username=sentinels.username,
        password=sentinels.password,
        **options,
    )
    return _bounded(client)


def _bounded(client: redis.Redis) -> redis.Redis:
    """Let each wait of the client end; it has no connections yet."""
    pool = client.connection_pool
    pool.connection_class = bounded(pool.connection_class)
    return client
