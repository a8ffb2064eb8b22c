"""Calls the API of a Reprise elsewhere for the commands that run in CI."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx

from reprise_client import tls
from reprise_client.cli import terminal
from reprise_client.cli.failures import CouldNotRun, RefusedRequest
from reprise_client.limits import ENCODING, check_encoding, ending, limited
from reprise_client.whole_answers import whole_answer

TRIES = 8
BUSY, UNAVAILABLE = 429, 503
MAYBE_DONE = "It may have been carried out, so it was not sent again: look in Reprise before you repeat it."
REJECTED = (400, 413)
REFUSED = (*REJECTED, 409)
NDJSON = "application/x-ndjson"
ANSWER_MAX, ANSWER_S = 64_000_000, 300.0
"""Bytes and seconds of an answer that is read as a whole."""
HEAD_S = 60.0
"""How long the head of an answer is waited for."""
PAUSE_S = 1.0
PAUSE_MAX_S = 60.0
# A forge kills a job some seconds after its first signal.
CANCEL_TRIES = 3
CANCEL_PAUSE_MAX_S = 1.0
CANCEL_S = 5.0


class RemoteAnswer(dict[str, Any]):
    """An object that `source` answered with. To read a field that it lacks raises `CouldNotRun`: it is no Reprise."""

    def __init__(self, source: str, fields: Mapping[str, Any]) -> None:
        super().__init__(fields)
        self.source = source

    def __missing__(self, field: str) -> Any:
        message = f"{self.source} answered JSON without {field!r}: is this the address of a Reprise?"
        raise CouldNotRun(message, httpx.codes.OK)

    def listed(self, field: str) -> list[RemoteAnswer]:
        """Return the objects of a list; raises as for a field that is not there."""
        entries = self[field]
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            return self.__missing__(field)  # type: ignore[no-any-return]
        return [RemoteAnswer(self.source, entry) for entry in entries]


class Remote:
    """Repeats requests that a busy (429) or unavailable (503) instance refused, after the seconds of Retry-After.

    A POST that was answered 503 may have started work that costs money. It is repeated only if it is `harmless`, or if
    the answer names it as refused before any change.
    Writes to standard error, once, that it waits.
    """

    def __init__(
        self,
        url: str,
        api_key: str,
        *,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        tries: int = TRIES,
    ) -> None:
        headers = {"Authorization": f"Bearer {api_key}", **ENCODING}
        client = httpx.Client(
            base_url=url.rstrip("/"), headers=headers, timeout=30, transport=transport, verify=tls.default()
        )
        self._client = limited(client)
        self._sleep, self._tries = sleep, tries
        self._waiting_shown = False
        self.url = url.rstrip("/")

    def close(self) -> None:
        self._client.close()

    def with_address(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return the answer with the whole `url` of its page, which is a path if the instance does not know its own."""
        path = str(answer.get("url", ""))
        return answer | {"url": self.url + path} if path.startswith("/") else answer

    def get(self, path: str, **query: Any) -> RemoteAnswer:
        return _content(self._request("GET", path, params=query))

    def post(self, path: str, body: Any = None, *, if_match: str = "", harmless: bool = False) -> RemoteAnswer:
        """Post; a `harmless` request changes nothing, or the second time nothing more."""
        headers = {"If-Match": if_match} if if_match else {}
        body = {} if body is None else body
        return _content(self._request("POST", path, json=body, headers=headers, harmless=harmless))

    def post_for(self, path: str, body: Any = None, *, harmless: bool = False) -> RemoteAnswer | None:
        """Post; None if there is nothing to answer with (204)."""
        response = self._request("POST", path, json=body or {}, harmless=harmless)
        return None if response.status_code == httpx.codes.NO_CONTENT else _content(response)

    def patch(self, path: str, body: Any) -> RemoteAnswer:
        return _content(self._request("PATCH", path, json=body))

    def put(self, path: str, body: Any) -> RemoteAnswer:
        return _content(self._request("PUT", path, json=body))

    def cancel(self, path: str) -> bool:
        """Cancel what is at `path`, also when the command is to end; the instance may be gone.

        Returns False if it had ended already.
        """
        cancel = f"{path}/cancel"
        try:
            _content(self._send("POST", cancel, CANCEL_TRIES, _short_sleep, harmless=True, json={}, timeout=CANCEL_S))
        except CouldNotRun as problem:
            return problem.status != httpx.codes.CONFLICT
        return True

    def delete(self, path: str) -> None:
        response = self._request("DELETE", path)
        if response.status_code != httpx.codes.NO_CONTENT:
            _content(response)

    def draft(self, prompt_id: int) -> tuple[RemoteAnswer, str]:
        """Return a prompt with its draft, and the draft's ETag."""
        response = self._request("GET", f"/api/v1/prompts/{prompt_id}", params={"productive": "false"})
        return _content(response), response.headers.get("ETag", "")

    def change_draft(self, prompt_id: int, change: Any, *, if_match: str) -> tuple[RemoteAnswer, str]:
        """Change the draft that has this ETag; return as `draft` does. The status is 412 if it has another one."""
        headers = {"If-Match": if_match}
        response = self._request("PATCH", f"/api/v1/prompts/{prompt_id}", json=change, headers=headers)
        return _content(response), response.headers.get("ETag", "")

    def ingest(self, path: str, content: bytes, headers: Mapping[str, str]) -> httpx.Response:
        """Post what an instance stores once, however often it arrives.

        The answer is that to a batch: taken, or with status 400 or 413 rejected as a whole.
        """
        response = self._request("POST", path, content=content, headers=headers, repeatable=True)
        taken = None if response.status_code in REJECTED else _content(response)
        if response.is_success and not (isinstance(taken, dict) and "partialSuccess" in taken):
            raise CouldNotRun(f"{response.url} did not answer as Reprise does.")
        return response

    def download(self, path: str, **query: Any) -> Iterator[bytes]:
        """Yield JSON lines in pieces as they arrive. Raises `CouldNotRun` if they are cut off."""
        response = self._request("GET", path, params=query, stream=True)
        try:
            if not response.is_success:
                _content(_whole(response))
            if response.headers.get("Content-Type") != NDJSON:
                raise CouldNotRun(f"{response.url} did not answer as Reprise does.")
            check_encoding(response)
            yield from response.iter_bytes()
        except httpx.HTTPError as error:
            raise CouldNotRun(f"{response.url}: the answer was cut off: {error}") from error
        finally:
            response.close()

    def pages(self, path: str, name: str) -> Iterator[RemoteAnswer]:
        """Yield every entry of the list `name`, page by page."""
        query: dict[str, Any] = {"limit": 100}
        cursors = set()
        while True:
            page = self.get(path, **query)
            yield from page.listed(name)
            if not (cursor := page["nextCursor"]):
                return
            if not isinstance(cursor, str) or cursor in cursors:
                raise CouldNotRun(f"{page.source} answered with a page that leads to no next one.")
            cursors.add(cursor)
            query["cursor"] = cursor

    def _request(self, method: str, path: str, **parts: Any) -> httpx.Response:
        return self._send(method, path, self._tries, self._sleep, **parts)

    def _send(
        self,
        method: str,
        path: str,
        tries: int,
        sleep: Callable[[float], None],
        *,
        repeatable: bool = False,
        harmless: bool = False,
        stream: bool = False,
        **parts: Any,
    ) -> httpx.Response:
        may_start_work = method == "POST" and not (repeatable or harmless)
        for attempt in range(1, tries + 1):
            try:
                with ending(time.monotonic() + parts.get("timeout", HEAD_S)):
                    response = self._client.send(self._built(method, path, **parts), stream=True)
                if not stream:
                    response = _whole(response)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                # A request that did not arrive, and one that has the same effect twice, may be sent again.
                lost = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
                if not (repeatable or lost or method in ("GET", "PUT")) or attempt == tries:
                    problem = f"{self._client.base_url}: {str(error) or type(error).__name__}"
                    is_sent = not lost and isinstance(error, httpx.TransportError)
                    raise CouldNotRun(f"{problem}. {MAYBE_DONE}" if may_start_work and is_sent else problem) from error
                problem, retry_after = str(error) or type(error).__name__, ""
            else:
                is_unchanged = response.headers.get("X-Unchanged") == "true"
                if response.status_code == UNAVAILABLE and may_start_work and not is_unchanged:
                    raise _maybe_done(response)
                if response.status_code not in (BUSY, UNAVAILABLE) or attempt == tries:
                    return response
                problem, retry_after = f"answered {response.status_code}", response.headers.get("Retry-After", "")
                response.close()
            self._show_waiting(problem)
            pause_s = float(retry_after) if retry_after.isdecimal() else PAUSE_S * attempt
            sleep(min(pause_s, PAUSE_MAX_S))
        raise AssertionError("unreachable")

    def _built(self, method: str, path: str, **parts: Any) -> httpx.Request:
        try:
            return self._client.build_request(method, path, **parts)
        except ValueError as error:  # NaN, an infinite number, or half a character
            raise CouldNotRun(f"A value can't be sent as JSON: {error}") from error

    def _show_waiting(self, problem: str) -> None:
        if not self._waiting_shown:
            self._waiting_shown = True
            terminal.echo(f"{self.url}: {problem}. Waiting for it, {self._tries} tries in all.", err=True)


