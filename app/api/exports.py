"""/api/v1/prompts/{id}/exports/{kind}: all of a prompt's sessions, runs or test cases, however many, as JSON lines."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from typing import Any

import falcon

from app.access import ByKey
from app.api.operation import operation
from app.schemas.base import load
from app.schemas.exports import ExportQuery, ExportQuerySchema, line, records
from app.services.data.export import ExportService

NDJSON = "application/x-ndjson"
# Of one organization, in each web process: whoever reads slowly keeps a thread for as long.
AT_ONCE = 8
# Who does not take a piece in so long has gone without a word; a record can be longer than what a slow line carries.
STALLED_S = 60.0
PIECE = 64 * 1024
_QUERY = ExportQuerySchema()


class Exports:
    """`kind` is sessions, runs or test-cases: one JSON object a line, newest first, each as its own address answers.

    It is one request to the rate limit. A body that ends without its last chunk was cut off: ask again, from the
    last record's time on.
    """

    access = ByKey({"GET": "read"})
    exports = frozenset({"GET"})

    def __init__(self, *, exports: ExportService) -> None:
        self._exports = exports

    @operation(
        "Export a prompt's sessions, runs or test cases", query=ExportQuerySchema, answers={200: None}, texts=(NDJSON,)
    )
    def on_get(self, req: falcon.Request, resp: falcon.Response, prompt_id: int, kind: str) -> None:
        wanted: ExportQuery = load(_QUERY, req.params)
        project_id = req.context.key.project_id
        found = records(self._exports, kind, project_id=project_id, prompt_id=prompt_id, wanted=wanted)
        send_lines(req, resp, found, name=f"{kind}-{prompt_id}")


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
