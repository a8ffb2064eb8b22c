"""Connections to the Redis that Sentinels name as the primary; they are closed when the primary changes."""

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
    """Closes the connections to a primary that was replaced, which ends the waits on them.

    A replaced primary may hang, and then does not close them. One that is back acts as the primary for another 10 s.
    """

    def __init__(self, sentinel: Sentinel, service: str) -> None:
        self._sentinel = sentinel
        self._service = service
        self._connections: WeakSet[SentinelConnection] = WeakSet()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def add(self, connection: SentinelConnection) -> None:
        """Watch a connection, in a thread of this process: after a fork the thread must be started again."""
        with self._lock:
            self._connections.add(connection)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._watch, name="redis-primary", daemon=True)
                self._thread.start()

    def _watch(self) -> None:
        while connections := self._open():
            with suppress(redis.RedisError):
                primary = self._sentinel.discover_master(self._service)
                for address in {address for connection in connections if (address := connection.end_unless(primary))}:
                    log.warning("redis_primary_left", host=address[0], port=address[1])
            del connections
            time.sleep(WATCH_S)

    def _open(self) -> list[SentinelConnection]:
        """Return the open connections; without any the thread ends."""
        with self._lock:
            connections = [connection for connection in self._connections if connection.is_connected]
            if not connections:
                self._thread = None
        return connections


class SentinelConnection(SentinelManagedConnection):
    """A connection to the primary that recovers from errors differently than redis-py's connection.

    redis-py's connection stays open after a time-out, so the late reply becomes the reply of the next command (see its
    pull request 4292). And it reconnects to the server that failed, to repeat a command.
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
        """Close a connection to any other server than `primary`, which ends a wait on it; return that server."""
        address, connected = (self.host, self.port), self._sock
        if connected is None or address == primary:
            return None
        with suppress(OSError):
            connected.shutdown(socket.SHUT_RDWR)
        return address
