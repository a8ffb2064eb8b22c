"""Runs of prompts: what is sent, what comes back, and when a request is repeated."""

from __future__ import annotations

import base64
import json
import random
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict, TypeVar

from reprise_client.errors import (
    ConfigurationError,
    RateLimitedError,
    RepriseError,
    RunTimeoutError,
    ServerError,
    UnreachableError,
    error_of,
)
from reprise_client.events import Event, EventReader
from reprise_client.reading import HttpReply
from reprise_client.records import foreign, parse_answer

TRIES = 6
PAUSE_S, PAUSE_MAX_S = 0.5, 60.0
WAIT_S = 600.0
LAST_ID = "end"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class File:
    """A file that goes to the model with the question."""

    name: str
    content: bytes = field(repr=False)
    media_type: str

    def json(self) -> dict[str, str]:
        content = base64.b64encode(self.content).decode()
        return {"fileName": self.name, "contentType": self.media_type, "base64": content}


class RunOptions(TypedDict, total=False):
    """The options of a run.

    `placeholders` maps keys to names of their values. The version is that of `label` or `version`, with `draft` the
    draft, else the newest one. At a split of the label `memory_key`, else `split_key`, decides. `model` is the name of
    a model to ask in the place of the version's own. `history` has the messages before the question, as the API accepts
    them: `role`, `text`, and `toolCalls` or `toolCallId`. Requests with the same `idempotency_key` make one run; each
    call has another one by default. `timeout_s` is how long the caller waits in all, 600 by default.
    """

    placeholders: Mapping[str, str]
    label: str
    version: str
    draft: bool
    split_key: str
    memory_key: str
    model: str
    history: Sequence[Mapping[str, Any]]
    files: Sequence[File]
    idempotency_key: str
    timeout_s: float


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """A request for a run or of a score, the same each time that it is sent; `deadline` is in monotonic seconds."""

    method: Literal["GET", "POST"]
    path: str
    deadline: float
    body: bytes = field(default=b"", repr=False)
    idempotency_key: str = ""

    def headers(self, **more: str) -> dict[str, str]:
        keyed = {"Idempotency-Key": self.idempotency_key} if self.idempotency_key else {}
        return {"Content-Type": "application/json", **keyed, **{key.replace("_", "-"): more[key] for key in more}}


def run_request(prompt_id: int, question: str, options: RunOptions) -> ClientRequest:
    """Return the request of POST /api/v1/prompts/run; options without a value are left out.

    Without `idempotency_key` it has a new one. Raises `ConfigurationError` for values that are no JSON.
    """
    body = {
        "id": prompt_id,
        "question": question,
        "placeholders": dict(options.get("placeholders") or {}),
        "productive": not options.get("draft", False),
        "label": options.get("label"),
        "commitHash": options.get("version"),
        "splitKey": options.get("split_key"),
        "memoryKey": options.get("memory_key"),
        "languageModelName": options.get("model"),
        "history": list(options.get("history") or ()) or None,
        "files": [file.json() for file in options.get("files") or ()],
    }
    try:
        content = json.dumps({name: value for name, value in body.items() if value is not None}).encode()
    except (TypeError, ValueError, RecursionError) as problem:
        raise ConfigurationError(f"The run is no JSON: {problem}") from None
    key = options.get("idempotency_key") or str(uuid.uuid4())
    deadline = time.monotonic() + options.get("timeout_s", WAIT_S)
    return ClientRequest("POST", "/api/v1/prompts/run", deadline, content, key)


