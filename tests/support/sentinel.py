"""A throwaway Redis primary with a replica, watched by three Sentinels."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import redis
from redis.sentinel import Sentinel

from tests.support.process import ChildProcess
from tests.support.redis_server import BINARY, RedisServer
from tests.support.waiting import LOOPBACK, free_port, wait_until

SERVICE = "reprise"
SENTINELS = 3
# Milliseconds without an answer after which the Sentinels regard a primary as dead, and of a failover.
DOWN_AFTER_MS, FAILOVER_MS = 1000, 10_000


class SentinelProcess(ChildProcess):
    """Watches the primary at a port; two of three must agree that it is dead."""

    def __init__(self, folder: Path, primary_port: int) -> None:
        self.port = free_port()
        # Sentinels write down there what they learn.
        configuration = folder / f"sentinel-{self.port}.conf"
        configuration.write_text(
            f"port {self.port}\nbind {LOOPBACK}\ndir {folder}\n"
            f"sentinel monitor {SERVICE} {LOOPBACK} {primary_port} 2\n"
            f"sentinel down-after-milliseconds {SERVICE} {DOWN_AFTER_MS}\n"
            f"sentinel failover-timeout {SERVICE} {FAILOVER_MS}\n"
        )
        super().__init__(
            "redis-sentinel",
            [BINARY, str(configuration), "--sentinel"],
            log=folder / f"sentinel-{self.port}.log",
            ready=self._answers,
        )

    def others(self) -> int:
        """Count the replicas and the other Sentinels that it knows of."""
        with redis.Redis(port=self.port) as client:
            watched = client.sentinel_master(SERVICE)
        return int(watched["num-slaves"]) + int(watched["num-other-sentinels"])

    def _answers(self) -> bool:
        try:
            with redis.Redis(port=self.port) as client:
                return bool(client.ping())
        except redis.ConnectionError:
            return False


class WatchedRedis:
    """A primary and its replica, either of which may be killed, paused and started again."""

    def __init__(self, servers: list[RedisServer], sentinels: list[SentinelProcess]) -> None:
        self._servers, self._sentinels = servers, sentinels

    def url(self) -> str:
        """The URL that names the Sentinels."""
        return f"redis+sentinel://{','.join(f'{LOOPBACK}:{sentinel.port}' for sentinel in self._sentinels)}/{SERVICE}/0"

    def primary(self) -> RedisServer:
        """Return the server that the Sentinels name."""
        asked = Sentinel([(LOOPBACK, sentinel.port) for sentinel in self._sentinels], socket_timeout=1)
        _, port = asked.discover_master(SERVICE)
        return next(server for server in self._servers if server.port == port)

    def client(self) -> redis.Redis:
        """A connection to the primary; close it (it is a context manager)."""
        return self.primary().client()


@contextlib.contextmanager
def watched_redis() -> Iterator[WatchedRedis]:
    """Running servers; they and their files are gone after the block."""
    with tempfile.TemporaryDirectory(prefix="reprise-sentinel-") as name, contextlib.ExitStack() as started:
        folders = [Path(name, place) for place in ("primary", "replica")]
        for folder in folders:
            folder.mkdir()
        servers = [started.enter_context(RedisServer(folder)) for folder in folders]
        with servers[1].client() as client:
            client.replicaof(LOOPBACK, servers[0].port)
        sentinels = [started.enter_context(SentinelProcess(Path(name), servers[0].port)) for _ in range(SENTINELS)]
        wait_until(
            lambda: all(sentinel.others() == SENTINELS for sentinel in sentinels), "the Sentinels know each other"
        )
        yield WatchedRedis(servers, sentinels)
