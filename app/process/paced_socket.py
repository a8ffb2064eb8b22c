"""A caller's connection with limits: a time for the whole head of a request, a minimum rate for bodies and answers.

With time-outs of single reads and writes, a byte now and then would occupy a thread forever.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable
from typing import Any, TypeVar

# A longer head is refused before its end arrives. So is a head with a bare line feed, which is always an error.
HEAD_BYTES = 64 * 1024
HEAD_END = re.compile(rb"\r\n\r\n|(?<!\r)\n")
# Bytes that are read together: of a head, and of an unwanted body.
PIECE = 16 * 1024
CHUNK = 64 * 1024
# Limits for reading an unwanted body: bytes, seconds, and how many seconds its sender may fall behind.
DISCARD_BYTES = 64 * 1024 * 1024
DISCARD_S = 10.0
DISCARD_BEHIND_S = 1.0
T = TypeVar("T")


class TooSlow(TimeoutError):
    """The caller fell too far behind the minimum rate."""

    def __str__(self) -> str:
        return "it was sent too slowly."


class WaitAllowance:
    """The seconds that may still be spent on waiting. A wait uses them up; bytes add the time of the minimum rate."""

    def __init__(self, behind_s: float, bytes_per_s: int) -> None:
        self._most_s = self.left_s = behind_s
        self._bytes_per_s = bytes_per_s

    def note(self, waited_s: float, size: int) -> None:
        """Count a wait and the `size` of its bytes; the allowance never exceeds its initial value."""
        self.left_s = min(self._most_s, self.left_s - waited_s + size / self._bytes_per_s)


class PacedSocket(socket.socket):
    """A connected socket with a minimum rate for its caller.

    `gather` reads a request's head without waiting. `recv`, `send` and `sendall` raise `TooSlow` when the caller is
    behind `bytes_per_s` by the seconds that were passed to `allow`.
    """

    def __init__(self, connection: socket.socket, bytes_per_s: int) -> None:
        super().__init__(fileno=connection.detach())
        self._bytes_per_s = bytes_per_s
        self._ahead = bytearray()
        self._has_head = self._ended = False
        self.allow(DISCARD_BEHIND_S)

    def allow(self, behind_s: float) -> None:
        """Begin a request, or a part of it, with a new allowance."""
        self._reading = WaitAllowance(behind_s, self._bytes_per_s)
        self._writing = WaitAllowance(behind_s, self._bytes_per_s)

    @property
    def head_is_too_long(self) -> bool:
        return len(self._ahead) > HEAD_BYTES and not self._has_head

    def put_back(self, data: bytes) -> None:
        """Put `data` back as the beginning of the next request."""
        self._ahead[:0] = data
        self._has_head = HEAD_END.search(self._ahead) is not None

    def take_gathered(self) -> bytes:
        """Return the bytes that were gathered and not yet read."""
        taken = bytes(self._ahead)
        self._ahead.clear()
        return taken

    def gather(self) -> bool:
        """Read the available bytes of a head; return False if more of the head may come.

        If the connection has ended or is broken, that is True: the next read of the request gets the end or the error.
        """
        self.setblocking(False)
        while not self._has_head and len(self._ahead) <= HEAD_BYTES:
            try:
                piece = super().recv(PIECE)
            except BlockingIOError:
                return False
            except OSError:
                return True
            if not piece:
                return True
            searched = max(0, len(self._ahead) - len(b"\r\n\r"))
            self._ahead += piece
            self._has_head = HEAD_END.search(self._ahead, searched) is not None
        return True

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        if self._ended:
            return b""
        if self._ahead:
            piece = bytes(self._ahead[:size])
            del self._ahead[:size]
            return piece
        return self._waiting(self._reading, lambda: super(PacedSocket, self).recv(size, flags), len)

    def send(self, data: Any, flags: int = 0, /) -> int:
        return self._waiting(self._writing, lambda: super(PacedSocket, self).send(data, flags), int)

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self.send(rest, flags) :]

    def _waiting(self, allowance: WaitAllowance, work: Callable[[], T], size: Callable[[T], int]) -> T:
        if allowance.left_s <= 0:
            raise TooSlow
        self.settimeout(allowance.left_s)
        began = time.monotonic()
        try:
            done = work()
        except TimeoutError as error:
            raise TooSlow from error
        allowance.note(time.monotonic() - began, size(done))
        return done

    def end(self) -> None:
        """End the answer, and read for a moment: a caller that is cut off while it sends would not get the answer.

        After that, reads return no more bytes.
        """
        self._ahead.clear()
        self.allow(DISCARD_BEHIND_S)
        try:
            self.shutdown(socket.SHUT_WR)
            discard_body(lambda: self.recv(CHUNK))
        except OSError:
            return  # The caller is gone or too slow.
        finally:
            self._ended = True


def discard_body(read: Callable[[], bytes]) -> bool:
    """Read and discard a body within `DISCARD_BYTES` and `DISCARD_S`; return whether its end was reached."""
    left, end = DISCARD_BYTES, time.monotonic() + DISCARD_S
    while left > 0 and time.monotonic() < end:
        if not (piece := read()):
            return True
        left -= len(piece)
    return False
