"""A server on loopback that answers with a function's JSON, over real HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

# Gets method, path with query, headers and body; returns the status, the body, bytes unchanged, and headers, if any.
Answer = Callable[[str, str, Mapping[str, str], Any], tuple[int, Any] | tuple[int, Any, Mapping[str, str]]]


@contextmanager
def serving(answer: Answer) -> Iterator[str]:
    """Give the server's URL."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, content, *headers = answer(
                self.command, self.path, self.headers, json.loads(body) if body else None
            )
            sent = content if isinstance(content, bytes) else b"" if content is None else json.dumps(content).encode()
            self.send_response(status)
            for name, value in headers[0].items() if headers else ():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            with suppress(BrokenPipeError, ConnectionResetError):  # the caller did not wait for it
                self.wfile.write(sent)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
