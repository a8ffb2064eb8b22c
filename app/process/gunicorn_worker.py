"""gunicorn's threaded worker, with JSON answers to malformed HTTP, and with time limits for slow callers.

A connection gets a thread when the head of its request is complete, so that slow heads do not occupy threads. Bodies
and answers have a minimum rate. The worker uses undocumented parts of gunicorn;
`tests/unit/process/test_gunicorn_worker.py` names the version.
"""

from __future__ import annotations

import errno
import json
import re
import selectors
import socket
import sys
import time
import uuid
from functools import partial
from typing import Any

from gunicorn.http import errors
from gunicorn.http.body import Body, ChunkedReader
from gunicorn.workers.gthread import ThreadWorker

from app.concurrency.threads import WarmThreads
from app.process.paced_socket import CHUNK, DISCARD_BEHIND_S, HEAD_BYTES, PacedSocket, discard_body
from config.settings import Settings

STATUS = {
    errors.LimitRequestLine: "414 URI Too Long",
    errors.LimitRequestHeaders: "431 Request Header Fields Too Large",
    errors.ExpectationFailed: "417 Expectation Failed",
    errors.UnsupportedTransferCoding: "501 Not Implemented",
}
# The beginning of each HTTP/2 connection (RFC 9113, section 3.4), and so of each gRPC connection.
HTTP2_PREFACE = "PRI * HTTP/2"
GRPC = (
    "HTTP/2, and so gRPC, is not accepted here. If this is an exporter, "
    "set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf and OTEL_EXPORTER_OTLP_ENDPOINT to the address of a prompt."
)
# `uri-host [":" port]` of RFC 9110, section 7.2. It is empty if the requested URL has no host.
HOST = re.compile(r"(\[[0-9A-Za-z:.~_-]+\]|[0-9A-Za-z%!$&'()*+,;=._~-]*)(:[0-9]*)?")
# One of this many threads is started with the process; the others are started when they are needed.
READY_SHARE = 3
# Each chunk costs some microseconds, however short it is. So beyond the free ones chunks must have an average size.
FREE_CHUNKS = 10_000
CHUNK_BYTES = 256


class TooSmallChunks(errors.ParseException):  # type: ignore[misc]
    """The body has too many small chunks; each costs as much time as a large one."""

    def __str__(self) -> str:
        return f"its chunks are too small; more than {FREE_CHUNKS} must have {CHUNK_BYTES} bytes on average."


class WrongHost(errors.ParseException):  # type: ignore[misc]
    """A request does not have exactly one valid header Host."""

    def __str__(self) -> str:
        return "it must have one header Host, with a host and perhaps a port (RFC 9112, section 3.2)."


class CountedChunks(ChunkedReader):  # type: ignore[misc]
    """Reads a chunked body; raises `TooSmallChunks` for a body of very many small chunks."""

    chunks = size = 0

    def parse_chunk_size(self, unreader: Any, data: bytes | None = None) -> tuple[int, bytes]:
        size, rest = super().parse_chunk_size(unreader, data=data)
        self.chunks += 1
        self.size += size
        if self.chunks > FREE_CHUNKS + self.size // CHUNK_BYTES:
            raise TooSmallChunks
        return size, rest


class Worker(ThreadWorker):  # type: ignore[misc]
    @classmethod
    def check_config(cls, cfg: Any, log: Any) -> None:
        if cfg.is_ssl:
            sys.exit("reprise: TLS is for the proxy in front: leave gunicorn's certfile and keyfile out")
        super().check_config(cfg, log)

    def init_process(self) -> None:
        self._settings = Settings.load_or_exit()
        super().init_process()

    def get_thread_pool(self) -> WarmThreads:
        return WarmThreads(self.cfg.threads, ready=self.cfg.threads // READY_SHARE)

    def enqueue_req(self, conn: Any) -> None:
        """Give a connection to a thread; without a complete head, give it to the poller."""
        if not isinstance(conn.sock, PacedSocket):
            conn.sock = PacedSocket(conn.sock, self._settings.min_bytes_per_s)
            conn.data_ready = True
        if conn.parser is not None:
            conn.sock.put_back(conn.parser.unreader.take_buffered())
        if conn.sock.gather():
            super().enqueue_req(conn)
            return
        conn.timeout = time.monotonic() + self._settings.head_s
        self.pending_conns.append(conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self.on_pending_socket_readable, conn))

    def on_pending_socket_readable(self, conn: Any, client: socket.socket) -> None:
        if conn.sock.gather():
            super().on_pending_socket_readable(conn, client)

    def handle(self, conn: Any) -> bool:
        """Answer a request, in a thread; return whether the connection is kept open."""
        if conn.sock.head_is_too_long:
            error = errors.LimitRequestHeaders(f"its head is over {HEAD_BYTES} bytes.")
            self.handle_error(None, conn.sock, conn.client, error)
            kept = False
        else:
            kept = bool(super().handle(conn))
        if not kept:
            # gunicorn would end it in the thread that accepts connections, which would wait for the caller.
            conn.sock.end()
        return kept

    def handle_request(self, req: Any, conn: Any) -> bool:
        """Answer a request; a caller that reads the answer too slowly counts as disconnected."""
        conn.sock.allow(self._settings.silence_s)
        check_host(req)
        if isinstance(req.body.reader, ChunkedReader):
            req.body = Body(CountedChunks(req, req.unreader))
        try:
            kept: bool = super().handle_request(req, conn)
        except TimeoutError as error:
            raise ConnectionResetError(errno.ECONNRESET, "The caller read the answer too slowly.") from error
        return kept

    def _keepalive_after(self, conn: Any, keepalive: bool) -> bool:
        """Read the rest of an unread body after the answer, because the next request begins after it."""
        body, unreader = conn.parser.mesg.body, conn.parser.unreader
        if not keepalive or body.failed:
            return False
        conn.sock.allow(DISCARD_BEHIND_S)
        try:
            whole = discard_body(lambda: body.read(CHUNK))
        except (OSError, errors.ParseException):
            return False
        # gunicorn reads the next request only from its buffer.
        unreader.unread(unreader.take_buffered() + conn.sock.take_gathered())
        return whole

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: Exception) -> None:
        """Answer a malformed or too long request line or header, which the application does not get."""
        if not isinstance(exc, errors.ParseException) or isinstance(exc, errors.InvalidResponseHeader):
            super().handle_error(req, client, addr, exc)
            return
        reason = GRPC if HTTP2_PREFACE in str(exc) else str(exc)
        self.log.warning("Invalid request: %s", reason)
        try:
            client.sendall(refusal(STATUS.get(type(exc), "400 Bad Request"), reason))
        except OSError:
            self.log.debug("The caller did not wait for the answer.")


def check_host(req: Any) -> None:
    """Raise `WrongHost` for a request that must be answered with 400 because of its `Host` (RFC 9112).

    gunicorn reads HTTP/1.2 to 1.9 like HTTP/1.1, which RFC 9110 (section 2.5) recommends, and refuses other major
    versions.
    """
    hosts = [value for name, value in req.headers if name == "HOST"]
    needed = req.version >= (1, 1)
    if len(hosts) > 1 or (needed and not hosts) or not all(map(HOST.fullmatch, hosts)):
        raise WrongHost


def refusal(status: str, reason: str) -> bytes:
    """Return a complete HTTP answer, after which the connection is closed."""
    body = json.dumps({"error": f"Bad request: {reason}"})
    head = {
        "Connection": "close",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "X-Request-Id": uuid.uuid4().hex,
    }
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in head.items()), "", body]
    return "\r\n".join(lines).encode("ascii")
