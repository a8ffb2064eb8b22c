"""Redis clients: for commands, for optional commands, and for waiting. In the embedded mode all use a fake server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.client import Pipeline
from redis.connection import HiredisRespSerializer, PythonRespSerializer
from redis.retry import Retry
from redis.sentinel import Sentinel

from app.concurrency.breaker import OutageBreaker
from app.redis_store.bounded import CutShort, bounded
from app.redis_store.local_counts import LocalCounts
from app.redis_store.watched_primary import PrimaryWatch, SentinelConnection
from config.servers import Sentinels

COMMAND_S = 5
# For callers that go on without a reply.
QUICK_S = 0.5
CONNECT_S = 2
# Added to the longest blocking command (for the next event of a run, or for a batch's result).
WAIT_MARGIN_S = 2
FOLLOWING_S = 10
# After a command without a reply, one caller per this many seconds tries again; the others fail immediately.
COOL_DOWN_S = 1.0
UNCOPIED_BYTES = 64 * 1024
"""Least bytes of a value that is sent without a copy, such as the body of a batch."""


@dataclass(frozen=True, slots=True)
class RedisClients:
    """`commands` replies or fails within seconds; `quick` within half a second, for callers that go on without Redis.

    `waiting` may block, and waits a little longer for a Redis that hangs. `local` has the counts of a process without
    Redis.
    """

    commands: redis.Redis
    quick: redis.Redis
    waiting: redis.Redis
    local: LocalCounts | None = None

    def close(self) -> None:
        """Close the connections that are not in use."""
        for client in (self.commands, self.quick, self.waiting):
            client.connection_pool.disconnect(inuse_connections=False)


class GuardedRedis(redis.Redis):
    """Fails immediately while Redis hangs: only one caller at a time waits for the time-out.

    A dead Redis refuses connections, so its callers fail fast without this class.
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
    """Packs commands with hiredis. A command that sets a large value is not: hiredis copies 1 MB in 1.5 ms."""

    def __init__(self) -> None:
        self._uncopied = PythonRespSerializer(UNCOPIED_BYTES - 1, _encoded)

    def pack(self, *command: Any) -> list[Any]:
        """Return the pieces of a command in Redis' protocol."""
        value = command[2] if len(command) > 2 else None
        is_large = type(value) is bytes and len(value) >= UNCOPIED_BYTES
        return list(self._uncopied.pack(*command) if is_large else super().pack(*command))


def _encoded(part: Any) -> bytes:
    return part if isinstance(part, bytes) else str(part).encode()


def _is_outage(error: BaseException) -> bool | None:
    """Return True for a time-out, False for an error reply, which shows that Redis answers, and None otherwise."""
    if isinstance(error, redis.TimeoutError) and not isinstance(error, CutShort):
        return True
    return False if isinstance(error, redis.ResponseError) else None


def connect(url: str, *, waiters: int, longest_wait_s: float) -> RedisClients:
    """Return clients for `url`, or fakes for "". At most `waiters` threads block at once, for `longest_wait_s` each."""
    if not url:
        # Imported only here: the import of 0.1 s would be in vain in a process that has a Redis.
        from app.redis_store.in_process import in_process_client

        client = in_process_client()
        return RedisClients(client, client, client, LocalCounts())
    return RedisClients(
        commands=_client(GuardedRedis, url, timeout_s=COMMAND_S, connect_s=CONNECT_S),
        quick=_client(GuardedRedis, url, timeout_s=QUICK_S, connect_s=QUICK_S),
        waiting=_client(
            redis.Redis,
            url,
            timeout_s=max(longest_wait_s, FOLLOWING_S) + WAIT_MARGIN_S,
            connect_s=CONNECT_S,
            connections=max(1024, waiters + 64),
            repeats=0,  # a blocking read that timed out has waited its full time
        ),
    )


def _client(
    kind: type[redis.Redis], url: str, *, timeout_s: float, connect_s: float, connections: int = 1024, repeats: int = 1
) -> redis.Redis:
    """Make a client that replaces a closed connection `repeats` times. A command without a reply is not repeated."""
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
    # Each new connection asks the Sentinels for the primary; a connection to a replica is closed. When a Sentinel does
    # not answer, the next one is asked without a retry.
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
    """Limit each wait of the client, which must not have connections yet."""
    pool = client.connection_pool
    pool.connection_class = bounded(pool.connection_class)
    return client
