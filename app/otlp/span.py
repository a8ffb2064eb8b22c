"""A span as exporters send it, typed for speed (unknown fields are ignored), and as ingest handles it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from app.otlp.values import parse_json

Raw = msgspec.Raw
MAX_SCOPE = 255
_NOTHING = Raw(b"null")


class ScopeSpans(msgspec.Struct, gc=False):
    scope: Raw = _NOTHING
    spans: list[Raw] | None = None


class ResourceSpans(msgspec.Struct, gc=False):
    resource: Raw = _NOTHING
    scopeSpans: list[ScopeSpans] | None = None  # noqa: N815 - the wire's own names


class Export(msgspec.Struct, gc=False):
    resourceSpans: list[ResourceSpans] | None = None  # noqa: N815


class WireAttribute(msgspec.Struct, gc=False):
    key: str
    value: Raw = _NOTHING


class WireStatus(msgspec.Struct, gc=False):
    code: int | str | None = None


class WireSpan(msgspec.Struct, gc=False):
    """A span with the types that exporters send; one that fails here is read by `lenient_span`."""

    traceId: str | None = None  # noqa: N815
    spanId: str | None = None  # noqa: N815
    parentSpanId: str | None = None  # noqa: N815
    name: str | None = None
    startTimeUnixNano: int | float | str | None = None  # noqa: N815
    endTimeUnixNano: int | float | str | None = None  # noqa: N815
    attributes: list[WireAttribute] | None = None
    droppedAttributesCount: int | float | str | None = None  # noqa: N815
    status: WireStatus | None = None


decode_span = msgspec.json.Decoder(WireSpan).decode


def scope_name(scope: Raw) -> str:
    """The instrumentation scope's name, "" where there is none."""
    try:
        found = parse_json(bytes(scope))
    except ValueError:
        return ""
    name = found.get("name") if isinstance(found, dict) else None
    return name[:MAX_SCOPE] if isinstance(name, str) else ""


def lenient_span(fields: dict[str, Any]) -> WireSpan:
    """A span of which some field has a wrong type: each field that is right on its own is kept."""
    status = fields.get("status")
    pairs = fields.get("attributes")
    return WireSpan(
        traceId=_text(fields.get("traceId")),
        spanId=_text(fields.get("spanId")),
        parentSpanId=_text(fields.get("parentSpanId")),
        name=_text(fields.get("name")),
        startTimeUnixNano=_scalar(fields.get("startTimeUnixNano")),
        endTimeUnixNano=_scalar(fields.get("endTimeUnixNano")),
        attributes=[
            WireAttribute(pair["key"], Raw(msgspec.json.encode(pair.get("value"))))
            for pair in (pairs if isinstance(pairs, list) else ())
            if isinstance(pair, dict) and isinstance(pair.get("key"), str)
        ],
        droppedAttributesCount=_scalar(fields.get("droppedAttributesCount")),
        status=WireStatus(_scalar(status.get("code"))) if isinstance(status, dict) else None,
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _scalar(value: Any) -> Any:
    return value if isinstance(value, int | float | str) else None


class Span(msgspec.Struct, frozen=True, gc=False):
    """A valid span of a batch. Times are Unix nanoseconds within int64, `end_ns` never before `start_ns`.

    `raw` is the span's own JSON object, UTF-8, the only thing the database must keep of its content: a part of the
    batch, not a copy, so that a large batch is in memory once.
    `attributes` decode lazily; `failed` says whether the span's status is an error.
    """

    trace_id: bytes
    span_id: bytes
    parent_span_id: bytes | None
    name: str
    scope: str
    start_ns: int
    end_ns: int
    prompt_id: int
    conversation_id: str | None
    raw: memoryview
    attributes: Mapping[str, Any]
    failed: bool
