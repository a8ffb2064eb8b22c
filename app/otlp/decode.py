"""Decodes trace exports of OTLP/HTTP JSON to spans that can be stored, and the reasons why others are rejected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from app.errors import Invalid
from app.otlp.names import conversation_of, has_error_status
from app.otlp.prompt_ids import NO_RESOURCE, BadSpan, ResourceAttributes, bad_span, prompt_of
from app.otlp.protobuf import ELEMENT_BYTES_MIN, ITEM_ELEMENTS_MAX, TOO_MANY, has_too_many_members
from app.otlp.span import (
    Raw,
    Rejection,
    Span,
    SpansExport,
    WireSpan,
    decode_span,
    lenient_span,
    scope_name,
)
from app.otlp.values import LazyAttributes, id_bytes, time_ns
from app.values.json import Body, parse_json, valid_utf8, without_bom, without_lone_surrogates
from app.values.structs import decoder

T = TypeVar("T")
LARGE_BYTES = 8 * 1024 * 1024
"""Bytes beyond which memory matters more than the time to parse attributes twice."""

_decode_export = decoder(SpansExport)


@dataclass(frozen=True, slots=True)
class Decoded:
    """The spans of a batch in the order they came (each identity once) and the rejected ones."""

    spans: list[Span]
    rejected: list[Rejection]


def decode(body: Body, prompt_id: int | None = None) -> Decoded:
    """Decode an export request (after decompression). Raises Invalid if it is not an OTLP JSON object.

    Spans without `PROMPT_ID` belong to `prompt_id`; without it they must name their prompt, or are rejected.
    """
    body = valid_utf8(without_bom(body))
    export = parsed(body, _decode_export, "trace export")
    latest = LatestAttributes(lambda span: _raw_attributes(_wire_span(span))) if len(body) > LARGE_BYTES else None
    spans: dict[tuple[bytes, bytes], Span] = {}
    rejected: list[Rejection] = []
    for resource_spans in groups_of(export.resourceSpans, body, "resourceSpans"):
        resource = ResourceAttributes(resource_spans.resource)
        for scope_spans in resource_spans.scopeSpans or ():
            scope = scope_name(scope_spans.scope)
            for raw in scope_spans.spans or ():
                try:
                    span = span_of(raw, scope, resource, latest, prompt_id)
                except BadSpan as error:
                    rejected.append(error.rejection)
                else:
                    spans.setdefault((span.trace_id, span.span_id), span)
    return Decoded(list(spans.values()), rejected)


def parsed(body: Body, decode_json: Callable[[Body], T], noun: str) -> T:
    """Parse the JSON of an export request, which may need repair. Raises Invalid, with `noun` as the request's name."""
    try:
        return decode_json(body)
    except msgspec.ValidationError as error:
        raise Invalid(f"This is no OTLP {noun}: {error}") from None
    except RecursionError:
        raise Invalid(f"The body is nested too deeply to be an OTLP {noun}") from None
    except msgspec.DecodeError as error:
        repaired = without_lone_surrogates(body)
        if repaired == body:
            raise Invalid(f"The body is not valid JSON: {error}") from None
    return parsed(repaired, decode_json, noun)


def groups_of(groups: Sequence[T] | UnsetType | None, body: Body, name: str) -> Sequence[T]:
    """Return the groups of an export's field `name`. Raises Invalid if the object lacks it and has other fields."""
    if groups is UNSET and body.strip(b"{} \t\r\n"):
        raise Invalid(f"This is no OTLP export of this address: the object has no {name}.")
    return groups or ()


ERROR_CODES = (2, "2", "STATUS_CODE_ERROR")
OK_CODES = (1, "1", "STATUS_CODE_OK")


@dataclass(slots=True)
class LatestAttributes:
    """The attributes of the last span, which `parse` reads from a span."""

    parse: Callable[[Any], dict[str, Any]]
    span: object = None
    attributes: dict[str, Any] = field(default_factory=dict)

    def of(self, span: object) -> dict[str, Any]:
        """Return the attributes of `span`, parsed unless it was the last one."""
        if span is not self.span:
            self.span, self.attributes = span, self.parse(span)
        return self.attributes


