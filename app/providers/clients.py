"""Opens any-llm's clients for each vendor and credential: pooled connections, nothing from the environment."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import httpx

from app.errors import ProviderError
from app.providers.types import Credential, ModelRef, Vendor

if TYPE_CHECKING:
    from any_llm import AnyLLM

_ANY_LLM_NAMES = {"OPENAI": "openai", "ANTHROPIC": "anthropic", "GOOGLE": "gemini", "DEEPSEEK": "deepseek"}
_BASE_URLS = {
    "OPENAI": "https://api.openai.com/v1",
    "ANTHROPIC": "https://api.anthropic.com",
    "GOOGLE": "https://generativelanguage.googleapis.com",
    "DEEPSEEK": "https://api.deepseek.com",
}
_ENVIRONMENT: dict[Vendor, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "OPENAI": (("OPENAI_API_KEY",), ("OPENAI_BASE_URL",)),
    "ANTHROPIC": (("ANTHROPIC_API_KEY",), ("ANTHROPIC_BASE_URL",)),
    "GOOGLE": (("GEMINI_API_KEY", "GOOGLE_API_KEY"), ("GOOGLE_GEMINI_BASE_URL",)),
    "DEEPSEEK": (("DEEPSEEK_API_KEY",), ("DEEPSEEK_BASE_URL",)),
    "CUSTOM_OPENAI_COMPATIBLE": (("CUSTOM_OPENAI_API_KEY",), ("CUSTOM_OPENAI_BASE_URL",)),
}
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


def vendor_environment() -> dict[Vendor, tuple[tuple[str, ...], tuple[str, ...]]]:
    """The environment variables that hold each vendor's key and base URL, the first that is set counts.

    Reading them is up to the settings; nothing in this package does.
    """
    return dict(_ENVIRONMENT)


class Clients:
    """The clients of one event loop; those used least are forgotten beyond the 256th.

    All share one pool of connections. The SDKs would fill what they are not told from variables of their
    own, so each is told its base URL, and each request gets its credential, and no other, on its way out.
    """

    def __init__(self) -> None:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=200, keepalive_expiry=30)
        self._transport = _SharedTransport(limits=limits)
        self._open: OrderedDict[tuple[str, str, str | None], AnyLLM] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, model: ModelRef, credential: Credential | None) -> AnyLLM:
        """Raises `ProviderError` where the vendor needs a key, or the endpoint a base URL, and has none."""
        credential = credential or Credential()
        api_key = credential.api_key or None
        base_url = model.base_url or credential.base_url or _BASE_URLS.get(model.vendor)
        if not base_url:
            raise ProviderError(f"There is no base URL for {model.vendor}; set one with its credential.")
        if not api_key and model.vendor in _BASE_URLS:
            raise ProviderError(f"There is no credential for {model.vendor}.")
        key = (model.vendor, base_url, api_key)
        with self._lock:
            if key not in self._open:
                self._open[key] = _open(model.vendor, base_url, api_key, self._transport)
            self._open.move_to_end(key)
            while len(self._open) > _CLIENTS_MAX:
                self._open.popitem(last=False)
            return self._open[key]

    async def close(self) -> None:
        self._open.clear()
        await self._transport.close_for_all()


class _SharedTransport(httpx.AsyncHTTPTransport):
    """Lives as long as the process: a client that is closed must not close it for the others."""

    async def aclose(self) -> None:
        pass

    async def close_for_all(self) -> None:
        await super().aclose()


def _open(vendor: Vendor, base_url: str, api_key: str | None, transport: httpx.AsyncHTTPTransport) -> AnyLLM:
    from any_llm import AnyLLM  # takes seconds: only for a process that calls a model

    http = httpx.AsyncClient(
        transport=transport,  # one of our own, so none through the environment's proxies
        follow_redirects=False,
        event_hooks={"request": [_sign(_headers(vendor, api_key))]},
    )
    options: dict[str, Any] = {"api_key": api_key or "none", "max_retries": 0, "unified_exceptions": True}
    if vendor == "CUSTOM_OPENAI_COMPATIBLE":
        return AnyLLM.create_openai_compatible("custom", base_url, http_client=http, **options)
    if vendor == "GOOGLE":
        options |= {"vertexai": False, "http_options": _google_options(base_url, http)}
    else:
        options |= {"http_client": http}
    return AnyLLM.create(_ANY_LLM_NAMES[vendor], api_base=base_url, **options)


def _google_options(base_url: str, http: httpx.AsyncClient) -> dict[str, Any]:
    return {"base_url": base_url, "api_version": "v1beta", "httpx_async_client": http}


def _headers(vendor: Vendor, api_key: str | None) -> dict[str, str]:
    match vendor:
        case _ if not api_key:
            return {}
        case "ANTHROPIC":
            return {"x-api-key": api_key}
        case "GOOGLE":
            return {"x-goog-api-key": api_key}
        case _:
            return {"authorization": f"Bearer {api_key}"}


def _sign(headers: dict[str, str]) -> Callable[[httpx.Request], Awaitable[None]]:
    async def sign(request: httpx.Request) -> None:
        for name in _AUTHENTICATION:
            request.headers.pop(name, None)
        request.headers.update(headers)
        timeout = request.extensions.get("timeout", {})
        connect_s = min(timeout.get("connect") or _CONNECT_TIMEOUT_S, _CONNECT_TIMEOUT_S)
        request.extensions["timeout"] = timeout | {"connect": connect_s}

    return sign
