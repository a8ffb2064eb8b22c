"""mysqlclient's connection, with limits for whole waits for the server.

The driver's time-outs are for each read, so they do not end a handshake or an answer that arrives byte by byte.
mysqlclient gives out its socket's descriptor only during the handshake, so the connection stores it then for the thread
of `app/concurrency/socket_watch.py`.
"""

from __future__ import annotations

import math
import time
from typing import Any

from MySQLdb import Error, OperationalError, ProgrammingError
from MySQLdb.connections import Connection

from app.concurrency.deadline import ServerTimeout
from app.concurrency.socket_watch import WATCH, Wait


class UnansweredConnection(OperationalError, ServerTimeout):  # type: ignore[misc]
    """The server did not accept a connection in time."""


class BoundedConnection(Connection):  # type: ignore[misc]
    """A connection that must be made until the monotonic second `until`; raises `UnansweredConnection` otherwise.

    `until` is also the end of the first statements, unless `watch` sets another one. `cut` is True after a wait was
    ended: the connection can't be used any more.
    """

    cut = False

    def __init__(self, *args: Any, until: float, **options: Any) -> None:
        self._descriptor = -1
        self._wait: Wait | None = WATCH.begin(until, self._socket)
        # The driver's time-out limits the TCP handshake, during which there is no descriptor yet.
        tcp_s = max(1, math.ceil(until - time.monotonic()))
        connected = False
        try:
            super().__init__(*args, **options | {"connect_timeout": tcp_s})
            connected = True
        except Error as error:
            if time.monotonic() >= until:
                raise UnansweredConnection(2013, "The server did not accept a connection in time.") from error
            raise
        finally:
            if not connected:
                self.watch(None)

    def watch(self, until: float | None) -> None:
        """End waits for the server at `until`, which replaces the end set before; None is no limit."""
        if self._wait is not None and WATCH.end(self._wait):
            self.cut = True
        self._wait = None if until is None else WATCH.begin(until, self._socket)

    def close(self) -> None:
        self.watch(None)
        super().close()

    def set_character_set(self, charset: str, collation: str | None = None) -> None:
        """Also store the descriptor: the driver calls this method right after the handshake."""
        self._descriptor = self.fileno()
        super().set_character_set(charset, collation)

    def _socket(self) -> int:
        try:
            return self._descriptor if self._descriptor >= 0 else int(self.fileno())
        except (ProgrammingError, OperationalError):  # in use, or not open
            return -1
