"""Sends requests to vendors from the thread that waits for the answer, over connections that stay open."""

from __future__ import annotations

import math
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from http.client import HTTPException, HTTPResponse
from typing import Any

import httpx
from urllib3 import BaseHTTPResponse, HTTPConnectionPool, HTTPSConnectionPool, PoolManager, Timeout
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import TimeoutError as Urllib3TimeoutError

from app.network.addresses import FORBIDDEN, allowed_addresses, is_forbidden_host
from app.network.resolving import lookup
from app.providers.failures import ProviderFailure
from app.providers.stopping import LOOK_S, NEVER, CallStop

CONNECT_TIMEOUT_S = 10.0
# A connection that was idle for longer is opened again: what lies between may have forgotten it.
IDLE_S = 30.0
# The number of hosts with open connections, and the most idle connections of each.
_HOSTS = 256
_IDLE_CONNECTIONS = 1024
_PIECE = 64 * 1024  # bytes
INTERIM_MAX = 16
"""The most interim answers, such as `100 Continue`, before an answer."""


_stop: ContextVar[CallStop] = ContextVar("stop", default=NEVER)
"""The stop of the call that this thread makes."""


def refuse(host: str) -> None:
    """Raise `ProviderFailure` for a forbidden address; private ones stay open: self-hosted models are served there."""
    if is_forbidden_host(host):
        raise ProviderFailure(f"The base URL leads to {FORBIDDEN}.")


class HttpClient:
    """A thread that waits for an answer waits for its socket: an event loop in between took six times as long.

    Proxies and credentials of the environment are not used, no redirect is followed, nothing is sent twice. The
    certificates are read by the first request.
    """

    @cached_property
    def _pools(self) -> PoolManager:
        context = httpx.create_ssl_context()
        context.sslsocket_class = _TlsSocket
        pools = PoolManager(_HOSTS, maxsize=_IDLE_CONNECTIONS, ssl_context=context)
        pools.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}
        return pools

    @contextmanager
    def post(
        self, url: str, headers: Mapping[str, str], body: bytes, timeout_s: float, stop: CallStop = NEVER
    ) -> Iterator[BaseHTTPResponse]:
        """Yield the response. Read its body with `pieces`; all of it must arrive within `timeout_s` seconds.

        Waits for the answer raise `Stopped` soon after `stop` is requested.
        """
        _stop.set(stop)
        response = self._pools.urlopen(
            "POST",
            url,
            headers=headers,
            body=body,
            timeout=Timeout(connect=min(timeout_s, CONNECT_TIMEOUT_S), total=timeout_s),
            retries=False,
            redirect=False,
            preload_content=False,
            decode_content=False,
        )
        try:
            yield response
        finally:
            response.close()  # closes a connection only if its answer was not read to its end

    def close(self) -> None:
        """Close the connections that are idle."""
        if "_pools" in vars(self):
            self._pools.clear()


def pieces(response: BaseHTTPResponse) -> Iterator[bytes]:
    """Yield the body in the pieces that are received, before it is decompressed."""
    while piece := response.read1(_PIECE):
        yield piece


def is_timeout(error: BaseException) -> bool:
    return isinstance(error, (TimeoutError, Urllib3TimeoutError))


class _Deadline:
    """A socket that stops reading at its `deadline`, by `time.monotonic`, even if each read brings some bytes.

    It looks at the stop of the thread's call while it waits. Another thread must not close it: its number may belong to
    another call's socket by then.
    """

    deadline = math.inf

    def recv_into(self, *args: Any) -> int:
        stop = _stop.get()
        while True:
            if self.deadline < math.inf:
                left_s = max(self.deadline - time.monotonic(), 0.001)
                self.settimeout(left_s if stop is NEVER else min(left_s, LOOK_S))  # type: ignore[attr-defined]
            try:
                return super().recv_into(*args)  # type: ignore[misc,no-any-return]
            except TimeoutError:
                stop.check()
                if stop is NEVER or not time.monotonic() < self.deadline < math.inf:
                    raise


class _Socket(_Deadline, socket.socket):
    pass


class _TlsSocket(_Deadline, ssl.SSLSocket):
    pass


class _Response(HTTPResponse):
    """Refuses an endless sequence of interim answers, which `HTTPResponse` skips without a limit."""

    _heads = 0

    def _read_status(self) -> Any:
        self._heads += 1
        if self._heads > INTERIM_MAX + 1:
            raise HTTPException(f"The server sent more than {INTERIM_MAX} interim answers.")
        return super()._read_status()  # type: ignore[misc]


class _Connection(HTTPConnection):
    """Connects to no forbidden address, ends each answer by its deadline, and is dropped after `IDLE_S` seconds."""

    response_class = _Response
    _used_at = 0.0

    def _new_conn(self) -> socket.socket:
        # urllib3 has no argument for it, and calls this wherever it connects.
        host, port = self._dns_host.strip("[]"), self.port
        timeout_s = self.timeout if isinstance(self.timeout, (int, float)) else CONNECT_TIMEOUT_S
        deadline = time.monotonic() + timeout_s
        try:
            resolved = lookup(host, port).result(timeout_s)
        except TimeoutError as error:
            raise TimeoutError(f"The address of {host} was not found in time.") from error
        failed = OSError(f"{host} has no address.")
        for address in allowed_addresses(resolved, refuse):
            sock = _Socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
            try:
                sock.settimeout(max(deadline - time.monotonic(), 0.001))
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                sock.connect((address, port))
            except OSError as error:
                sock.close()
                failed = error
            else:
                return sock
        raise failed

    def getresponse(self) -> Any:
        self._used_at = time.monotonic()
        if isinstance(self.sock, _Deadline) and isinstance(self.timeout, (int, float)):
            self.sock.deadline = self._used_at + self.timeout
        return super().getresponse()

    @property
    def is_connected(self) -> bool:
        return super().is_connected and time.monotonic() - self._used_at < IDLE_S


class _TlsConnection(_Connection, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection
