"""Several database servers behind one engine: connects to the first that serves, and leaves one that hangs.

For the nodes of a Galera cluster, which all take changes, and for a primary with a replica that is promoted. See
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

from app.deadline import end_of_wait
from config.servers import Address

log = structlog.get_logger(__name__)

CONNECT_S = 2
# The time for which a server that refused, or did not serve, is tried after all others.
AVOIDED_S = 5.0
# The interval at which servers with connections are checked, the time that a check may take, and the number of failed
# checks in a row after which the connections of a server are closed.
WATCH_S, ANSWER_S, UNANSWERED = 1.0, 2, 2
# Galera's "not prepared for application use" of a node that lost the others, and refusals of a server that is
# read-only: another server takes the statement.
UNFIT = frozenset({1047, 1290, 1792, 1836})
# Errors of servers; those of the client library, as "can't connect" and "lost connection", begin at 2000.
OF_SERVERS = range(1000, 2000)
# Statements wait until the node has all that was committed on any node before them: SELECT, UPDATE and DELETE, INSERT.
SYNC_WAIT = 1 + 2 + 4


class DatabaseHosts:
    """The servers of one database, in the order in which they are asked."""

    def __init__(self, addresses: Sequence[Address]) -> None:
        self._addresses = addresses
        self._avoided_until: dict[Address, float] = {}
        self._lock = threading.Lock()
        # Each with its descriptor: who asks a connection for it while another thread uses the connection gets an error.
        self._connections: dict[Any, tuple[Address, int]] = {}
        self._watcher: threading.Thread | None = None

    def serve(self, engine: Engine) -> None:
        """Give the engine its connections from now on."""
        event.listen(engine, "do_connect", self._connect)
        event.listen(engine, "close", lambda connection, _record: self._forget(connection))
        event.listen(engine, "close_detached", self._forget)
        event.listen(engine, "handle_error", _leave_unfit)

    def _connect(self, dialect: Any, _record: Any, args: Any, options: dict[str, Any]) -> Any:
        """Connect to the first server that serves; raises the last one's error when none does."""
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
        """Connect to a server; raises its own error where it takes no changes."""
        from app.mysql_connection import BoundedConnection  # the driver is compiled, so not everywhere

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
        """Watch the servers in a thread of this process; a fork has none of its parent's."""
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
        """Return the servers with connections; without any the thread ends, and the next connection begins another."""
        with self._lock:
            if not self._connections:
                self._watcher = None
            return {address for address, _ in self._connections.values()}

    def _leave(self, address: Address) -> None:
        """End all waits for a server, whose connections the pool then replaces by those to another one."""
        self._avoided_until[address] = time.monotonic() + AVOIDED_S
        with self._lock:
            # Connections are forgotten before they are closed, so that these descriptors are still theirs.
            for descriptor in [one for where, one in self._connections.values() if where == address]:
                with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as copied:
                    copied.shutdown(socket.SHUT_RDWR)


def _prepare(connection: Any, dbapi: Any) -> None:
    """Make a connection see what other nodes committed; raises an error of the driver on a server without changes."""
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
    """Return whether a server that serves refused a connection, as when it has too many of them."""
    return _code(error) in OF_SERVERS and _code(error) not in UNFIT


def _leave_unfit(context: Any) -> None:
    """Have the pool replace the connections to a server that takes no statements any more."""
    if _code(context.original_exception) in UNFIT:
        context.is_disconnect = True


def _code(error: BaseException | None) -> object:
    """Return the number of an error of the driver, None where it has none."""
    return next(iter(getattr(error, "args", ())), None)
