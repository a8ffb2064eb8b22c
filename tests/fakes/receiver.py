"""A receiver of webhooks on loopback, which records what it gets and answers as a test wants, or does not."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any


@dataclass(frozen=True)
class Received:
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def is_signed_by(self, secret: str) -> bool:
        """Return whether one of the signatures was made with the secret."""
        signed = f"{self.headers['webhook-id']}.{self.headers['webhook-timestamp']}.".encode() + self.body
        key = base64.b64decode(secret.removeprefix("whsec_"))
        ours = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
        return f"v1,{ours}" in self.headers["webhook-signature"].split(" ")


Behave = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Receiver:
    """`answers` are statuses in their order, 204 after the last of them; `behave` answers in another way."""

    url: str = ""
    answers: list[int] = field(default_factory=list)
    behave: Behave | None = None
    received: list[Received] = field(default_factory=list)
    stopped: Event = field(default_factory=Event)


@contextmanager
def receiving(behave: Behave | None = None) -> Iterator[Receiver]:
    receiver = Receiver(behave=behave)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            receiver.received.append(Received(self.path, dict(self.headers.items()), body))
            with suppress(OSError):  # the sender has gone
                if receiver.behave is not None:
                    receiver.behave(self)
                    return
                self.send_response(receiver.answers.pop(0) if receiver.answers else 204)
                self.send_header("Content-Length", "0")
                self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    receiver.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield receiver
    finally:
        receiver.stopped.set()
        server.shutdown()
        thread.join()
        server.server_close()
