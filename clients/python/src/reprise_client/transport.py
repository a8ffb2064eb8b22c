"""The connections to the server, for synchronous and asynchronous clients; a failure is an `UnreachableError`."""

from __future__ import annotations

import asyncio
import contextlib

# Imported by the first request of a process, which a thread makes: see `Transport.open`.
import encodings.idna  # noqa: F401
import ssl
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx

from reprise_client import tls
from reprise_client.connection import Connection
from reprise_client.errors import RepriseError, UnreachableError
from reprise_client.forks import forks_wait
from reprise_client.limits import ENCODING, check_encoding, ending, limited
from reprise_client.reading import Get, HttpReply
from reprise_client.runs import ClientRequest, Follower

Verify = ssl.SSLContext | bool
CONNECT_S = 5.0
# The server sends a comment every 10 s of silence.
SILENCE_MAX_S = 30.0
ANSWER_MAX = 64_000_000
_FAILURES = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError, RuntimeError)


def _options(connection: Connection, verify: Verify) -> dict[str, Any]:
    # A caller that has a thread or a task for a request has a connection for it.
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
    verify = tls.default() if verify is True else verify
    headers = connection.headers | ENCODING
    return {"base_url": connection.base_url, "headers": headers, "verify": verify, "limits": limits}


def _timeout(answer_s: float) -> httpx.Timeout:
    return httpx.Timeout(answer_s, connect=min(CONNECT_S, answer_s))


def _unreachable(connection: Connection, problem: Exception) -> UnreachableError:
    return UnreachableError(f"{connection.base_url}: {problem or type(problem).__name__}")


def _head_s(request: ClientRequest) -> float:
    """Return for how many seconds the head of a stream is waited for."""
    return max(0.1, min(SILENCE_MAX_S, request.deadline - time.monotonic()))


class _Body:
    """Collects an answer that has its bounds in bytes and in time."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self._content = bytearray()

    def add(self, piece: bytes) -> None:
        self._content += piece
        if len(self._content) > ANSWER_MAX:
            raise UnreachableError(f"An answer of more than {ANSWER_MAX} bytes is none of Reprise.")
        if time.monotonic() > self._deadline:
            raise UnreachableError("The answer took too long.")

    def reply(self, response: httpx.Response) -> HttpReply:
        return HttpReply(str(response.url), response.status_code, response.headers, bytes(self._content))


def _head(response: httpx.Response) -> HttpReply:
    return HttpReply(str(response.url), response.status_code, response.headers, b"")


class Transport:
    """Sends requests; threads may share it."""

    def __init__(self, connection: Connection, verify: Verify) -> None:
        self._connection, self._verify = connection, verify
        self._client: httpx.Client | None = None
        self._lock = threading.Lock()

    def get(self, request: Get, timeout_s: float) -> HttpReply:
        return self._send("GET", request.path, timeout_s, params=request.query, headers=request.headers)

    def run(self, request: ClientRequest, **headers: str) -> HttpReply:
        """Return the whole answer, whatever its status. The call has what is left to the deadline, at least 0.1 s."""
        left_s = max(0.1, request.deadline - time.monotonic())
        return self._send(
            request.method, request.path, left_s, content=request.body, headers=request.headers(**headers)
        )

    @contextlib.contextmanager
    def follow(self, request: ClientRequest, follower: Follower) -> Iterator[Iterator[bytes]]:
        """Open the stream of a run's events; raise what is refused before it begins."""
        with self._opened(
            request.method,
            request.path,
            _head_s(request),
            content=request.body or None,
            headers=follower.headers,
            timeout=_timeout(SILENCE_MAX_S),
        ) as response:
            if response.status_code != 200:
                self._whole(response, SILENCE_MAX_S).checked()
            follower.connected(_head(response))
            yield response.iter_bytes()

    def close(self) -> None:
        with self._lock:
            if self._client is not None:
                self._client.close()

    def _send(self, method: str, path: str, timeout_s: float, **parts: Any) -> HttpReply:
        with self._opened(method, path, timeout_s, timeout=_timeout(timeout_s), **parts) as response:
            return self._whole(response, timeout_s)

    def _whole(self, response: httpx.Response, timeout_s: float) -> HttpReply:
        body = _Body(time.monotonic() + timeout_s)
        for piece in response.iter_bytes():
            body.add(piece)
        return body.reply(response)

    @contextlib.contextmanager
    def _opened(self, method: str, path: str, head_s: float, **parts: Any) -> Iterator[httpx.Response]:
        """Yield the answer when its head has come, within `head_s` seconds."""
        try:
            client = self.open()
            with ending(time.monotonic() + head_s):
                response = client.send(client.build_request(method, path, **parts), stream=True)
            with contextlib.closing(response):
                check_encoding(response)
                yield response
        except RepriseError:
            raise
        except _FAILURES as problem:
            raise _unreachable(self._connection, problem) from problem

    def open(self) -> httpx.Client:
        """Return the client, which is made when it is first used: a child that sends nothing needs none.

        To make it before the first fork imports what requests need. A child that is forked while a thread imports a
        module waits for that module for ever.
        """
        with self._lock, forks_wait:
            if self._client is None:
                self._client = limited(httpx.Client(**_options(self._connection, self._verify)))
            return self._client


