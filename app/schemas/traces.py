"""A batch of spans for the API's document; `app/otlp` reads it, field by field and never all or nothing."""

from __future__ import annotations

from marshmallow import INCLUDE, Schema, fields


class TraceExportSchema(Schema):
    """ExportTraceServiceRequest of OTLP; fields that nobody knows are ignored."""

    class Meta:
        unknown = INCLUDE

    resourceSpans = fields.List(fields.Dict(), allow_none=True)  # noqa: N815 - OTLP's name
