"""A server of prompts that fails on request, and one interface to both clients."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any
from urllib.parse import parse_qs, urlsplit

from reprise_client import AsyncReprise, Prompt, Reprise

API_KEY = "rp_key"
OWN, OTHER = "a" * 64, "b" * 64
DEFINITIONS = [{"key": "tone", "values": [{"name": "formal", "content": "formal"}]}]


def record(prompt_id: int, value: str, commit_hash: str | None = OWN) -> dict[str, Any]:
    return {
        "id": prompt_id,
        "name": "Support",
        "value": value,
        "commitHash": commit_hash,
        "instructionFormat": "RAW",
        "placeholderDefinitions": DEFINITIONS,
        "languageModelConfig": {"tools": [{"name": "find"}]},
    }


@dataclass
class FakeReprise:
    """Answers for prompts of any id: with `refusal` to everything, and not before `held` is set."""

    value: str = "Be {{tone}}."
    refusal: tuple[int, Any, Mapping[str, str]] | None = None
    held: threading.Event | None = None
    split: dict[str, Any] | None = None
    requests: list[str] = field(default_factory=list)
    unchanged: int = 0

    def answer(self, _method: str, target: str, headers: Mapping[str, str], _body: Any) -> tuple[int, Any, Any]:
        self.requests.append(target)
        if self.held is not None:
            self.held.wait(60)
        if self.refusal is not None:
            return self.refusal
        path, query = urlsplit(target).path.split("/")[4:], parse_qs(urlsplit(target).query)
        if "labels" in path:
            return 200, {"label": path[2], "commitHash": OWN, "split": self.split}, {}
        commit_hash = query.get("commitHash", [OWN])[0]
        etag = f'"{blake2b(self.value.encode()).hexdigest()}"'
        if headers.get("If-None-Match") == etag:
            self.unchanged += 1
            return 304, None, {"ETag": etag}
        return 200, record(int(path[0]), self.value, commit_hash), {"ETag": etag}

    def refuse(self, status: int, message: str = "Not now.", **headers: str) -> None:
        self.refusal = (status, {"error": message}, {name.replace("_", "-"): value for name, value in headers.items()})


@dataclass
class ScriptedRuns:
    """Gives one answer after the other; `requests` are what came: method, path, headers and body."""

    answers: list[tuple[int, Any, Mapping[str, str]]] = field(default_factory=list)
    requests: list[tuple[str, str, Mapping[str, str], Any]] = field(default_factory=list)

    def answer(self, *request: Any) -> tuple[int, Any, Mapping[str, str]]:
        self.requests.append(request)
        return self.answers.pop(0)

    def headers(self, name: str) -> list[str | None]:
        return [headers.get(name) for _, _, headers, _ in self.requests]


class Blocking:
    """An `AsyncReprise` in the face of a `Reprise`: its event loop runs in a thread."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.client = AsyncReprise(*arguments, **options)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    def prompt(self, *arguments: Any, **options: Any) -> Prompt:
        return self._result(self.client.prompt(*arguments, **options))

    def run(self, *arguments: Any, **options: Any) -> Any:
        return self._result(self.client.run(*arguments, **options))

    def start_run(self, *arguments: Any, **options: Any) -> Any:
        return self._result(self.client.start_run(*arguments, **options))

    def run_result(self, *arguments: Any, **options: Any) -> Any:
        return self._result(self.client.run_result(*arguments, **options))

    def score(self, *arguments: Any, **options: Any) -> Any:
        return self._result(self.client.score(*arguments, **options))

    def stream(self, *arguments: Any, **options: Any) -> Iterator[Any]:
        async def collected() -> list[Any]:
            return [found async for found in self.client.stream(*arguments, **options)]

        return iter(self._result(collected()))

    def close(self) -> None:
        self._result(self.client.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _result(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(120)


CLIENTS: dict[str, Any] = {"Reprise": Reprise, "AsyncReprise": Blocking}


@contextmanager
def client_of(kind: str, url: str, api_key: str = API_KEY, **options: Any) -> Iterator[Any]:
    """Give a client of this kind, with the methods of a `Reprise`, that waits long for a first answer."""
    client = CLIENTS[kind](url, api_key, **{"first_wait_s": 60, **options})
    try:
        yield client
    finally:
        client.close()
