"""Opens any-llm's clients for each vendor and credential: pooled connections, nothing from the environment."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import httpx

from app.addresses import GuardedBackend
from app.providers.endpoints import Endpoint, endpoint_of
from app.providers.http_client import CONNECT_TIMEOUT_S, IDLE_S, refuse
from app.providers.transport import BoundedTransport
from app.providers.types import ModelRequest
from app.providers.vendors import VENDORS, VendorProfile, WireFormat

if TYPE_CHECKING:
    from any_llm import AnyLLM

_AUTHENTICATION = ("authorization", "x-api-key", "x-goog-api-key", "x-goog-user-project")
_NAMES: dict[WireFormat, str] = {"anthropic": "anthropic", "google": "gemini"}
_CLIENTS_MAX = 256
_POOLS = 64


class Clients:
    """The clients of one event loop, which share their connections; the least recently used are forgotten beyond 256.

    The SDKs read what they are not given from environment variables, so each client is given its base URL, and each
    request gets its credential, and no other, when it is sent.
    """

    def __init__(self, answer_bytes: int) -> None:
        self._transport = SharedTransport(GuardedBackend(refuse))
        self._bounded = {
            streamed: BoundedTransport(self._transport, answer_bytes=answer_bytes, streamed=streamed)
            for streamed in (False, True)
        }
        self._open: OrderedDict[tuple[str, str, str | None, bool], AnyLLM] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, request: ModelRequest, *, streamed: bool) -> AnyLLM:
        """Return a client; `ProviderError` where the vendor has no key."""
        endpoint = endpoint_of(request)
        key = (request.model.vendor, endpoint.base_url, endpoint.api_key, streamed)
        with self._lock:
            if key not in self._open:
                self._open[key] = _open(VENDORS[request.model.vendor], endpoint, self._bounded[streamed])
            self._open.move_to_end(key)
            while len(self._open) > _CLIENTS_MAX:
                self._open.popitem(last=False)
            return self._open[key]

    async def close(self) -> None:
        self._open.clear()
        await self._transport.close_for_all()


class SharedTransport(httpx.AsyncBaseTransport):
    """Connections that outlive the clients which use them, in several pools.

    A pool goes through all its connections for each request, which takes longer than the calls when there are a
    thousand; so each request goes to the pool where the fewest wait.
    """

    def __init__(self, backend: GuardedBackend) -> None:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=IDLE_S)
        verify = httpx.create_ssl_context()
        self._pools = [httpx.AsyncHTTPTransport(verify=verify, limits=limits) for _ in range(_POOLS)]
        for pool in self._pools:
            # httpx has no argument for the network backend.
            pool._pool._network_backend = backend
        self._waiting = [0] * _POOLS

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        at = min(range(_POOLS), key=self._waiting.__getitem__)
        self._waiting[at] += 1
        try:
            return await self._pools[at].handle_async_request(request)
        finally:
            self._waiting[at] -= 1

    async def aclose(self) -> None:
        """Do nothing: a client that is closed must not close the connections of the others."""

    async def close_for_all(self) -> None:
        for pool in self._pools:
            await pool.aclose()


def _open(vendor: VendorProfile, endpoint: Endpoint, transport: httpx.AsyncBaseTransport) -> AnyLLM:
    from any_llm import AnyLLM  # takes seconds: only for a process that calls a model
    from any_llm.exceptions import ProviderError as AnyProviderError

    http = httpx.AsyncClient(
        transport=transport,  # one of our own, so none through the environment's proxies
        follow_redirects=False,
        event_hooks={"request": [_authenticate(endpoint.headers)]},
    )
    options: dict[str, Any] = {"api_key": endpoint.api_key, "max_retries": 0, "unified_exceptions": True}
    if vendor.wire == "google":
        google = {"base_url": endpoint.base_url, "api_version": "v1beta", "httpx_async_client": http}
        options |= {"vertexai": False, "http_options": google}
    else:
        options |= {"http_client": http}
    client = AnyLLM.create(_NAMES[vendor.wire], api_base=endpoint.base_url, **options)
    # any-llm would search the whole text of each error with patterns that take quadratic time, and blame the request
    # for an answer whose error says "invalid".
    client._classify_exception = lambda exception: AnyProviderError  # type: ignore[method-assign]
    return client


def _authenticate(headers: dict[str, str]) -> Callable[[httpx.Request], Awaitable[None]]:
    async def authenticate(request: httpx.Request) -> None:
        for name in _AUTHENTICATION:
            request.headers.pop(name, None)
        request.headers.update(headers)
        timeout = request.extensions.get("timeout", {})
        connect_s = min(timeout.get("connect") or CONNECT_TIMEOUT_S, CONNECT_TIMEOUT_S)
        request.extensions["timeout"] = timeout | {"connect": connect_s}

    return authenticate
