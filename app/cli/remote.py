"""A Reprise elsewhere, over its API: what the commands that run in CI speak to."""

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
    """There is nothing to report: exit code 2, as for wrong options."""

    exit_code = 2


class Remote:
    """Waits and asks again when the instance is busy (429) or away for the moment (503), as it says in Retry-After."""

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
        return self._ask("GET", path, params=query)

    def post(self, path: str, body: Any = None) -> Any:
        return self._ask("POST", path, json={} if body is None else body)

    def pages(self, path: str, name: str) -> Iterator[Any]:
        """Every entry of a list, whatever its length."""
        query: dict[str, Any] = {"limit": 100}
        while True:
            page = self.get(path, **query)
            yield from page[name]
            if not page["nextCursor"]:
                return
            query["cursor"] = page["nextCursor"]

    def _ask(self, method: str, path: str, **parts: Any) -> Any:
        for attempt in range(1, TRIES + 1):
            answer = self._send(method, path, last=attempt == TRIES, **parts)
            if answer is not None and answer.status_code not in RETRIED:
                return _content(answer)
            if attempt == TRIES and answer is not None:
                return _content(answer)
            self._sleep(_pause_s(answer, attempt))
        raise AssertionError("unreachable")

    def _send(self, method: str, path: str, *, last: bool, **parts: Any) -> httpx.Response | None:
        """The answer; None when nothing arrived there, so that asking again does nothing twice."""
        try:
            return self._client.request(method, path, **parts)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            if last:
                raise CouldNotRun(f"{self._client.base_url}: {error}") from error
            return None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            if method != "GET" or last:
                raise CouldNotRun(f"{self._client.base_url}: {error or type(error).__name__}") from error
            return None


def _pause_s(answer: httpx.Response | None, attempt: int) -> float:
    asked = answer.headers.get("Retry-After", "") if answer is not None else ""
    return min(float(asked) if asked.isdigit() else PAUSE_S * attempt, PAUSE_MAX_S)


def _content(answer: httpx.Response) -> Any:
    try:
        content = answer.json() if answer.content else None
    except ValueError:
        content = None
    if answer.is_success and content is not None:
        return content
    words = content.get("error") if isinstance(content, dict) else None
    raise CouldNotRun(f"{answer.request.method} {answer.request.url} answered {answer.status_code}: {words or '…'}")


def connect(url: str, api_key: str) -> Remote:
    if not api_key:
        raise CouldNotRun("Set REPRISE_API_KEY to a key of the prompt's project.")
    if not url.startswith(("http://", "https://")):
        raise CouldNotRun(f"--url: {url!r} does not begin with http:// or https://.")
    return Remote(url, api_key)
