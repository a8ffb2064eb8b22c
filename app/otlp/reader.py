"""A stored span's JSON read in full: attributes, events and status, for pages and test cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from app.otlp.normalise import Event, SpanView
from app.otlp.span import Span
from app.otlp.text import parse_json
from app.otlp.validate import ERROR_CODES
from app.otlp.values import attributes, raw_value, time_ns
from app.otlp.wire import decode_span


@dataclass(frozen=True, slots=True)
class FullSpan:
    """Everything a span says. Times are Unix nanoseconds; `parent_span_id` is lower-case hex."""

    parent_span_id: str | None
    name: str
    start_ns: int
    end_ns: int
    attributes: dict[str, Any]
    events: list[Event]
    failed: bool
    status_message: str | None


def read_span(raw: bytes) -> FullSpan:
    """The span in `raw`, which was valid when it was stored; fields that can't be read are empty."""
    try:
        fields = parse_json(raw)
    except ValueError:
        fields = _readable_fields(raw)
    status = fields.get("status")
    status = status if isinstance(status, dict) else {}
    message = status.get("message")
    start_ns = time_ns(fields.get("startTimeUnixNano"))
    return FullSpan(
        _parent(fields.get("parentSpanId")),
        _text(fields.get("name")) or "",
        start_ns,
        max(start_ns, time_ns(fields.get("endTimeUnixNano"))),
        attributes(fields.get("attributes")),
        _events(fields),
        status.get("code") in ERROR_CODES,
        message if isinstance(message, str) and message else None,
    )


def view_of(span: Span) -> SpanView:
    """A span of a batch for the conventions; its events are parsed only if they are needed."""
    return SpanView(span.name, span.scope, span.attributes, lambda: read_span(bytes(span.raw)).events)


def _readable_fields(raw: bytes) -> dict[str, Any]:
    """A span with something in it that no parser takes (a number out of range): all but that."""
    try:
        wire = decode_span(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    pairs = [{"key": pair.key, "value": {"stringValue": raw_value(pair.value)}} for pair in wire.attributes or ()]
    return msgspec.structs.asdict(wire) | {"attributes": pairs, "status": {"code": wire.status and wire.status.code}}


def _parent(value: Any) -> str | None:
    return value.lower() if isinstance(value, str) and value.strip("0") else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _events(fields: dict[str, Any]) -> list[Event]:
    events = fields.get("events")
    return [
        (event["name"], attributes(event.get("attributes")))
        for event in (events if isinstance(events, list) else ())
        if isinstance(event, dict) and isinstance(event.get("name"), str)
    ]
