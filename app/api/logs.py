"""GET /api/v1/prompts/{id}/logs and GET /api/v1/rejected-spans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from app.access import ByKey
from app.api.operation import operation
from app.cursors import Page
from app.models.api_keys import ApiKey
from app.models.rejected_spans import RejectedSpan
from app.schemas import traces as schemas
from app.schemas.traces import LogQuery, LogQuerySchema, RejectedQuery, RejectedQuerySchema
from app.services.traces.logs import Entry, LogService


@dataclass(frozen=True, slots=True)
class PromptLogs:
    access: ClassVar = ByKey({"GET": "read"})
    logs: LogService

    @operation(
        "The prompt's log, newest first; a search that takes too long ends its page early: go on with nextCursor",
        query=LogQuerySchema,
        answers={200: schemas.Log},
    )
    def on_get(self, key: ApiKey, command: LogQuery, prompt_id: int) -> Page[Entry]:
        return self.logs.page(
            project_id=key.project_id,
            prompt_id=prompt_id,
            wanted=command.filter,
            limit=command.limit,
            cursor=command.cursor,
        )


@dataclass(frozen=True, slots=True)
class RejectedSpans:
    access: ClassVar = ByKey({"GET": "read"})
    logs: LogService

    @operation("Spans that were not stored, and why", query=RejectedQuerySchema, answers={200: schemas.RejectedSpans})
    def on_get(self, key: ApiKey, command: RejectedQuery) -> Page[RejectedSpan]:
        return self.logs.rejected(
            project_id=key.project_id, prompt_id=command.prompt_id, limit=command.limit, cursor=command.cursor
        )
