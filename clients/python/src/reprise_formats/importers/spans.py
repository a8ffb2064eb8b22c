"""A span as converters make it, and its OTLP JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Protocol

MEMBERS_MAX = 1_000_000
"""Brackets and commas of JSON in a text that is read: a text of some bytes may need a hundred times its memory."""
_INT64 = 2**63
_STATUS_ERROR = 2


class Unreadable(ValueError):
    """A record that no span can be made of; its text is the reason."""


class Sendable(Protocol):
    """What an importer sends of a span."""

    @property
    def trace_id(self) -> str: ...

    @property
    def conversation(self) -> str | None:
        """The name of its conversation, where the span has it."""

    def resource_spans(self, scope: str) -> bytes:
        """Return the span as an entry of OTLP's `resourceSpans`. Raises `Unreadable` for what JSON does not have."""


@dataclass(frozen=True)
class ImportedSpan:
    """A span with the ids of the tool that recorded it. Times are Unix nanoseconds.

    Attributes that are None are left out. `error` is the message of a span that failed, None for one that did not.
    """

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    start_ns: int
    end_ns: int
    attributes: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None

    @property
    def conversation(self) -> str | None:
        """The name of its conversation, where the span has it."""
        conversation_id = self.attributes.get("gen_ai.conversation.id") or self.attributes.get("session.id")
        return str(conversation_id) if conversation_id else None

    def resource_spans(self, scope: str) -> bytes:
        return b'{"scopeSpans":[{"scope":{"name":"reprise-import"},"spans":[%b]}]}' % to_otlp(self, scope)


def to_otlp(span: ImportedSpan, scope: str) -> bytes:
    """Return the span as OTLP JSON, UTF-8.

    Its ids are hashes of the recorded ids and of `scope`: the same in every import of the scope, and in no other one.
    Half of a surrogate pair becomes a question mark. Raises `Unreadable` for numbers that JSON does not have.
    """
    fields: dict[str, Any] = {
        "traceId": sent_trace_id(scope, span.trace_id),
        "spanId": sent_span_id(scope, span.trace_id, span.span_id),
        "name": span.name,
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(max(span.start_ns, span.end_ns)),
        "attributes": [
            {"key": key, "value": _value(value)} for key, value in span.attributes.items() if value is not None
        ],
    }
    if span.parent_id:
        fields["parentSpanId"] = sent_span_id(scope, span.trace_id, span.parent_id)
    if span.error is not None:
        fields["status"] = {"code": _STATUS_ERROR, "message": span.error}
    return json_text(fields).encode("utf-8", "replace")


def sent_trace_id(scope: str, trace_id: str) -> str:
    return _hash(f"{scope}/{trace_id}", 32)


def sent_span_id(scope: str, trace_id: str, span_id: str) -> str:
    return _hash(f"{scope}/{trace_id}/{span_id}", 16)


def _hash(text: str, digits: int) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:digits]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int) and -_INT64 <= value < _INT64:
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"stringValue": text_of(value)}


def text_of(value: Any) -> str | None:
    """Return a text unchanged, any other value as JSON, and None for null."""
    return value if value is None or isinstance(value, str) else json_text(value)


def json_text(value: Any) -> str:
    """Return a value as JSON. Raises `Unreadable` where JSON has no form for it."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (RecursionError, ValueError) as error:
        raise Unreadable(f"cannot be written as JSON: {error}") from error


def in_json(value: Any) -> Any:
    """Return the object or list that a text holds as JSON, and every other value unchanged.

    A text with more than `MEMBERS_MAX` brackets and commas is also unchanged.
    """
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    if sum(map(value.count, "[{,")) > MEMBERS_MAX:
        return value
    try:
        return json.loads(value)
    except (RecursionError, ValueError):
        return value


def object_in(value: Any) -> Mapping[str, Any]:
    """Return an object, also one in JSON text; an empty one for all else."""
    parsed = in_json(value)
    return parsed if isinstance(parsed, dict) else {}


def text(value: Any) -> str | None:
    """Return a text that is not blank, or a number as text; None for all else."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value.strip() else None


def required(record: Mapping[str, Any], *names: str) -> str:
    """Return the first of these fields that has a text. Raises `Unreadable` without one."""
    for name in names:
        if value := text(record.get(name)):
            return value
    raise Unreadable(f"has no {names[0]}")
