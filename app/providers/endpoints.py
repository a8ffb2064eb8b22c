"""Finds the address of a model and what authenticates there."""

from __future__ import annotations

from dataclasses import dataclass, field

from app.errors import ProviderError
from app.providers.types import Credential, ModelRequest
from app.providers.vendors import VENDORS


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A base URL without a slash at its end, the key, and the headers that it is sent in (none without a key).

    `query` has the version of Azure's API, "" for other addresses.
    """

    base_url: str
    query: str
    api_key: str | None = field(repr=False)
    headers: dict[str, str] = field(repr=False)


def endpoint_of(request: ModelRequest) -> Endpoint:
    """`ProviderError` where the vendor needs a key, or the endpoint a base URL, and has none."""
    model, credential = request.model, request.credential or Credential()
    vendor, api_key = VENDORS[model.vendor], credential.api_key or None
    base_url = model.base_url or credential.base_url or vendor.base_url
    if not base_url:
        raise ProviderError(f"There is no base URL for {model.vendor}; set one with its credential.")
    if not api_key and vendor.base_url:
        raise ProviderError(f"There is no credential for {model.vendor}.")
    base_url, _, query = base_url.partition("?")
    headers = {"api-key": api_key} if query and api_key else vendor.headers(api_key) if api_key else {}
    return Endpoint(base_url.rstrip("/"), query, api_key, headers)