def _whole(response: httpx.Response) -> httpx.Response:
    return whole_answer(response, bytes_max=ANSWER_MAX, until=time.monotonic() + ANSWER_S)


def _short_sleep(seconds: float) -> None:
    time.sleep(min(seconds, CANCEL_PAUSE_MAX_S))


def _maybe_done(response: httpx.Response) -> CouldNotRun:
    message = _refusal(response).message.rstrip(".")
    return CouldNotRun(f"{message}. {MAYBE_DONE}", response.status_code)


def _content(response: httpx.Response) -> RemoteAnswer:
    source, status = _source(response), response.status_code
    if not response.is_success:
        raise _refusal(response)
    if isinstance(content := _json(response), dict):
        return RemoteAnswer(source, content)
    raise CouldNotRun(f"{source} answered {status}, but no JSON object: is this the address of a Reprise?", status)


def _refusal(response: httpx.Response) -> CouldNotRun:
    content, status = _json(response), response.status_code
    message = content.get("error") if isinstance(content, dict) else None
    kind = RefusedRequest if status in REFUSED else CouldNotRun
    return kind(f"{_source(response)} answered {status}: {message or '…'}", status)


def _source(response: httpx.Response) -> str:
    return f"{response.request.method} {response.request.url}"


def _json(response: httpx.Response) -> Any:
    try:
        return response.json()
    except (ValueError, RecursionError):
        return None


