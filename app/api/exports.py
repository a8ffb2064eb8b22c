"""/api/v1/prompts/{id}/exports/{kind}: all of a prompt's sessions, runs or test cases, however many, as JSON lines."""

from __future__ import annotations

import falcon

from app.access import ByKey
from app.api.operation import operation
from app.http.exports import NDJSON, send_lines
from app.schemas.base import load
from app.schemas.exports import ExportQuery, ExportQuerySchema, records
from app.services.data.export import ExportService

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
