"""POST /api/public/otel/v1/traces: OTLP over HTTP with JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import falcon

from app.access import ByKey
from app.actors.delivery import BatchDelivery
from app.api.operation import Call, operation
from app.errors import Invalid, RepriseError, TooLarge, Unavailable, UnsupportedMediaType
from app.models.api_keys import ApiKey
from app.otlp.inflate import ENCODINGS
from app.schemas.traces import TraceExportSchema, TracesStored
from app.services.traces.ingest import Receipt

ERRORS: dict[str, type[RepriseError]] = {
    "invalid": Invalid,
    "too_large": TooLarge,
    "unsupported": UnsupportedMediaType,
    "unavailable": Unavailable,
}


@dataclass(frozen=True, slots=True)
class Traces:
    """Answers 200 when the batch is committed: what is acknowledged is stored."""

    access: ClassVar = ByKey({"POST": "ingest"})
    stores: ClassVar = frozenset({"POST"})
    delivery: BatchDelivery

    @operation(
        "Take in a batch of spans (OTLP over HTTP with JSON)",
        body=TraceExportSchema,
        limit="traces",
        answers={200: TracesStored},
    )
    def on_post(self, key: ApiKey, call: Call) -> Receipt:
        encoding = _encoding(call.req)
        receipt = self.delivery.deliver(key.project_id, call.read_bytes(), encoding)
        if error := ERRORS.get(receipt.outcome):
            raise error(receipt.message)
        return receipt


def _encoding(req: falcon.Request) -> str:
    """The content encoding, after the headers were found acceptable."""
    media_type = (req.content_type or "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise UnsupportedMediaType(
            "Only OTLP over HTTP with JSON is accepted: set OTEL_EXPORTER_OTLP_PROTOCOL=http/json, which sends "
            f"Content-Type: application/json (this request has {media_type[:100] or 'none'})."
        )
    encoding = (req.get_header("Content-Encoding") or "").strip().lower()
    if encoding not in ENCODINGS:
        raise UnsupportedMediaType("Content-Encoding must be gzip, deflate or identity.")
    return "" if encoding == "identity" else encoding
