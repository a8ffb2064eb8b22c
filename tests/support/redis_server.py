"""A throwaway `redis-server` on a free port."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import redis

from tests.support.process import ChildProcess
from tests.support.waiting import LOOPBACK, free_port

BINARY = "redis-server"
DATABASES = 256


class RedisServer(ChildProcess):
    """Keeps nothing over a restart unless `durable`; then it writes an append-only file.

    `environment` has further variables for it.
    """

    def __init__(self, folder: Path, *, durable: bool = False, environment: Mapping[str, str] | None = None) -> None:
        self.port = free_port()
        self._free = list(range(DATABASES))
        # fmt: off
        super().__init__("redis-server", [
            BINARY, "--port", str(self.port), "--bind", LOOPBACK, "--dir", str(folder), "--save", "",
            "--databases", str(DATABASES), "--maxmemory-policy", "noeviction",
            "--appendonly", "yes" if durable else "no",
        ], log=folder / "redis.log", ready=self._answers, env={**os.environ, **(environment or {})})
        # fmt: on

    def url(self, database: int = 0) -> str:
        return f"redis://{LOOPBACK}:{self.port}/{database}"

    def client(self, database: int = 0) -> redis.Redis:
        """A new connection; close it (it is a context manager)."""
        return redis.Redis(host=LOOPBACK, port=self.port, db=database)

    @contextlib.contextmanager
    def database(self) -> Iterator[str]:
        """The URL of an empty logical database that no other test gets meanwhile."""
        number = self._free.pop(0)
        with self.client(number) as client:
            client.flushdb()
        try:
            yield self.url(number)
        finally:
            self._free.append(number)

    def _answers(self) -> bool:
        try:
            with self.client() as client:
                return bool(client.ping())
        except redis.ConnectionError:  # also while it loads its file
            return False


def missing() -> str | None:
    """Return what this machine lacks to run Redis, or None."""
    return None if shutil.which(BINARY) else f"{BINARY} is not installed"


@contextlib.contextmanager
def redis_server(*, durable: bool = False, environment: Mapping[str, str] | None = None) -> Iterator[RedisServer]:
    """A running server; it and its files are gone after the block."""
    with (
        tempfile.TemporaryDirectory(prefix="reprise-redis-") as folder,
        RedisServer(Path(folder), durable=durable, environment=environment) as server,
    ):
        yield server
