"""Streams records as a file of JSON lines, each read when the caller has taken those before it."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from typing import Any

import falcon

from app.schemas.exports import line

NDJSON = "application/x-ndjson"
# Exports of one organization at once, in each web process: a slow reader keeps a thread as long as it reads.
AT_ONCE = 8
# A caller that takes no piece for so long is gone. Records are cut, as one may be too long for a slow line.
STALLED_S = 60.0
PIECE = 64 * 1024


def send_lines(req: falcon.Request, resp: falcon.Response, found: Iterable[dict[str, Any]], *, name: str) -> None:
    """Answer with the records as a file called `name`.jsonl, each read when the caller has taken those before it."""
    caller = req.env.get("gunicorn.socket")
    if isinstance(caller, socket.socket):
        caller.settimeout(STALLED_S)
    resp.content_type = NDJSON
    resp.downloadable_as = f"{name}.jsonl"
    resp.set_header("X-Accel-Buffering", "no")  # nginx would keep it in a file
    resp.stream = _pieces(found)


def _pieces(found: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    for record in found:
        text = line(record)
        yield from (text[at : at + PIECE] for at in range(0, len(text), PIECE))
