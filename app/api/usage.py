"""GET /api/v1/usage: what the project's runs and replays have used, as JSON or CSV."""

from __future__ import annotations

import falcon

from app.access import ByKey
from app.api.operation import operation
from app.schemas.answers import usage as answers
from app.schemas.base import load
from app.schemas.usage import UsageQuery, UsageQuestion, usage_csv, usage_json
from app.services.runs.usage import UsageService
from app.timestamps import Now

_QUERY = UsageQuery()
CSV = "text/csv"


class Usage:
    access = ByKey({"GET": "read"})

    def __init__(self, *, usage: UsageService, now: Now) -> None:
        self._usage = usage
        self._now = now

    @operation(
        "Usage by day, prompt, version, model, key, source",
        query=UsageQuery,
        answers={200: answers.Usage},
        texts=("text/csv",),
    )
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        question: UsageQuestion = load(_QUERY, req.params)
        wanted = question.wanted(self._now().date())
        rows = self._usage.read(project_id=req.context.key.project_id, wanted=wanted, group_by=question.group_by)
        if req.client_prefers((falcon.MEDIA_JSON, CSV)) == CSV:
            resp.content_type = f"{CSV}; charset=utf-8; header=present"
            resp.text = usage_csv(rows, question.group_by)
        else:
            resp.media = usage_json(rows, wanted, question.group_by)
