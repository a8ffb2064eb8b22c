"""/api/v1/prompts/{id}/exports/{kind}: all of a prompt's sessions, runs or test cases, however many, as JSON lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from app.access import ByKey
from app.api.operation import Call, operation
from app.http.exports import NDJSON, ExportQuery, ExportQuerySchema, records, send_lines
from app.models.api_keys import ApiKey
from app.services.data.export import ExportService


@dataclass(frozen=True, slots=True)
class Exports:
    """`kind` is sessions, runs or test-cases: one JSON object a line, newest first, each as its own address answers.

    It is one request to the rate limit. A body that ends without its last chunk was cut off: ask again, from the
    last record's time on.
    """

    access: ClassVar = ByKey({"GET": "read"})
    exports: ClassVar = frozenset({"GET"})
    service: ExportService

    @operation(
        "Export a prompt's sessions, runs or test cases", query=ExportQuerySchema, answers={200: None}, texts=(NDJSON,)
    )
    def on_get(self, key: ApiKey, command: ExportQuery, call: Call, prompt_id: int, kind: str) -> None:
        found = records(self.service, kind, project_id=key.project_id, prompt_id=prompt_id, query=command)
        send_lines(call.req, call.resp, found, name=f"{kind}-{prompt_id}")
