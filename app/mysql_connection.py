"""mysqlclient's connection, whose waits for the server end at a time.

The driver's own time-outs are for each read, so that they end neither a handshake nor an answer that comes byte by
byte. mysqlclient lets the thread of `app/socket_watch.py` read the descriptor during the handshake only, so that it is
remembered at its end.
"""

from __future__ import annotations

import math
import time
from typing import Any

from MySQLdb import Error, OperationalError, ProgrammingError
from MySQLdb.connections import Connection

from app.deadline import Unanswered
from app.socket_watch import WATCH, Wait


class UnansweredConnection(OperationalError, Unanswered):  # type: ignore[misc]
    """The server did not accept a connection in time."""


class BoundedConnection(Connection):  # type: ignore[misc]
    """Connects until the monotonic second `until`, which also ends the first statements, until `watch` is called.

    Raises `UnansweredConnection` then. `cut` is True when a wait was ended: the connection can't be used any more.
    """

    cut = False

    def __init__(self, *args: Any, until: float, **options: Any) -> None:
        self._descriptor = -1
        self._wait: Wait | None = WATCH.begin(until, self._socket)
        # The driver's own covers TCP, during which there is no descriptor yet.
        tcp_s = max(1, math.ceil(until - time.monotonic()))
        try:
            super().__init__(*args, **options | {"connect_timeout": tcp_s})
        except BaseException as error:
            self.watch(None)
            if isinstance(error, Error) and time.monotonic() >= until:
                raise UnansweredConnection(2013, "The server did not accept a connection in time.") from error
            raise

    def watch(self, until: float | None) -> None:
        """End waits for the server at `until` instead of the time before; with None they are not ended."""
        if self._wait is not None and WATCH.end(self._wait):
            self.cut = True
        self._wait = None if until is None else WATCH.begin(until, self._socket)

    def close(self) -> None:
        self.watch(None)
        super().close()

    def set_character_set(self, charset: str, collation: str | None = None) -> None:
        """Do as the driver's method, which the driver calls right after the handshake."""
        self._descriptor = self.fileno()
        super().set_character_set(charset, collation)

    def _socket(self) -> int:
        try:
            return self._descriptor if self._descriptor >= 0 else int(self.fileno())
        except (ProgrammingError, OperationalError):  # in use, or not open
            return -1
