"""Notes the batches of exporters that were refused before or while they were stored."""

from __future__ import annotations

from dataclasses import dataclass

import falcon

from app.otlp.answers import METRICS, is_of_exporter, named_prompt
from app.services.ingest.rejections import RefusalService, RefusedBatch


@dataclass(frozen=True, slots=True)
class RefusedBatches:
    """Middleware that notes refused batches, unless the reasons of all their spans are already stored."""

    refusals: RefusalService

    def process_response(self, req: falcon.Request, resp: falcon.Response, _resource: object, _succeeded: bool) -> None:
        refused = 400 <= resp.status_code < 500 and is_of_exporter(req.path) and not req.path.endswith(METRICS)
        if refused and not getattr(req.context, "spans_listed", False):
            batch = RefusedBatch(
                req.remote_addr, req.path, resp.status_code, getattr(req.context, "refusal", ""), named_prompt(req.path)
            )
            self.refusals.note(batch, getattr(req.context, "key", None), req.auth)
