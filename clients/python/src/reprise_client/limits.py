"""Limits that httpx has no argument for: of the time until the head of an answer, and of what its body is encoded in.

The time-outs of httpx are for each wait. A server that sends a byte of the head, or an interim answer (1xx), now and
then never exceeds these.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from ssl import SSLContext
from typing import Any

import httpcore
import httpx

ENCODING = {"Accept-Encoding": "gzip"}
"""The header of requests: other encodings, and several at once, make gigabytes of a piece that is received at once."""
_until: ContextVar[float] = ContextVar("until", default=inf)


@contextmanager
def ending(until: float) -> Iterator[None]:
    """Let the waits of this thread for a `limited` client end at the monotonic second `until`."""
    token = _until.set(until)
    try:
        yield
    finally:
        _until.reset(token)


def limited(client: httpx.Client) -> httpx.Client:
    """Return the client. Its connections, also those to proxies, now end their waits as `ending` requires."""
    for transport in (client._transport, *client._mounts.values()):
        pool = getattr(transport, "_pool", None)  # what tests answer with has none
        if isinstance(pool, httpcore.ConnectionPool):
            pool._network_backend = _Backend(pool._network_backend)
    return client


def check_encoding(response: httpx.Response) -> None:
    """Raise `httpx.RemoteProtocolError` for a body that is not encoded as `ENCODING` asks for."""
    if response.headers.get("Content-Encoding", "").strip().lower() not in ("", "identity", "gzip"):
        raise httpx.RemoteProtocolError("the answer has another encoding than gzip, which was asked for")


class _Backend(httpcore.NetworkBackend):
    def __init__(self, backend: httpcore.NetworkBackend) -> None:
        self._backend = backend

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        left_s = _left_s(timeout, httpcore.ConnectTimeout)
        return _Stream(self._backend.connect_tcp(host, port, left_s, local_address, socket_options))

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.NetworkStream:
        left_s = _left_s(timeout, httpcore.ConnectTimeout)
        return _Stream(self._backend.connect_unix_socket(path, left_s, socket_options))

    def sleep(self, seconds: float) -> None:
        self._backend.sleep(seconds)


class _Stream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left_s(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left_s(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left_s = _left_s(timeout, httpcore.ConnectTimeout)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, left_s))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _left_s(timeout: float | None, over: type[Exception]) -> float | None:
    """Return how many seconds a wait may last; raise `over` if no time is left."""
    until = _until.get()
    if until == inf:
        return timeout
    left_s = until - time.monotonic()
    if left_s <= 0:
        raise over("the answer took too long")
    return left_s if timeout is None else min(left_s, timeout)
