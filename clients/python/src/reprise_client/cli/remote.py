"""Calls the API of a Reprise elsewhere for the commands that run in CI, and replays test cases there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any

import click
import httpx

from reprise_client import tls
from reprise_client.cli import terminal

TRIES = 8
RETRIED = (429, 503)
REJECTED = (400, 413)
NDJSON = "application/x-ndjson"
PAUSE_S = 1.0
PAUSE_MAX_S = 60.0


class CouldNotRun(click.ClickException):
    """A command has no result; it exits with code 2, as for wrong options.

    `status` is that of the answer, or None without one.
    """

    exit_code = 2

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


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
        found = self[field]
        if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
            return self.__missing__(field)  # type: ignore[no-any-return]
        return [RemoteAnswer(self.source, entry) for entry in found]


class Remote:
    """Repeats requests that a busy (429) or unavailable (503) instance refused, after the seconds of Retry-After.

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
        headers = {"Authorization": f"Bearer {api_key}"}
        self._client = httpx.Client(
            base_url=url.rstrip("/"), headers=headers, timeout=30, transport=transport, verify=tls.default()
        )
        self._sleep, self._tries = sleep, tries
        self._waiting_told = False
        self.url = url.rstrip("/")

    def close(self) -> None:
        self._client.close()

    def get(self, path: str, **query: Any) -> RemoteAnswer:
        return _content(self._request("GET", path, params=query))

    def post(self, path: str, body: Any = None, *, if_match: str = "") -> RemoteAnswer:
        headers = {"If-Match": if_match} if if_match else {}
        return _content(self._request("POST", path, json={} if body is None else body, headers=headers))

    def put(self, path: str, body: Any) -> RemoteAnswer:
        return _content(self._request("PUT", path, json=body))

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
                response.read()
                _content(response)
            if response.headers.get("Content-Type") != NDJSON:
                raise CouldNotRun(f"{response.url} did not answer as Reprise does.")
            yield from response.iter_bytes()
        except httpx.HTTPError as error:
            raise CouldNotRun(f"{response.url}: the answer was cut off: {error}") from error
        finally:
            response.close()

    def pages(self, path: str, name: str) -> Iterator[RemoteAnswer]:
        """Yield every entry of the list `name`, page by page."""
        query: dict[str, Any] = {"limit": 100}
        while True:
            page = self.get(path, **query)
            yield from page.listed(name)
            if not page["nextCursor"]:
                return
            query["cursor"] = page["nextCursor"]

    def _request(
        self, method: str, path: str, *, repeatable: bool = False, stream: bool = False, **parts: Any
    ) -> httpx.Response:
        for attempt in range(1, self._tries + 1):
            try:
                response = self._client.send(self._client.build_request(method, path, **parts), stream=stream)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                # A request that did not arrive, and one that has the same effect twice, may be sent again.
                lost = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
                if not (repeatable or lost or method in ("GET", "PUT")) or attempt == self._tries:
                    raise CouldNotRun(f"{self._client.base_url}: {str(error) or type(error).__name__}") from error
                problem, retry_after = str(error) or type(error).__name__, ""
            else:
                if response.status_code not in RETRIED or attempt == self._tries:
                    return response
                problem, retry_after = f"answered {response.status_code}", response.headers.get("Retry-After", "")
                response.close()
            self._tell_waiting(problem)
            pause_s = float(retry_after) if retry_after.isdecimal() else PAUSE_S * attempt
            self._sleep(min(pause_s, PAUSE_MAX_S))
        raise AssertionError("unreachable")

    def _tell_waiting(self, problem: str) -> None:
        if not self._waiting_told:
            self._waiting_told = True
            terminal.echo(f"{self.url}: {problem}. Waiting for it, {self._tries} tries in all.", err=True)


def _content(response: httpx.Response) -> RemoteAnswer:
    try:
        content = response.json() if response.content else None
    except ValueError:
        content = None
    source = f"{response.request.method} {response.request.url}"
    status = response.status_code
    if response.is_success and isinstance(content, dict):
        return RemoteAnswer(source, content)
    if response.is_success:
        raise CouldNotRun(f"{source} answered {status}, but no JSON object: is this the address of a Reprise?", status)
    message = content.get("error") if isinstance(content, dict) else None
    raise CouldNotRun(f"{source} answered {status}: {message or '…'}", status)