def events_request(run_id: int, timeout_s: float) -> ClientRequest:
    if isinstance(run_id, bool) or not isinstance(run_id, int) or run_id < 1:
        raise ConfigurationError(f"run_id: {run_id!r} is not the id of a run.")
    return ClientRequest("GET", f"/api/v1/runs/{run_id}/events", time.monotonic() + timeout_s)


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of an answer that is being written: of its text, of the model's reasoning, or one whole tool call."""

    kind: Literal["token", "reasoning", "tool_call"]
    text: str = ""
    tool_call: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class RunResult:
    """The end of a run. `nok` is why the answer can't be used as requested; None for one that can be.

    `tokens` has `prompt`, `completion` and `total`, `model` has `id`, `name` and `vendor`, and `cost` is as the API has
    it. `tool_calls` have `id`, `name` and `arguments`. `fallback`: the prompt's second model answered.
    """

    run_id: int | None
    answer: str = field(repr=False)
    tokens: Mapping[str, int]
    response_time_ms: int
    resolved: Mapping[str, str | None]
    ignored: Sequence[str]
    nok: str | None
    model: Mapping[str, Any]
    cost: Mapping[str, Any] | None
    tool_calls: Sequence[Mapping[str, Any]]
    chain_of_thoughts: str | None
    fallback: bool
    raw: Mapping[str, Any] = field(repr=False)

    @classmethod
    def parse(cls, body: bytes, run_id: int | None, url: str) -> RunResult:
        """Read a run's answer; `UnreachableError` without a text as `answer`. Other wrong types count as empty."""
        run = parse_answer(body, url)
        placeholders, status, time_ms = _object(run.get("placeholders")), run.get("status"), run.get("response_time_ms")
        if not isinstance(run.get("answer"), str):
            raise foreign(url)
        return cls(
            run_id=run_id,
            answer=run["answer"],
            tokens=_object(run.get("tokens")),
            response_time_ms=time_ms if isinstance(time_ms, int) else 0,
            resolved=_object(placeholders.get("resolved")),
            ignored=_list_of(str, placeholders.get("ignored")),
            nok=status.removeprefix("NOK: ") if isinstance(status, str) else None,
            model=_object(run.get("model")),
            cost=_object(run.get("cost")) or None,
            tool_calls=_list_of(dict, run.get("toolCalls")),
            chain_of_thoughts=thoughts if isinstance(thoughts := run.get("chainOfThoughts"), str) else None,
            fallback=run.get("fallback") is True,
            raw=run,
        )


def _object(found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}


def _list_of(kind: type[T], found: Any) -> list[T]:
    return found if isinstance(found, list) and all(isinstance(item, kind) for item in found) else []


class Retries:
    """Decides whether a request is sent again. Its key keeps it from a second run, the id in it from a second score."""

    def __init__(self, request: ClientRequest) -> None:
        self._deadline = request.deadline
        self._failures = 0

    def pause_s(self, problem: RepriseError) -> float:
        """Return the seconds until the next try; raise the problem where another try would not help."""
        self._failures += 1
        if self._failures == TRIES or not _is_passing(problem):
            raise problem
        pause_s: float = getattr(problem, "retry_after_s", None) or PAUSE_S * 2 ** (self._failures - 1)
        pause_s = min(pause_s, PAUSE_MAX_S) * random.uniform(1.0, 1.2)  # noqa: S311
        if time.monotonic() + pause_s > self._deadline:
            raise problem
        return pause_s

    def progressed(self) -> None:
        """Restart the count of failures, as the server has sent more of the run."""
        self._failures = 0


def _is_passing(problem: RepriseError) -> bool:
    """Return whether a problem goes by. 502 and 504 with a run are the end of that run; without, a proxy's."""
    if isinstance(problem, ServerError):
        return problem.status == 503 or (problem.status in (502, 504) and problem.run_id is None)
    return isinstance(problem, UnreachableError | RateLimitedError)


class Follower:
    """Follows the events of a run over as many connections as needed; no piece comes twice."""

    def __init__(self, request: ClientRequest) -> None:
        self._request = request
        self._last_id = ""
        self._run_id: int | None = None
        self._url = ""
        self._reader = EventReader()

    @property
    def headers(self) -> dict[str, str]:
        resumed = {"Last_Event_ID": self._last_id} if self._last_id else {}
        return self._request.headers(Accept="text/event-stream", **resumed)

    def connected(self, reply: HttpReply) -> None:
        self._reader, self._url = EventReader(), reply.url
        self._run_id = reply.run_id or self._run_id

    def feed(self, piece: bytes) -> Iterator[Piece | RunResult]:
        """Yield what a piece of the stream completes; raise the error that the stream ends with."""
        if time.monotonic() > self._request.deadline:
            raise RunTimeoutError(f"Run {self._run_id} lasts longer than the caller waits; it continues.", self._run_id)
        for event in self._reader.feed(piece):
            yield self._read(event)
            if event.id.isascii():  # as a header must be
                self._last_id = event.id or self._last_id

    def _read(self, event: Event) -> Piece | RunResult:
        if event.kind == "done":
            return RunResult.parse(event.data.encode(errors="surrogatepass"), self._run_id, self._url)
        data = parse_answer(event.data.encode(errors="surrogatepass"), self._url)
        if event.kind == "error":
            status = data.get("status")
            # Without an id it is the stream's error and not the run's, which goes on.
            run_id = self._run_id if event.id == LAST_ID else None
            raise error_of(status if isinstance(status, int) else 500, str(data.get("error", "")), run_id)
        if event.kind == "tool_call":
            return Piece("tool_call", tool_call=data)
        return Piece("reasoning" if event.kind == "reasoning" else "token", str(data.get("text", "")))
