"""gunicorn's threaded worker, which answers what is no proper HTTP as the application does, and waits for no caller
for ever: one that goes without a word, in the middle of a request or of its answer, would keep its thread.
"""

from __future__ import annotations

import errno
import json
import socket
import struct
import uuid
from typing import Any

from gunicorn.http import errors, get_parser
from gunicorn.http.unreader import SocketUnreader
from gunicorn.util import write_nonblock
from gunicorn.workers.gthread import ThreadWorker

from config.settings import Settings

STATUS = {
    errors.LimitRequestLine: "414 URI Too Long",
    errors.LimitRequestHeaders: "431 Request Header Fields Too Large",
    errors.ExpectationFailed: "417 Expectation Failed",
    errors.UnsupportedTransferCoding: "501 Not Implemented",
}


class Silence(errors.NoMoreData):  # type: ignore[misc]
    """Nothing came for so long; to gunicorn that is a caller who is gone."""

    def __str__(self) -> str:
        return "nothing more came."


class PatientReader(SocketUnreader):  # type: ignore[misc]
    """Reads from a socket with SO_RCVTIMEO: that holds for each read alone, so a slow line is no silent one."""

    def chunk(self, size_hint: int | None = None) -> bytes:
        try:
            piece: bytes = super().chunk(size_hint)
        except BlockingIOError as error:
            raise Silence from error
        return piece


class Worker(ThreadWorker):  # type: ignore[misc]
    def init_process(self) -> None:
        self._silence = struct.pack("ll", Settings.load_or_exit().silence_s, 0)
        super().init_process()

    def enqueue_req(self, conn: Any) -> None:
        """Before a connection's first request: how long a read from it, or a write to it, may take nothing."""
        if conn.parser is None and not self.cfg.is_ssl:
            for wait in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
                conn.sock.setsockopt(socket.SOL_SOCKET, wait, self._silence)
            conn.parser = get_parser(self.cfg, conn.sock, conn.client)
            conn.parser.unreader = PatientReader(conn.sock)
        super().enqueue_req(conn)

    def handle_request(self, req: Any, conn: Any) -> bool:
        """To gunicorn, who takes nothing of the answer for so long has hung up."""
        try:
            kept: bool = super().handle_request(req, conn)
        except (BlockingIOError, TimeoutError) as error:
            raise ConnectionResetError(errno.ECONNRESET, "The caller took nothing more of the answer.") from error
        return kept

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: Exception) -> None:
        """What the application never sees: a broken request line or header, one that is too long."""
        if not isinstance(exc, errors.ParseException) or isinstance(exc, errors.InvalidResponseHeader):
            super().handle_error(req, client, addr, exc)
            return
        self.log.warning("Invalid request: %s", exc)
        try:
            write_nonblock(client, refusal(STATUS.get(type(exc), "400 Bad Request"), str(exc)))
        except OSError:
            self.log.debug("The caller did not wait for the answer.")


def refusal(status: str, reason: str) -> bytes:
    """A whole HTTP answer, after which the connection ends."""
    body = json.dumps({"error": f"This is no HTTP request that can be answered: {reason}"})
    head = {
        "Connection": "close",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "X-Request-Id": uuid.uuid4().hex,
    }
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in head.items()), "", body]
    return "\r\n".join(lines).encode("ascii")
