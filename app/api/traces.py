"""POST /api/public/otel/v1/traces: OTLP over HTTP with JSON."""

from __future__ import annotations

from typing import Any

import falcon

from app.access import ByKey
from app.actors.delivery import BatchDelivery
from app.api.operation import operation
from app.errors import Invalid, TooLarge, Unavailable, UnsupportedMediaType
from app.http.bodies import read_capped
from app.otlp.inflate import ENCODINGS
from app.schemas.answers.sessions import TracesStored
from app.schemas.traces import TraceExportSchema

ERRORS = {
    "invalid": Invalid,
    "too_large": TooLarge,
    "unsupported": UnsupportedMediaType,
    "unavailable": Unavailable,
}


class Traces:
    """Answers 200 when the batch is committed: what is acknowledged is stored."""

    access = ByKey({"POST": "ingest"})
    stores = frozenset({"POST"})

    def __init__(self, *, delivery: BatchDelivery, wire_bytes: int) -> None:
        self._delivery = delivery
        self._wire_bytes = wire_bytes

    @operation(
        "Take in a batch of spans (OTLP over HTTP with JSON)", body=TraceExportSchema, answers={200: TracesStored}
    )
    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        encoding = _encoding(req)
        body = read_capped(req, self._wire_bytes)
        receipt = self._delivery.deliver(req.context.key.project_id, body, encoding)
        if error := ERRORS.get(str(receipt["outcome"])):
            raise error(receipt["message"])
        resp.media = {"partialSuccess": _partial(receipt)}


def _partial(receipt: dict[str, Any]) -> dict[str, str]:
    if not receipt["rejected"]:
        return {}
    return {"rejectedSpans": str(receipt["rejected"]), "errorMessage": receipt["message"]}


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