class ForgetfulAttributes(LazyAttributes):
    """The attributes of one span of a large batch, parsed on access and kept until another span's are read.

    Tens of thousands of parsed spans would need as much memory as the batch itself.
    """

    __slots__ = ("_latest", "_span")

    def __init__(self, span: object, latest: LatestAttributes) -> None:
        self._span = span
        self._latest = latest

    @property
    def _raw(self) -> dict[str, Any]:  # type: ignore[override]
        return self._latest.of(self._span)


def span_of(
    raw: Raw,
    scope: str,
    resource: ResourceAttributes = NO_RESOURCE,
    latest: LatestAttributes | None = None,
    prompt_id: int | None = None,
) -> Span:
    """Return the span in `raw`; raises `BadSpan`. With `latest`, which a batch shares, attributes are not kept.

    A span that names no prompt belongs to `prompt_id`.
    """
    wire = _wire_span(raw)
    content = memoryview(raw)
    if len(content) > ELEMENT_BYTES_MIN * ITEM_ELEMENTS_MAX and has_too_many_members(bytes(content)):
        raise bad_span(wire, "too_large", f"the span has {TOO_MANY}")
    ids = (id_bytes(wire.traceId, 16), id_bytes(wire.spanId, 8), id_bytes(wire.parentSpanId, 8))
    values = LazyAttributes(_raw_attributes(wire))
    kept = values if latest is None else ForgetfulAttributes(raw, latest)
    return checked_span(wire, ids, content, scope, values, kept, resource=resource, prompt_id=prompt_id)


Ids = tuple[bytes | None, bytes | None, bytes | None]
"""Trace id, span id and parent span id, each None where there is none."""


def checked_span(
    wire: WireSpan,
    ids: Ids,
    raw: memoryview,
    scope: str,
    values: Mapping[str, Any],
    kept: Mapping[str, Any],
    *,
    resource: ResourceAttributes = NO_RESOURCE,
    prompt_id: int | None,
) -> Span:
    """Return the span of a wire span; raises BadSpan if it has no id, name or start time.

    `values` are its attributes, to be read now. `kept` are the same attributes as the span will hold them: those of a
    large batch don't stay in memory.
    """
    trace_id, span_id = _checked_ids(wire, ids)
    if not wire.name:
        raise bad_span(wire, "no_name", "the span has no name")
    start_ns = time_ns(wire.startTimeUnixNano)
    if not start_ns:
        raise bad_span(wire, "no_start_time", "startTimeUnixNano is missing or no time in nanoseconds")
    rank, conversation_id = conversation_of(values)
    known_id, prompt_name = prompt_of(wire, values, resource, prompt_id)
    return Span(
        trace_id,
        span_id,
        ids[2],
        wire.name,
        scope,
        start_ns,
        max(start_ns, time_ns(wire.endTimeUnixNano)),
        known_id,
        conversation_id,
        raw,
        kept,
        (wire.status is not None and wire.status.code in ERROR_CODES) or has_error_status(values),
        rank,
        prompt_name,
    )


def _checked_ids(wire: WireSpan, ids: Ids) -> tuple[bytes, bytes]:
    trace_id, span_id, _ = ids
    if trace_id is None:
        raise bad_span(wire, "bad_trace_id", "traceId must be 32 hex digits, not all zero")
    if span_id is None:
        raise bad_span(wire, "bad_span_id", "spanId must be 16 hex digits, not all zero")
    return trace_id, span_id


def _raw_attributes(wire: WireSpan) -> dict[str, Raw]:
    return {pair.key: pair.value for pair in wire.attributes or ()}


def _wire_span(raw: Raw) -> WireSpan:
    try:
        return decode_span(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        pass
    try:
        fields = parse_json(bytes(raw))
    except ValueError:
        raise bad_span(WireSpan(), "malformed_span", "the span can't be read as JSON") from None
    if not isinstance(fields, dict):
        raise bad_span(WireSpan(), "malformed_span", "the span is no JSON object")
    wire = lenient_span(fields)
    if not isinstance(fields.get("attributes"), list | None):
        raise bad_span(wire, "bad_attributes", "attributes must be a list of {key, value} objects")
    return wire
