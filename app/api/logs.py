"""GET /api/v1/prompts/{id}/logs and GET /api/v1/rejected-spans."""

from __future__ import annotations

import falcon

from app.access import ByKey
from app.api.operation import operation
from app.schemas.answers import sessions as answers
from app.schemas.base import load
from app.schemas.logs import LogQuery, LogQuerySchema, RejectedQuery, RejectedQuerySchema, dump_entry, dump_rejected
from app.services.traces.logs import LogFilter, LogService


class PromptLogs:
    access = ByKey({"GET": "read"})

    def __init__(self, *, logs: LogService) -> None:
        self._logs = logs

    @operation(
        "The prompt's log, newest first; a search that takes too long ends its page early: go on with nextCursor",
        query=LogQuerySchema,
        answers={200: answers.Log},
    )
    def on_get(self, req: falcon.Request, resp: falcon.Response, prompt_id: int) -> None:
        query: LogQuery = load(LogQuerySchema(), req.params)
        page = self._logs.page(
            project_id=req.context.key.project_id,
            prompt_id=prompt_id,
            wanted=LogFilter(query.type, query.from_, query.to, query.search, query.status),
            limit=query.limit,
            cursor=query.cursor,
        )
        resp.media = {"entries": [dump_entry(entry) for entry in page.entries], "nextCursor": page.next_cursor}


class RejectedSpans:
    access = ByKey({"GET": "read"})

    def __init__(self, *, logs: LogService) -> None:
        self._logs = logs

    @operation("Spans that were not stored, and why", query=RejectedQuerySchema, answers={200: answers.RejectedSpans})
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        query: RejectedQuery = load(RejectedQuerySchema(), req.params)
        page = self._logs.rejected(
            project_id=req.context.key.project_id, prompt_id=query.prompt_id, limit=query.limit, cursor=query.cursor
        )
        resp.media = {
            "rejectedSpans": [dump_rejected(span) for span in page.entries],
            "nextCursor": page.next_cursor,
        }