def connect(url: str, api_key: str, tries: int = TRIES) -> Remote:
    if not url:
        raise CouldNotRun("Set REPRISE_URL to the base URL of the instance.")
    if not api_key:
        raise CouldNotRun("Set REPRISE_API_KEY to a key of the prompt's project.")
    if not url.startswith(("http://", "https://")):
        raise CouldNotRun(f"--url: {url!r} does not begin with http:// or https://.")
    return Remote(url, api_key, tries=tries)


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
    name: str,
    timeout_s: float,
    sleep: Callable[[float], None],
    monotonic: Callable[[], float],
) -> dict[str, Any]:
    """Return what is at `path` when it has ended, looking once a second. Raises `CouldNotRun` after `timeout_s`."""
    until = monotonic() + timeout_s
    while True:
        shown: dict[str, Any] = instance.get(path)
        if shown["status"] not in UNFINISHED:
            return shown
        if monotonic() > until:
            raise CouldNotRun(f"{name} has not finished within {timeout_s:g} s.")
        sleep(LOOK_S)


@dataclass(frozen=True, slots=True)
class ReplayOutcome:
    """`replay` is the API's resource; None, with the reason as `problem`, when there is none.

    `test_case_id` is None where it ended before any test case was known.
    """

    test_case_id: int | None
    name: str
    replay: dict[str, Any] | None
    problem: str | None = None

    @property
    def status(self) -> str:
        return self.replay["status"] if self.replay and not self.problem else "error"

    @property
    def could_not_run(self) -> bool:
        """Whether the replay shows nothing about the draft."""
        return self.status in ("void", "error", "cancelled")


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """`timeout_s` is how long one replay may last, waiting for a worker included."""

    remote: Remote
    timeout_s: float
    judge: str | None = None
    judging: str | None = None
    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic

    def outcomes(
        self, cases: Sequence[tuple[int, str]], concurrency: int, *, candidate: Any = "draft"
    ) -> Iterator[ReplayOutcome]:
        """Yield the outcome of each (id, name) as its replay ends; to close the iterator cancels the others."""
        running: set[int] = set()
        with ThreadPoolExecutor(concurrency) as pool:
            futures = [pool.submit(self._outcome, *case, candidate, running) for case in cases]
            try:
                yield from (future.result() for future in as_completed(futures))
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
                for replay_id in list(running):
                    self._cancel(replay_id)

    def _outcome(self, test_case_id: int, name: str, candidate: Any, running: set[int]) -> ReplayOutcome:
        body: dict[str, Any] = judge_fields(self.judge, self.judging)
        # An instance of an older release knows no other candidate than the draft, nor the word.
        body |= {} if candidate == "draft" else {"candidate": candidate}
        try:
            replay_id = self.remote.post(f"/api/v1/test-cases/{test_case_id}/replays", body)["id"]
        except CouldNotRun as problem:
            return ReplayOutcome(test_case_id, name, None, problem.message)
        running.add(replay_id)
        try:
            return self._watched(test_case_id, name, replay_id)
        except CouldNotRun as problem:
            return ReplayOutcome(test_case_id, name, None, problem.message)
        finally:
            running.discard(replay_id)

    def _watched(self, test_case_id: int, name: str, replay_id: int) -> ReplayOutcome:
        deadline, pause_s = self.monotonic() + self.timeout_s, POLL_S[0]
        while True:
            replay = self.remote.get(f"/api/v1/replays/{replay_id}")
            if replay["status"] not in UNFINISHED:
                return ReplayOutcome(test_case_id, name, replay)
            if self.monotonic() > deadline:
                self._cancel(replay_id)
                return ReplayOutcome(test_case_id, name, replay, f"not finished within {self.timeout_s:g} s")
            self.sleep(pause_s)
            pause_s = min(pause_s * 1.5, POLL_S[1])

    def _cancel(self, replay_id: int) -> None:
        try:
            self.remote.post(f"/api/v1/replays/{replay_id}/cancel")
        except CouldNotRun:
            return  # it has ended meanwhile, or the instance is gone
