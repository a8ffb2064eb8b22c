"""Opens any-llm's clients for each vendor and credential: pooled connections, nothing from the environment."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import httpx

from app.addresses import FORBIDDEN, GuardedBackend, is_forbidden_host
from app.errors import ProviderError
from app.providers.failures import ProviderFailure
from app.providers.transport import ANSWER_BYTES, BoundedTransport
from app.providers.types import Credential, ModelRef
from app.providers.vendors import VENDORS, VendorProfile

if TYPE_CHECKING:
    from any_llm import AnyLLM
    from openai import AsyncOpenAI

_AUTHENTICATION = (
    "authorization",
    "x-api-key",
    "x-goog-api-key",
    "x-goog-user-project",
    "openai-organization",
    "openai-project",
)
_CONNECT_TIMEOUT_S = 10.0
_CLIENTS_MAX = 256
_POOLS = 64


class Clients:
    """The clients of one event loop, which share their connections; the least recently used are forgotten beyond 256.

    The SDKs read what they are not given from environment variables, so each client is given its base URL, and each
    request gets its credential, and no other, when it is sent.
    """

    def __init__(self, answer_bytes: int = ANSWER_BYTES) -> None:
        self._transport = SharedTransport(GuardedBackend(refuse))
        self._bounded = {
            streamed: BoundedTransport(self._transport, answer_bytes=answer_bytes, streamed=streamed)
            for streamed in (False, True)
        }
        self._open: OrderedDict[tuple[str, str, str | None, bool], AnyLLM] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, model: ModelRef, credential: Credential | None, *, streamed: bool) -> AnyLLM:
        """Return a client; `ProviderError` where the vendor needs a key, or the endpoint a base URL, and has none."""
        credential = credential or Credential()
        api_key = credential.api_key or None
        vendor = VENDORS[model.vendor]
        base_url = model.base_url or credential.base_url or vendor.base_url
        if not base_url:
            raise ProviderError(f"There is no base URL for {model.vendor}; set one with its credential.")
        if not api_key and vendor.base_url:
            raise ProviderError(f"There is no credential for {model.vendor}.")
        key = (model.vendor, base_url, api_key, streamed)
        with self._lock:
            if key not in self._open:
                self._open[key] = _open(vendor, base_url, api_key, self._bounded[streamed])
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
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=30)
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


def refuse(host: str) -> None:
    """Raise `ProviderFailure` for a forbidden address; private ones stay open: self-hosted models are served there."""
    if is_forbidden_host(host):
        raise ProviderFailure(f"The base URL leads to {FORBIDDEN}.")


def _open(vendor: VendorProfile, base_url: str, api_key: str | None, transport: httpx.AsyncBaseTransport) -> AnyLLM:
    from any_llm import AnyLLM  # takes seconds: only for a process that calls a model
    from any_llm.exceptions import ProviderError as AnyProviderError

    http = httpx.AsyncClient(
        transport=transport,  # one of our own, so none through the environment's proxies
        follow_redirects=False,
        event_hooks={"request": [_authenticate(vendor.headers(api_key) if api_key else {})]},
    )
    options: dict[str, Any] = {"api_key": api_key or "none", "max_retries": 0, "unified_exceptions": True}
    if vendor.wire == "google":
        google = {"base_url": base_url, "api_version": "v1beta", "httpx_async_client": http}
        options |= {"vertexai": False, "http_options": google}
    else:
        options |= {"http_client": http}
    if vendor.base_url is None:
        client = AnyLLM.create_openai_compatible(vendor.any_llm_name, base_url, **options)
    else:
        client = AnyLLM.create(vendor.any_llm_name, api_base=base_url, **options)
    # any-llm would search the whole text of each error with patterns that take quadratic time, and blame the request
    # for an answer whose error says "invalid".
    client._classify_exception = lambda exception: AnyProviderError  # type: ignore[method-assign]
    if vendor.wire == "openai":
        openai: AsyncOpenAI = client.client  # type: ignore[attr-defined]
        openai.chat.completions.create = _sending_as_is(openai)  # type: ignore[assignment,method-assign]
    return client


def _sending_as_is(client: AsyncOpenAI) -> Callable[..., Awaitable[Any]]:
    """Return a `create` that sends its arguments as they are, by the client's `post`, which its README documents.

    The library's own searches all that may be an argument for what to rename, and renames nothing. That was a fifth of
    a call of two messages, and more of one of many.
    """
    from openai import AsyncStream
    from openai.types.chat import ChatCompletion, ChatCompletionChunk

    url = f"{str(client.base_url).rstrip('/')}/chat/completions"  # whole: the library takes long to join two parts

    async def create(*, timeout: float | None = None, extra_body: Mapping[str, Any] | None = None, **body: Any) -> Any:
        return await client.post(
            url,
            body={**body, **(extra_body or {})},
            cast_to=ChatCompletion,
            stream=body.get("stream", False),
            stream_cls=AsyncStream[ChatCompletionChunk],
            options={"timeout": timeout},
        )

    return create


def _authenticate(headers: dict[str, str]) -> Callable[[httpx.Request], Awaitable[None]]:
    async def authenticate(request: httpx.Request) -> None:
        for name in _AUTHENTICATION:
            request.headers.pop(name, None)
        request.headers.update(headers)
        timeout = request.extensions.get("timeout", {})
        connect_s = min(timeout.get("connect") or _CONNECT_TIMEOUT_S, _CONNECT_TIMEOUT_S)
        request.extensions["timeout"] = timeout | {"connect": connect_s}

    return authenticate