def connect(url: str, api_key: str, tries: int = TRIES, sleep: Callable[[float], None] = time.sleep) -> Remote:
    """Return the instance at `url`, without calling it; raises `CouldNotRun` for a bad URL or a missing one or key."""
    if not url:
        raise CouldNotRun("Set REPRISE_URL to the base URL of the instance.")
    if not api_key:
        raise CouldNotRun("Set REPRISE_API_KEY to a key of the prompt's project.")
    if not url.startswith(("http://", "https://")):
        raise CouldNotRun(f"--url: {url!r} does not begin with http:// or https://.")
    if re.search("/api(/|$)", url):
        raise CouldNotRun(f"--url: {url!r} has a path of the API: REPRISE_URL ends before /api.")
    return Remote(url, api_key, tries=tries, sleep=sleep)


UNFINISHED = ("queued", "running")
POLL_S = (0.25, 2.0)
LOOK_S = 1.0


def judge_fields(judge: str | None, judging: str | None) -> dict[str, str]:
    """Return the fields of a request that choose the judge, as an instance of an older release knows no defaults."""
    fields = {"judgeModelName": judge, "judge": judging}
    return {name: value for name, value in fields.items() if value is not None}


def wait_for_end(
    instance: Remote,
    path: str,
    timeout_s: float,
    sleep: Callable[[float], None],
    monotonic: Callable[[], float],
    seen: Callable[[dict[str, Any]], None] = lambda shown: None,
) -> dict[str, Any]:
    """Return what is at `path` when it has ended, looking after pauses that grow; `seen` gets each look.

    Cancels it and raises `CouldNotRun` after `timeout_s`, and when `sleep` or the instance raises it.
    """
    until, pause_s = monotonic() + timeout_s, POLL_S[0]
    try:
        while True:
            shown = instance.with_address(instance.get(path))
            seen(shown)
            if shown["status"] not in UNFINISHED:
                return shown
            if monotonic() > until:
                raise CouldNotRun(f"not finished within {timeout_s:g} s")
            sleep(pause_s)
            pause_s = min(pause_s * 1.5, POLL_S[1])
    except CouldNotRun:
        instance.cancel(path)
        raise
