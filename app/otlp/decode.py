"""OTLP/HTTP JSON trace exports to spans: the valid ones, and why the others are not."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from app.errors import Invalid
from app.otlp.rejections import Rejection
from app.otlp.span import Span
from app.otlp.text import Body, valid_utf8, without_bom, without_lone_surrogates
from app.otlp.validate import BadSpan, LatestAttributes, ResourceAttributes, span_of
from app.otlp.wire import Export, ScopeSpans, scope_name

LARGE = 8 * 1024 * 1024
"""Bytes beyond which memory matters more than the time to parse attributes twice."""

_decode_export = msgspec.json.Decoder(Export).decode


@dataclass(frozen=True, slots=True)
class Decoded:
    """The spans of a batch in the order they came (each identity once) and the rejected ones."""

    spans: list[Span]
    rejected: list[Rejection]


def decode(body: Body) -> Decoded:
    """Decode an export request (after decompression). Raises Invalid when it is no OTLP JSON object."""
    export = _export(valid_utf8(without_bom(body)))
    latest = LatestAttributes() if len(body) > LARGE else None
    spans: dict[tuple[bytes, bytes], Span] = {}
    rejected: list[Rejection] = []
    for resource_spans in export.resourceSpans or ():
        resource = ResourceAttributes(resource_spans.resource)
        for scope_spans in resource_spans.scopeSpans or ():
            _decode_scope(scope_spans, resource, latest, spans, rejected)
    return Decoded(list(spans.values()), rejected)


def _decode_scope(
    scope_spans: ScopeSpans,
    resource: ResourceAttributes,
    latest: LatestAttributes | None,
    spans: dict[tuple[bytes, bytes], Span],
    rejected: list[Rejection],
) -> None:
    scope = scope_name(scope_spans.scope)
    for raw in scope_spans.spans or ():
        try:
            span = span_of(raw, scope, resource, latest)
        except BadSpan as error:
            rejected.append(error.rejection)
        else:
            spans.setdefault((span.trace_id, span.span_id), span)


def _export(body: Body) -> Export:
    try:
        return _decode_export(body)
    except msgspec.ValidationError as error:
        raise Invalid(f"This is no OTLP trace export: {error}") from None
    except RecursionError:
        raise Invalid("The body is nested too deeply to be an OTLP trace export") from None
    except msgspec.DecodeError as error:
        return _repaired_export(body, error)


def _repaired_export(body: Body, cause: Exception) -> Export:
    repaired = without_lone_surrogates(body)
    if repaired == body:
        raise Invalid(f"The body is not valid JSON: {cause}") from None
    return _export(repaired)
