"""A server on loopback that accepts batches of spans as Reprise does, or answers as a test wants."""

from __future__ import annotations

import gzip
import json
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self

from tests.support.waiting import LOOPBACK, free_port


@dataclass(frozen=True)
class Reply:
    """An answer other than that all is stored."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Collector:
    """The server. It can be started again on its port after `stop`.

    `replies` are the answers to the next requests, in order; `always` is the answer to later ones. Each answer
    comes after `delay_s` seconds.
    """

    port: int = field(default_factory=free_port)
    replies: deque[Reply] = field(default_factory=deque)
    always: Reply = field(default_factory=lambda: Reply(body={"partialSuccess": {}}))
    delay_s: float = 0
    requests: list[tuple[str, Mapping[str, str], Any]] = field(default_factory=list)
    stored: list[dict[str, Any]] = field(default_factory=list)
    """The spans of the batches that were answered with 200, in the order they came."""
    _server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def names(self) -> list[str]:
        """The names of the spans that are stored."""
        return [span["name"] for span in self.stored]

    def start(self) -> Self:
        self._server = ThreadingHTTPServer((LOOPBACK, self.port), _handler(self))
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()
            self._server = None

    def answer(self, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
        batch = json.loads(gzip.decompress(body))
        self.requests.append((path, headers, batch))
        reply = self.replies.popleft() if self.replies else self.always
        if reply.status == 200:
            self.stored += spans_of(batch)
        return reply

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def spans_of(batch: Any) -> list[dict[str, Any]]:
    """The spans of an export request."""
    groups = (group for resource in batch["resourceSpans"] for group in resource["scopeSpans"])
    return [span for group in groups for span in group["spans"]]


def attributes_of(span: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a span, each with its plain value; lists and maps as they are written."""
    return {pair["key"]: next(iter(pair["value"].values()), None) for pair in span["attributes"]}


def _handler(collector: Collector) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            reply = collector.answer(self.path, dict(self.headers), body)
            time.sleep(collector.delay_s)
            sent = json.dumps({"partialSuccess": {}} if reply.body is None else reply.body).encode()
            self.send_response(reply.status)
            for name, value in {**reply.headers, "Content-Length": str(len(sent))}.items():
                self.send_header(name, value)
            with suppress(BrokenPipeError):  # the process that asked was killed
                self.end_headers()
                self.wfile.write(sent)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
