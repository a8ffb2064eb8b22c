"""Connections to the Redis that Sentinels name, which end when they name another one."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from typing import Any
from weakref import WeakSet

import redis
import structlog
from redis.sentinel import Sentinel, SentinelManagedConnection

from config.servers import Address

log = structlog.get_logger(__name__)

# The interval at which a process that has connections asks the Sentinels for the primary.
WATCH_S = 1.0


class PrimaryWatch:
    """Ends the connections to a primary that was replaced, and the waits on them.

    One that hangs ends none itself, and one that is back takes itself for the primary for another 10 s.
    """

    def __init__(self, sentinel: Sentinel, service: str) -> None:
        self._sentinel = sentinel
        self._service = service
        self._connections: WeakSet[SentinelConnection] = WeakSet()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def add(self, connection: SentinelConnection) -> None:
        """Watch a connection from now on, in a thread of this process; a fork has none of its parent's."""
        with self._lock:
            self._connections.add(connection)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._watch, name="redis-primary", daemon=True)
                self._thread.start()

    def _watch(self) -> None:
        while connections := self._open():
            with suppress(redis.RedisError):
                primary = self._sentinel.discover_master(self._service)
                for address in {address for one in connections if (address := one.end_unless(primary))}:
                    log.warning("redis_primary_left", host=address[0], port=address[1])
            del connections
            time.sleep(WATCH_S)

    def _open(self) -> list[SentinelConnection]:
        """Return the connections that are open; without any the thread ends."""
        with self._lock:
            found = [one for one in self._connections if one.is_connected]
            if not found:
                self._thread = None
        return found


class SentinelConnection(SentinelManagedConnection):
    """A connection to the primary, without what redis-py's own does after an error.

    That one stays open when an answer did not come in time, which is then taken for that of the next command (see its
    pull request 4292), and goes back to the server that failed for a command that is sent once more.
    """

    def __init__(self, *, watch: PrimaryWatch, **options: Any) -> None:
        super().__init__(**options)  # type: ignore[no-untyped-call]
        self._watch = watch

    def connect_to(self, address: Address) -> None:
        super().connect_to(address)  # type: ignore[no-untyped-call]
        self._watch.add(self)

    def send_packed_command(self, command: Any, check_health: bool = True) -> None:
        if self._sock is None:
            self.connect()  # type: ignore[no-untyped-call]
        super().send_packed_command(command, check_health)  # type: ignore[no-untyped-call]

    def read_response(
        self, disable_decoding: bool = False, *, disconnect_on_error: bool | None = True, **options: Any
    ) -> Any:
        return super().read_response(disable_decoding, disconnect_on_error=disconnect_on_error, **options)

    def end_unless(self, primary: Address) -> Address | None:
        """Let whoever waits for an answer of another server find the connection closed; returns that server."""
        address, connected = (self.host, self.port), self._sock
        if connected is None or address == primary:
            return None
        with suppress(OSError):
            connected.shutdown(socket.SHUT_RDWR)
        return address
