"""Encodes spans of the OpenTelemetry SDK as OTLP JSON, so that no version of protobuf has to suit another package's."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.trace import Link, SpanContext, StatusCode

BATCH_BYTES = 4 * 1024 * 1024
"""Bytes of JSON beyond which spans go into another batch; a larger span is a batch by itself."""
MAX_DEPTH = 32
"""Levels of lists and maps that are kept of an attribute, so that the work on a value is bounded."""
_STATUS = {StatusCode.UNSET: 0, StatusCode.OK: 1, StatusCode.ERROR: 2}


@dataclass(frozen=True)
class Batch:
    """An export request and the number of its spans."""

    body: bytes
    spans: int


def batches(
    spans: Sequence[ReadableSpan], on_broken: Callable[[Exception], None], limit: int = BATCH_BYTES
) -> Iterator[Batch]:
    """Yield export requests of at most `limit` bytes that have all spans in their order.

    A span that can't be encoded is left out, and `on_broken` gets the error.
    """
    batch: list[tuple[ReadableSpan, str]] = []
    size = 0
    for span in spans:
        try:
            encoded = json.dumps(_span(span))
        except Exception as error:  # noqa: BLE001 - the SDK checks no type of what it is given
            on_broken(error)
            continue
        if batch and size + len(encoded) > limit:
            yield _export(batch)
            batch, size = [], 0
        batch.append((span, encoded))
        size += len(encoded)
    if batch:
        yield _export(batch)


def _export(batch: Sequence[tuple[ReadableSpan, str]]) -> Batch:
    groups: dict[tuple[int, int], list[tuple[ReadableSpan, str]]] = {}
    for span, encoded in batch:
        groups.setdefault((id(span.resource), id(span.instrumentation_scope)), []).append((span, encoded))
    body = '{"resourceSpans":[' + ",".join(map(_resource_spans, groups.values())) + "]}"
    return Batch(body.encode(), len(batch))


def _resource_spans(group: Sequence[tuple[ReadableSpan, str]]) -> str:
    """Join spans of one resource and one scope; each is encoded already."""
    resource, scope = group[0][0].resource, group[0][0].instrumentation_scope
    named = {"name": scope.name, "version": scope.version or ""} if scope else {}
    head = json.dumps({"attributes": _pairs(resource.attributes)})
    spans = ",".join(encoded for _, encoded in group)
    return f'{{"resource":{head},"scopeSpans":[{{"scope":{json.dumps(named)},"spans":[{spans}]}}]}}'


def _span(span: ReadableSpan) -> dict[str, Any]:
    return {
        **_ids(span.get_span_context()),
        **({"parentSpanId": f"{span.parent.span_id:016x}"} if span.parent else {}),
        "name": span.name,
        "kind": span.kind.value + 1,
        "startTimeUnixNano": str(span.start_time or 0),
        "endTimeUnixNano": str(span.end_time or 0),
        "attributes": _pairs(span.attributes),
        "droppedAttributesCount": span.dropped_attributes,
        "events": [_event(event) for event in span.events],
        "links": [_link(link) for link in span.links],
        "status": {"code": _STATUS[span.status.status_code], "message": span.status.description or ""},
    }


def _ids(context: SpanContext | None) -> dict[str, Any]:
    if context is None:
        return {}
    return {
        "traceId": f"{context.trace_id:032x}",
        "spanId": f"{context.span_id:016x}",
        "traceState": context.trace_state.to_header(),
        "flags": int(context.trace_flags),
    }


def _event(event: Event) -> dict[str, Any]:
    return {"name": event.name, "timeUnixNano": str(event.timestamp), "attributes": _pairs(event.attributes)}


def _link(link: Link) -> dict[str, Any]:
    return {**_ids(link.context), "attributes": _pairs(link.attributes)}


def _pairs(attributes: Mapping[str, Any] | None, depth: int = 0) -> list[dict[str, Any]]:
    return [{"key": str(key), "value": _value(value, depth)} for key, value in (attributes or {}).items()]


def _value(value: Any, depth: int) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)} if -(2**63) <= value < 2**63 else {"stringValue": hex(value)}
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, float):
        return {"doubleValue": value if math.isfinite(value) else _unbounded(value)}
    if isinstance(value, bytes):
        return {"bytesValue": b64encode(value).decode()}
    if value is None:
        return {}
    return _container(value, depth)


def _container(value: Any, depth: int) -> dict[str, Any]:
    """Encode a list or map; what is neither, or too deep, is the name of its type."""
    if depth < MAX_DEPTH and isinstance(value, Mapping):
        return {"kvlistValue": {"values": _pairs(value, depth + 1)}}
    if depth < MAX_DEPTH and isinstance(value, Sequence):
        return {"arrayValue": {"values": [_value(item, depth + 1) for item in value]}}
    return {"stringValue": f"<{type(value).__name__}>"}


def _unbounded(value: float) -> str:
    """Return the text that protobuf's JSON has for a number that JSON has none for."""
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
