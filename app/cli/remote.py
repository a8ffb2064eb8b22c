"""Calls the API of a Reprise elsewhere, for the commands that run in CI."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import click
import httpx

TRIES = 8
RETRIED = (429, 503)
PAUSE_S = 1.0
PAUSE_MAX_S = 60.0


class CouldNotRun(click.ClickException):
    """A command has no result; it exits with code 2, as for wrong options."""

    exit_code = 2


class Remote:
    """Repeats requests that a busy (429) or unavailable (503) instance refused, after the seconds of Retry-After."""

    def __init__(
        self,
        url: str,
        api_key: str,
        *,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        headers = {"Authorization": f"Bearer {api_key}"}
        self._client = httpx.Client(base_url=url.rstrip("/"), headers=headers, timeout=30, transport=transport)
        self._sleep = sleep

    def get(self, path: str, **query: Any) -> Any:
        return self._request("GET", path, params=query)

    def post(self, path: str, body: Any = None) -> Any:
        return self._request("POST", path, json={} if body is None else body)

    def pages(self, path: str, name: str) -> Iterator[Any]:
        """Yield every entry of the list `name`, page by page."""
        query: dict[str, Any] = {"limit": 100}
        while True:
            page = self.get(path, **query)
            yield from page[name]
            if not page["nextCursor"]:
                return
            query["cursor"] = page["nextCursor"]

    def _request(self, method: str, path: str, **parts: Any) -> Any:
        for attempt in range(1, TRIES + 1):
            try:
                response = self._client.request(method, path, **parts)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                # A request that did not arrive, and one that changes nothing, may be sent again.
                repeatable = method == "GET" or isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
                if not repeatable or attempt == TRIES:
                    raise CouldNotRun(f"{self._client.base_url}: {str(error) or type(error).__name__}") from error
                retry_after = ""
            else:
                if response.status_code not in RETRIED or attempt == TRIES:
                    return _content(response)
                retry_after = response.headers.get("Retry-After", "")
            pause_s = float(retry_after) if retry_after.isdigit() else PAUSE_S * attempt
            self._sleep(min(pause_s, PAUSE_MAX_S))
        raise AssertionError("unreachable")


def _content(response: httpx.Response) -> Any:
    try:
        content = response.json() if response.content else None
    except ValueError:
        content = None
    if response.is_success and content is not None:
        return content
    message = content.get("error") if isinstance(content, dict) else None
    request = response.request
    raise CouldNotRun(f"{request.method} {request.url} answered {response.status_code}: {message or '…'}")


def connect(url: str, api_key: str) -> Remote:
    if not api_key:
        raise CouldNotRun("Set REPRISE_API_KEY to a key of the prompt's project.")
    if not url.startswith(("http://", "https://")):
        raise CouldNotRun(f"--url: {url!r} does not begin with http:// or https://.")
    return Remote(url, api_key)
