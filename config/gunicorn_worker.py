"""gunicorn's threaded worker, which answers what is no proper HTTP as the application answers errors: no page."""

from __future__ import annotations

import json
import socket
import uuid
from typing import Any

from gunicorn.http import errors
from gunicorn.util import write_nonblock
from gunicorn.workers.gthread import ThreadWorker

STATUS = {
    errors.LimitRequestLine: "414 URI Too Long",
    errors.LimitRequestHeaders: "431 Request Header Fields Too Large",
    errors.ExpectationFailed: "417 Expectation Failed",
    errors.UnsupportedTransferCoding: "501 Not Implemented",
}


class Worker(ThreadWorker):  # type: ignore[misc]
    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: Exception) -> None:
        """What the application never sees: a broken request line or header, one that is too long."""
        if not isinstance(exc, errors.ParseException) or isinstance(exc, errors.InvalidResponseHeader):
            super().handle_error(req, client, addr, exc)
            return
        self.log.warning("Invalid request: %s", exc)
        try:
            write_nonblock(client, refusal(STATUS.get(type(exc), "400 Bad Request"), str(exc)))
        except OSError:
            self.log.debug("The caller did not wait for the answer.")


def refusal(status: str, reason: str) -> bytes:
    """A whole HTTP answer, after which the connection ends."""
    body = json.dumps({"error": f"This is no HTTP request that can be answered: {reason}"})
    head = {
        "Connection": "close",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "X-Request-Id": uuid.uuid4().hex,
    }
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in head.items()), "", body]
    return "\r\n".join(lines).encode("ascii")
