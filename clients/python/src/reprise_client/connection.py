"""The address of a server and the key that a client sends to it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import httpx

from reprise_client.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Connection:
    """`base_url` has no slash at its end."""

    base_url: str
    api_key: str = field(repr=False)

    @classmethod
    def of(cls, base_url: str | None, api_key: str | None) -> Connection:
        """Return the connection that the arguments name, or else the environment; `ConfigurationError` for none."""
        url = (base_url or os.environ.get("REPRISE_URL", "")).strip().rstrip("/")
        key = (api_key or os.environ.get("REPRISE_API_KEY", "")).strip()
        if not url:
            raise ConfigurationError("Give base_url, or set REPRISE_URL, to the base URL of the instance.")
        if not _is_http(url):
            raise ConfigurationError(f"base_url: {url!r} is not the base URL of an instance, such as http://host:8000.")
        if not key:
            raise ConfigurationError("Give api_key, or set REPRISE_API_KEY, to an API key of the prompt's project.")
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise ConfigurationError("api_key: an API key has only visible ASCII characters.")
        return cls(url, key)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.api_key}", "Accept": "application/json"}


def _is_http(url: str) -> bool:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        return False
    return parsed.scheme in ("http", "https") and bool(parsed.host) and not (parsed.query or parsed.fragment)
