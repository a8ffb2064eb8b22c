"""The request and the answer of trace ingest for the API's document; `app/otlp` reads the spans one by one."""

from __future__ import annotations

from marshmallow import INCLUDE, Schema, fields

from app.schemas.answer import Answer, one, text


class TraceExportSchema(Schema):
    """ExportTraceServiceRequest of OTLP; fields that nobody knows are ignored."""

    class Meta:
        unknown = INCLUDE

    resourceSpans = fields.List(fields.Dict(), allow_none=True)  # noqa: N815 - OTLP's name


class PartialSuccess(Answer):
    """Empty when all spans were stored; OTLP writes the count, an int64, as a string."""

    rejected_spans = text(required=False, get=lambda receipt: str(receipt.rejected) if receipt.rejected else None)
    error_message = text(required=False, get=lambda receipt: receipt.message if receipt.rejected else None)


class TracesStored(Answer):
    partial_success = one(PartialSuccess, get=lambda receipt: receipt)
