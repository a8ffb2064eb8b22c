"""A server that stops answering: a proxy in front of a real one, which stops forwarding its answers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Literal, Self

from tests.support.waiting import LOOPBACK

Behaviour = Literal["silent", "dripping"]
BYTE_S = 1.0
"""The time from one byte of a dripping server to the next."""
_PIECE = 64 * 1024


class StillServer:
    """Listens on `port` for the server at `behind`, and passes on all that is sent, until it `stands_still`.

    It accepts connections then, too. A `silent` server answers nothing; a `dripping` one a byte a second.
    """

    def __init__(self, behind: int) -> None:
        self._behind = behind
        self._listening = socket.create_server((LOOPBACK, 0), backlog=512)
        self.port: int = self._listening.getsockname()[1]
        self._behaviour: Behaviour | None = None
        self._changed = threading.Condition()

    @contextmanager
    def stands_still(self, behaviour: Behaviour) -> Iterator[None]:
        self._behave(behaviour)
        try:
            yield
        finally:
            self._behave(None)

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._behave(None)
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _behave(self, behaviour: Behaviour | None) -> None:
        with self._changed:
            self._behaviour = behaviour
            self._changed.notify_all()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                caller, _ = self._listening.accept()
                server = socket.create_connection((LOOPBACK, self._behind))
                threading.Thread(target=self._ask, args=(caller, server), daemon=True).start()
                threading.Thread(target=self._answer, args=(server, caller), daemon=True).start()

    @staticmethod
    def _ask(caller: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while piece := caller.recv(_PIECE):
                server.sendall(piece)
            server.shutdown(socket.SHUT_WR)

    def _answer(self, server: socket.socket, caller: socket.socket) -> None:
        with server, caller, suppress(OSError):
            while piece := server.recv(_PIECE):
                self._send(caller, piece)
            caller.shutdown(socket.SHUT_RDWR)

    def _send(self, caller: socket.socket, piece: bytes) -> None:
        """Send at once, or while the server hangs nothing, or a byte at a time."""
        with self._changed:
            while piece and self._behaviour:
                if self._behaviour == "dripping":
                    caller.sendall(piece[:1])
                    piece = piece[1:]
                self._changed.wait(BYTE_S if self._behaviour == "dripping" else None)
        caller.sendall(piece)
