"""Langfuse: observations and traces as its public API, the export of its tables and that to blob storage write them.

What an observation holds is written under the names that Langfuse's SDK sends it with, so that an imported session is
the same as one that was sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from reprise_formats.importers.spans import ImportedSpan, Unreadable, object_in, text, text_of
from reprise_formats.importers.times import nanoseconds

_UPPER = re.compile("[A-Z]")
# The span of a trace: no observation has such an id.
_TRACE = "trace"


def convert(record: Mapping[str, Any], at_ns: int) -> list[ImportedSpan]:
    """Return the span of an observation; of a trace, a span that names its session and user, and its observations'."""
    if _text(record, "traceId"):
        return [_observation(record, at_ns)]
    trace = object_in(record.get("trace")) or record
    trace_id = _text(trace, "id")
    if trace_id is None:
        raise Unreadable("has neither traceId nor id")
    within = record.get("observations")
    observations = [item for item in within if isinstance(item, dict)] if isinstance(within, list) else []
    return [
        _trace(trace, trace_id, at_ns),
        *(_observation({"traceId": trace_id, **item}, at_ns) for item in observations),
    ]


def _trace(trace: Mapping[str, Any], trace_id: str, at_ns: int) -> ImportedSpan:
    start_ns = nanoseconds(trace.get("timestamp")) or at_ns
    name = _text(trace, "name") or _TRACE
    return ImportedSpan(trace_id, _TRACE, None, name, start_ns, start_ns, _shared(trace))


def _observation(row: Mapping[str, Any], at_ns: int) -> ImportedSpan:
    span_id, kind = _text(row, "id"), _text(row, "type")
    if span_id is None or kind is None:
        raise Unreadable(f"has no {'id' if span_id is None else 'type'}")
    start_ns = nanoseconds(_get(row, "startTime")) or at_ns
    return ImportedSpan(
        _text(row, "traceId") or "",
        span_id,
        _text(row, "parentObservationId"),
        _text(row, "name") or kind.lower(),
        start_ns,
        nanoseconds(_get(row, "endTime")) or start_ns,
        {
            **_shared(row),
            "langfuse.observation.type": kind.lower(),
            "langfuse.observation.input": text_of(row.get("input")),
            "langfuse.observation.output": text_of(row.get("output")),
            "langfuse.observation.model.name": _text(row, "providedModelName") or _text(row, "model"),
            "langfuse.observation.usage_details": text_of(_get(row, "usageDetails") or row.get("usage")),
        },
        (_text(row, "statusMessage") or "") if row.get("level") == "ERROR" else None,
    )


def _shared(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"session.id": _text(row, "sessionId"), "user.id": _text(row, "userId")}


def _text(row: Mapping[str, Any], name: str) -> str | None:
    return text(_get(row, name))


def _get(row: Mapping[str, Any], name: str) -> Any:
    """Return a field by the API's name of it, or by that of a column in blob storage: `traceId`, `trace_id`."""
    value = row.get(name)
    return row.get(_UPPER.sub(lambda letter: f"_{letter[0].lower()}", name)) if value is None else value
