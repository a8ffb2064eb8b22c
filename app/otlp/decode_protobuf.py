"""Decodes trace exports of OTLP/HTTP protobuf to the same spans that `app/otlp/decode.py` makes of JSON.

The outer messages are walked (`app/otlp/wire.py`), and each span is parsed separately, in C. If a span can't be read,
for example because a text is not UTF-8, only this span is rejected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

from app.otlp.decode import LARGE_BYTES, Decoded, ForgetfulAttributes, LatestAttributes, checked_span
from app.otlp.keyed import KeyedSpan
from app.otlp.prompt_ids import BadSpan, bad_span
from app.otlp.protobuf import (
    ELEMENT_BYTES_MIN,
    ITEM_ELEMENTS_MAX,
    TOO_MANY,
    Elements,
    count_elements,
    is_protobuf,
    message_value,
)
from app.otlp.span import MAX_SCOPE, Rejection, Span, WireSpan, WireStatus
from app.otlp.values import LazyAttributes
from app.otlp.wire import WireWalk
from app.values.json import Body

# The fields that ExportTraceServiceRequest and ExportLogsServiceRequest have in common, level by level.
_GROUPS, _SCOPES, _ITEMS = 1, 2, 2
_SCOPE, _SCOPE_NAME = 1, 1


def items(body: Body) -> Iterator[tuple[str, memoryview]]:
    """Yield the scope and the bytes of each span, or log record, of an export. Raises `Invalid` for other bodies."""
    walk = WireWalk()
    for group in walk.messages(memoryview(body), _GROUPS):
        for scoped in walk.messages(group, _SCOPES):
            fields = list(walk.fields(scoped))
            scope = _scope_name(walk, (content for number, content in fields if number == _SCOPE))
            yield from ((scope, content) for number, content in fields if number == _ITEMS)


def _scope_name(walk: WireWalk, scopes: Iterable[memoryview]) -> str:
    """Return the last name that is given: parsers merge a message that occurs twice."""
    name = b""
    for scope in scopes:
        for encoded in walk.messages(scope, _SCOPE_NAME):
            name = bytes(encoded[: 4 * MAX_SCOPE])
    return name.decode(errors="replace")[:MAX_SCOPE]


KEPT_BYTES = 2 * 1024 * 1024
"""Spans stay parsed up to this many bytes of a batch, with up to 25 times the memory; later spans are parsed again."""


class MessageAttributes(LazyAttributes):
    """Attributes in the table of a KeyedSpan; each value is read on access."""

    __slots__ = ()
    read = staticmethod(message_value)


class ForgetfulMessageAttributes(ForgetfulAttributes):
    __slots__ = ()
    read = staticmethod(message_value)


def decode_protobuf(body: Body, prompt_id: int) -> Decoded:
    """Decode an export request; spans that name no prompt belong to `prompt_id`.

    Raises `Invalid` if it is not an export, and `TooLarge` if it has too many elements.
    """
    latest = LatestAttributes(_attributes)
    elements, room = Elements(), KEPT_BYTES
    spans: dict[tuple[bytes, bytes], Span] = {}
    rejected: list[Rejection] = []
    for scope, content in items(body):
        try:
            raw = bytes(content)
            if len(body) > LARGE_BYTES or len(raw) > ITEM_ELEMENTS_MAX * ELEMENT_BYTES_MIN:
                _count(_message(SpanMessage, raw), elements)
            room -= len(raw)
            span = _span_of(_message(KeyedSpan, raw), content, scope, prompt_id, latest if room < 0 else None)
        except BadSpan as error:
            rejected.append(error.rejection)
        else:
            spans.setdefault((span.trace_id, span.span_id), span)
    return Decoded(list(spans.values()), rejected)


def _message(kind: Any, content: bytes) -> Any:
    try:
        if is_protobuf(content):
            return kind.FromString(content)
        reason = "it begins with a group"
    except DecodeError as error:
        reason = str(error)
    raise bad_span(WireSpan(), "malformed_span", f"the span can't be read as protobuf: {reason}")


def _count(message: SpanMessage, elements: Elements) -> None:
    """Subtract the span's elements from those left; raises `BadSpan` if the span has too many."""
    elements.item = ITEM_ELEMENTS_MAX
    try:
        count_elements(message, elements)
    except OverflowError:
        raise bad_span(_wire_span(message), "too_large", f"the span has {TOO_MANY}") from None


def _attributes(content: memoryview) -> Any:
    return KeyedSpan.FromString(bytes(content)).attributes


def _span_of(message: Any, content: memoryview, scope: str, prompt_id: int, latest: LatestAttributes | None) -> Span:
    values = MessageAttributes(message.attributes)
    kept = values if latest is None else ForgetfulMessageAttributes(content, latest)
    ids = (_id(message.trace_id, 16), _id(message.span_id, 8), _id(message.parent_span_id, 8))
    return checked_span(_wire_span(message), ids, content, scope, values, kept, prompt_id=prompt_id)


def _id(content: bytes, size: int) -> bytes | None:
    return content if len(content) == size and any(content) else None


def _wire_span(message: Any) -> WireSpan:
    """Return the span without its attributes."""
    return WireSpan(
        message.trace_id.hex(),
        message.span_id.hex(),
        message.parent_span_id.hex(),
        message.name,
        message.start_time_unix_nano,
        message.end_time_unix_nano,
        status=WireStatus(message.status.code),
    )
