"""Several database servers behind one engine: connects to the first one that is ready, and leaves one that hangs.

For the nodes of a Galera cluster, which all accept changes, and for a primary with a replica that may be promoted. See
"wsrep_sync_wait" and "wsrep_ready" in MariaDB's documentation of Galera.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import Any

import structlog
from sqlalchemy import Engine, event

from app.concurrency.deadline import end_of_wait
from config.servers import Address

log = structlog.get_logger(__name__)

CONNECT_S = 2
# For this long, a server that refused a connection or was not ready is tried only after all others.
AVOIDED_S = 5.0
# The interval between checks of the servers in use, the longest time of a check, and the number of consecutive failed
# checks after which the connections of a server are closed.
WATCH_S, ANSWER_S, UNANSWERED = 1.0, 2, 2
# Errors after which another server should be used: Galera's "not prepared for application use" of a node that lost the
# others, and refusals of a read-only server.
UNFIT = frozenset({1047, 1290, 1792, 1836})
# Errors of servers. Errors of the client library, such as "can't connect" and "lost connection", begin at 2000.
OF_SERVERS = range(1000, 2000)
# SELECT, UPDATE and DELETE, INSERT: these wait until the node has everything that was committed before on any node.
SYNC_WAIT = 1 + 2 + 4


class DatabaseHosts:
    """The servers of one database, in the order in which they are tried."""

    def __init__(self, addresses: Sequence[Address]) -> None:
        self._addresses = addresses
        self._avoided_until: dict[Address, float] = {}
        self._lock = threading.Lock()
        # With each connection's descriptor, because a connection that another thread uses does not return it.
        self._connections: dict[Any, tuple[Address, int]] = {}
        self._watcher: threading.Thread | None = None

    def serve(self, engine: Engine) -> None:
        """Let the engine connect to these servers."""
        event.listen(engine, "do_connect", self._connect)
        event.listen(engine, "close", lambda connection, _record: self._forget(connection))
        event.listen(engine, "close_detached", self._forget)
        event.listen(engine, "handle_error", _leave_unfit)

    def _connect(self, dialect: Any, _record: Any, args: Any, options: dict[str, Any]) -> Any:
        """Connect to the first server that is ready; raise the last one's error when none is."""
        failure: Exception | None = None
        for address in sorted(self._addresses, key=self._is_avoided):
            try:
                connection = self._open(dialect, address, args, options)
            except dialect.loaded_dbapi.Error as error:
                self._avoided_until[address] = time.monotonic() + AVOIDED_S
                failure = error
                continue
            with self._lock:
                self._connections[connection] = (address, connection.fileno())
            self._keep_watch(dialect, args, options)
            return connection
        assert failure is not None  # noqa: S101 - there is at least one address
        raise failure

    def _is_avoided(self, address: Address) -> bool:
        return time.monotonic() < self._avoided_until.get(address, 0.0)

    @staticmethod
    def _open(dialect: Any, address: Address, args: Any, options: dict[str, Any]) -> Any:
        """Connect to a server; raise the driver's error when it does not accept changes."""
        from app.database.mysql_connection import BoundedConnection  # the compiled driver is not installed everywhere

        host, port = address
        connection = BoundedConnection(*args, **options | {"host": host, "port": port}, until=end_of_wait(CONNECT_S))
        with ExitStack() as unless_prepared:
            unless_prepared.callback(connection.close)
            _prepare(connection, dialect.loaded_dbapi)
            unless_prepared.pop_all()
        return connection

    def _forget(self, connection: Any) -> None:
        with self._lock:
            self._connections.pop(connection, None)

    def _keep_watch(self, dialect: Any, args: Any, options: dict[str, Any]) -> None:
        """Watch the servers in a thread of this process: after a fork the thread must be started again."""
        with self._lock:
            if self._watcher is None or not self._watcher.is_alive():
                impatient = options | {"read_timeout": ANSWER_S, "write_timeout": ANSWER_S}
                self._watcher = threading.Thread(
                    target=self._watch, args=(dialect, args, impatient), name="database-hosts", daemon=True
                )
                self._watcher.start()

    def _watch(self, dialect: Any, args: Any, options: dict[str, Any]) -> None:
        unanswered: dict[Address, int] = {}
        while used := self._used():
            time.sleep(WATCH_S)
            for address in used:
                try:
                    self._open(dialect, address, args, options).close()
                    unanswered[address] = 0
                except dialect.loaded_dbapi.Error as error:
                    unanswered[address] = 0 if _answered(error) else unanswered.get(address, 0) + 1
                    if unanswered[address] == UNANSWERED:
                        log.warning("database_host_left", host=address[0], port=address[1], error=str(error))
                    if unanswered[address] >= UNANSWERED:
                        self._leave(address)

    def _used(self) -> set[Address]:
        """Return the servers with connections. Without any the thread ends, and the next connection restarts it."""
        with self._lock:
            if not self._connections:
                self._watcher = None
            return {address for address, _ in self._connections.values()}

    def _leave(self, address: Address) -> None:
        """End all waits for a server; the pool then replaces its connections with connections to another server."""
        self._avoided_until[address] = time.monotonic() + AVOIDED_S
        with self._lock:
            # Connections are removed here before they are closed, so these descriptors are still valid.
            for descriptor in [number for host, number in self._connections.values() if host == address]:
                with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as copied:
                    copied.shutdown(socket.SHUT_RDWR)


def _prepare(connection: Any, dbapi: Any) -> None:
    """Make a connection see what other nodes have committed; raise a driver's error if the server can't be used."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW VARIABLES WHERE Variable_name IN ('read_only', 'wsrep_on')")
        variables = dict(cursor.fetchall())
        if variables.get("read_only") != "OFF":
            raise dbapi.OperationalError(1290, "The server is read-only.")
        if variables.get("wsrep_on") == "ON":
            cursor.execute("SHOW STATUS LIKE 'wsrep_ready'")
            if dict(cursor.fetchall()).get("wsrep_ready") != "ON":
                raise dbapi.OperationalError(1047, "The node has lost the others of its cluster, or joins them.")
            cursor.execute(f"SET SESSION wsrep_sync_wait = {SYNC_WAIT}")


def _answered(error: Exception) -> bool:
    """Return whether the server is working but refused the connection, for example because it has too many."""
    return _code(error) in OF_SERVERS and _code(error) not in UNFIT


def _leave_unfit(context: Any) -> None:
    """Let the pool replace the connections to a server that no longer accepts statements."""
    if _code(context.original_exception) in UNFIT:
        context.is_disconnect = True


def _code(error: BaseException | None) -> object:
    """Return the number of a driver's error, None if it has none."""
    return next(iter(getattr(error, "args", ())), None)