class AsyncTransport:
    """Sends requests from the tasks of one event loop."""

    def __init__(self, connection: Connection, verify: Verify) -> None:
        self._connection = connection
        self._client = httpx.AsyncClient(**_options(connection, verify))

    async def get(self, request: Get, timeout_s: float) -> HttpReply:
        return await self._send("GET", request.path, timeout_s, params=request.query, headers=request.headers)

    async def run(self, request: ClientRequest, **headers: str) -> HttpReply:
        """Return the whole answer, whatever its status. The call has what is left to the deadline, at least 0.1 s."""
        left_s = max(0.1, request.deadline - time.monotonic())
        return await self._send(
            request.method, request.path, left_s, content=request.body, headers=request.headers(**headers)
        )

    @contextlib.asynccontextmanager
    async def follow(self, request: ClientRequest, follower: Follower) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open the stream of a run's events; raise what is refused before it begins."""
        async with self._opened(
            request.method,
            request.path,
            _head_s(request),
            content=request.body or None,
            headers=follower.headers,
            timeout=_timeout(SILENCE_MAX_S),
        ) as response:
            if response.status_code != 200:
                (await self._whole(response, SILENCE_MAX_S)).checked()
            follower.connected(_head(response))
            yield response.aiter_bytes()

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _send(self, method: str, path: str, timeout_s: float, **parts: Any) -> HttpReply:
        async with self._opened(method, path, timeout_s, timeout=_timeout(timeout_s), **parts) as response:
            return await self._whole(response, timeout_s)

    async def _whole(self, response: httpx.Response, timeout_s: float) -> HttpReply:
        body = _Body(time.monotonic() + timeout_s)
        async for piece in response.aiter_bytes():
            body.add(piece)
        return body.reply(response)

    @contextlib.asynccontextmanager
    async def _opened(self, method: str, path: str, head_s: float, **parts: Any) -> AsyncIterator[httpx.Response]:
        """Yield the answer when its head has come, within `head_s` seconds."""
        try:
            request = self._client.build_request(method, path, **parts)
            async with contextlib.aclosing(await self._head(request, head_s)) as response:
                check_encoding(response)
                yield response
        except RepriseError:
            raise
        except _FAILURES as problem:
            raise _unreachable(self._connection, problem) from problem

    async def _head(self, request: httpx.Request, head_s: float) -> httpx.Response:
        try:
            return await asyncio.wait_for(self._client.send(request, stream=True), head_s)
        except asyncio.TimeoutError as late:  # another one than TimeoutError in Python 3.10
            raise httpx.ReadTimeout("the answer took too long") from late
