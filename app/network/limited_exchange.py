"""Connections of a client that end with a time limit for all they do: the name, the connection, heads and bodies.

The limits of httpx are for each wait. A server that sends a byte now and then never exceeds these. A connection also
ends after `CONNECTION_BYTES`, and never leads to a metadata service.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterable
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

import httpcore

from app.network.addresses import FORBIDDEN, allowed_addresses, is_forbidden_host
from app.network.resolving import lookup

Left = Callable[[], float]
"""Returns how many seconds are left."""
CONNECTION_BYTES = 512 * 1024
"""The most bytes that are read of a connection: interim answers (1xx), the head, and the body with its chunks."""


class LimitedBackend(httpcore.SyncBackend):
    """Connects while time is left; a wait without an answer also ends then.

    A name is resolved once: all of its addresses are checked, and the connection is made to one of these.
    """

    def __init__(self, left_s: Left) -> None:
        self._left_s = left_s

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        failed: Exception = httpcore.ConnectError(f"{host} has no address.")
        for address in allowed_addresses(self._resolved(host, port), _refuse_forbidden):
            left = _limited(self._left_s, timeout, httpcore.ConnectTimeout)
            try:
                stream = super().connect_tcp(address, port, left, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failed = error
            else:
                return _LimitedStream(stream, self._left_s)
        raise failed

    def _resolved(self, host: str, port: int) -> list[str]:
        try:
            return lookup(host, port).result(_limited(self._left_s, None, httpcore.ConnectTimeout))
        except FutureTimeout as error:
            raise httpcore.ConnectTimeout(f"{host} is not found in time.") from error
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(str(error)) from error


class _LimitedStream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream, left_s: Left) -> None:
        self._stream, self._left_s, self._left = stream, left_s, CONNECTION_BYTES

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        read = self._stream.read(max_bytes, _limited(self._left_s, timeout, httpcore.ReadTimeout))
        self._left -= len(read)
        if self._left < 0:
            raise httpcore.ReadError("The server sent too many bytes.")
        return read

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _limited(self._left_s, timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left = _limited(self._left_s, timeout, httpcore.ConnectTimeout)
        return _LimitedStream(self._stream.start_tls(ssl_context, server_hostname, left), self._left_s)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _limited(left_s: Left, timeout: float | None, over: type[Exception]) -> float:
    """Return how many seconds a wait may last; raise `over` if no time is left."""
    left = left_s()
    if left <= 0:
        raise over("The time is over.")
    return left if timeout is None else min(left, timeout)


def _refuse_forbidden(address: str) -> None:
    if is_forbidden_host(address):
        raise httpcore.ConnectError(f"The address is {FORBIDDEN}.")
