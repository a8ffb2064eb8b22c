"""Sends requests to addresses that users entered: only to public ones, with a time limit, and reads short answers."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache

import httpx

from app.errors import Invalid, ServiceError
from app.network.addresses import FORBIDDEN, GuardedBackend, is_forbidden_host, is_private_host
from app.network.proxies import Network
from app.values.storable import storable_text
from app.webhooks.loop_thread import LoopThread

TIMEOUT_S = 15.0
"""The limit of an attempt, from the resolution of the name to the end of the answer."""
TEXT_S = 2.0
ANSWER_BYTES = 4000
PRIVATE = "not public: the setting REPRISE_WEBHOOK_NETWORKS names the networks that may be called"


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """The receiver's answer, with its status and the beginning of its text, or the `error` if there is no answer."""

    status_code: int | None
    answer: str
    error: str | None
    latency_ms: int

    @property
    def succeeded(self) -> bool:
        return self.status_code is not None and 200 <= self.status_code < 300


@dataclass(slots=True, kw_only=True)
class WebhookSender:
    """Sends requests; `networks` may be called although they are private. The first request starts the event loop."""

    networks: tuple[Network, ...] = ()
    timeout_s: float = TIMEOUT_S
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _loop: LoopThread | None = field(default=None, init=False)

    def refuse(self, host: str) -> None:
        """Raise `Invalid` for a host that webhooks must not call; a name is checked by the addresses it resolves to."""
        if is_forbidden_host(host):
            raise Invalid(f"The address is {FORBIDDEN}.")
        if is_private_host(host, self.networks):
            raise Invalid(f"The address is {PRIVATE}.")

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> DeliveryAttempt:
        """Send a request once, without following redirects."""
        with self._lock:
            self._loop = self._loop or LoopThread()
        started = time.perf_counter()
        status_code, answer, error = self._loop.run(self._answered(url, headers, body))
        return DeliveryAttempt(status_code, answer, error, round((time.perf_counter() - started) * 1000))

    def close(self) -> None:
        """Stop the event loop; the next request starts it again."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            loop.close()

    async def _answered(self, url: str, headers: Mapping[str, str], body: bytes) -> tuple[int | None, str, str | None]:
        """Return the status, the text and the error of an attempt."""
        try:
            async with asyncio.timeout(self.timeout_s):
                return *await self._post(url, headers, body), None
        except TimeoutError:
            return None, "", f"No answer within {self.timeout_s:g} s."
        except ServiceError as error:
            return None, "", str(error)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            return None, "", storable_text(_reason(error))

    async def _post(self, url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, str]:
        transport = httpx.AsyncHTTPTransport(verify=_tls(), limits=httpx.Limits(max_keepalive_connections=0))
        # httpx has no argument for the network backend.
        transport._pool._network_backend = GuardedBackend(self.refuse)
        sent = {**headers, "user-agent": "Reprise", "accept-encoding": "identity"}
        async with (
            httpx.AsyncClient(transport=transport, timeout=None) as client,  # noqa: S113 - `_answered` has the time
            client.stream("POST", url, headers=sent, content=body) as response,
        ):
            return response.status_code, await _beginning(response)


def _reason(error: BaseException) -> str:
    """Return why a request has no answer: a sentence that names what to check, with the error's own words after it."""
    causes = list(_causes(error))
    kinds = ((kind, text) for kind, text in _REASONS.items() if any(isinstance(cause, kind) for cause in causes))
    _, text = next(kinds, (None, "The request failed"))
    words = " ".join(str(error).split()).rstrip(".")
    return f"{text}: {words}." if words else f"{text}."


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


# The first that fits: a name that is not found and a certificate are causes of a connection that can't be made.
_REASONS: Mapping[type[BaseException], str] = {
    socket.gaierror: "The name of the host was not found. Check the address",
    ssl.SSLCertVerificationError: "The receiver's certificate can't be verified",
    ssl.SSLError: "The receiver did not speak TLS. Check whether the address begins with http or https",
    httpx.ConnectError: "No connection could be made. Check that the receiver runs and that its port can be reached",
    httpx.ProtocolError: "The receiver broke off, or did not answer in HTTP",
    httpx.NetworkError: "The connection ended before the answer",
    httpx.InvalidURL: "The address can't be called",
}


async def _beginning(response: httpx.Response) -> str:
    """Return the part of the text that arrives within `TEXT_S`. More is not needed: the status has the result."""
    beginning = b""
    with suppress(httpx.HTTPError, TimeoutError):
        async with asyncio.timeout(TEXT_S):
            async for piece in response.aiter_raw():
                beginning += piece[:ANSWER_BYTES]
                if len(beginning) >= ANSWER_BYTES:
                    break
    return storable_text(beginning[:ANSWER_BYTES].decode(errors="replace"))


@cache
def _tls() -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=False)
