"""An organization that uses all that it gets: runs and replays with a model that hangs, readers of nothing, batches."""

from __future__ import annotations

import http.client
import secrets
import socket
import threading
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from tests.support.exports import export, span
from tests.support.http_client import Client

HANGING_MODEL = "gpt-4o-mini"
TRACES = "/api/public/otel/v1/traces"
JSON = {"Content-Type": "application/json"}


def new_prompt(client: Client, model: str) -> int:
    asked = {"name": "A prompt", "value": "Be helpful.", "languageModelName": model}
    return int(client.post("/api/v1/prompts", asked).json()["prompt"]["id"])


def run(prompt_id: int, question: str = "Who?") -> dict[str, Any]:
    return {"id": prompt_id, "question": question, "productive": False}


def send_batch(client: Client, prompt_id: int, padding: int = 0) -> int:
    """The status of a batch that was not sent before; `padding` are bytes of a further attribute."""
    recorded = {"service.prompt.id": prompt_id, "padding": "x" * padding}
    batch = export(span(recorded, traceId=secrets.token_hex(16)))
    return client.post(TRACES, body=batch, headers=JSON).status


@dataclass
class Flood:
    """Sends as `client`, to a prompt with a model that hangs, until the `with` block ends. `waiting` lack an answer.

    `batches` counts the answers to its batches by status.
    """

    client: Client
    prompt_id: int
    batches: Counter[int] = field(default_factory=Counter)
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)
    _connections: ExitStack = field(default_factory=ExitStack)
    _waiting: list[http.client.HTTPConnection] = field(default_factory=list)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._connections.close()
        for thread in self._threads:
            thread.join()

    def start_runs(self, count: int, question: str = "Who?") -> list[int]:
        """Runs without a waiting caller; their ids."""
        headers = {"Prefer": "respond-async"}
        answers = [
            self.client.post("/api/v1/prompts/run", run(self.prompt_id, question), headers=headers)
            for _ in range(count)
        ]
        assert {answer.status for answer in answers} == {202}
        return [answer.json()["id"] for answer in answers]

    def wait_for_runs(self, count: int, accept: str = "application/json") -> None:
        """Runs that callers wait for, or follow, without reading an answer."""
        for _ in range(count):
            connection = self._connect()
            self._waiting.append(connection)
            headers = {"Authorization": f"Bearer {self.client.api_key}", "Accept": accept, **JSON}
            body = b'{"id": %d, "question": "Who?", "productive": false}' % self.prompt_id
            connection.request("POST", "/api/v1/prompts/run", body, headers)

    def read_nothing(self, count: int) -> None:
        """Exports that are asked for and not taken."""
        for _ in range(count):
            connection = self._connect(buffer=4096)
            headers = {"Authorization": f"Bearer {self.client.api_key}"}
            connection.request("GET", f"/api/v1/prompts/{self.prompt_id}/exports/runs", headers=headers)

    def send_batches(self, senders: int, padding: int = 0) -> None:
        """Batches one after the other, from `senders` at once."""

        def send() -> None:
            while not self._stop.is_set():
                self.batches[send_batch(self.client, self.prompt_id, padding)] += 1

        for _ in range(senders):
            self._threads.append(threading.Thread(target=send))
            self._threads[-1].start()

    def start_replays(self, count: int) -> None:
        case = {"question": "Who?", "expectedAnswer": "Nobody."}
        made = self.client.post(f"/api/v1/prompts/{self.prompt_id}/test-cases", case).json()
        for _ in range(count):
            assert self.client.post(f"/api/v1/test-cases/{made['id']}/replays", {}).status == 202

    def _connect(self, buffer: int = 0) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection(urlsplit(self.client.base_url).netloc, timeout=120)
        connection.connect()
        if buffer:
            connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self._connections.callback(connection.close)
        return connection
