"""GET /api/v1/usage: what the project's runs and replays have used, as JSON or CSV."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import falcon

from app.access import ByKey
from app.api.operation import Call, operation
from app.models.api_keys import ApiKey
from app.schemas import usage as schemas
from app.services.runs.usage import UsageService
from app.timestamps import Now

CSV = "text/csv"


@dataclass(frozen=True, slots=True)
class Usage:
    access: ClassVar = ByKey({"GET": "read"})
    usage: UsageService
    now: Now

    @operation(
        "Usage by day, prompt, version, model, key, source",
        query=schemas.UsageQuery,
        answers={200: schemas.Usage},
        texts=(CSV,),
    )
    def on_get(self, key: ApiKey, command: schemas.UsageQuestion, call: Call) -> schemas.UsageReport | None:
        days = command.days(self.now().date())
        rows = self.usage.read(project_id=key.project_id, filters=days, group_by=command.group_by)
        if call.req.client_prefers((falcon.MEDIA_JSON, CSV)) != CSV:
            return schemas.UsageReport(rows, days, command.group_by)
        call.resp.content_type = f"{CSV}; charset=utf-8; header=present"
        call.resp.text = schemas.usage_csv(rows, command.group_by)
        return None
