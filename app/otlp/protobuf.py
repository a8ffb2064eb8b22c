"""Messages of OTLP's protobuf as OTLP's JSON, by the classes that opentelemetry-proto generates.

A span is stored as its exporter sent it, so it may have either form. JSON begins with a brace, and no accepted message
does. Values nest no deeper than the parser, written in C, allows: 100 messages.
"""

from __future__ import annotations

import math
from base64 import b64encode
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

from app.errors import TooLarge
from app.otlp.values import any_value, word_of
from app.values.json import count_marks, parse_json

ITEM_ELEMENTS_MAX = 200_000
"""Attributes, events, links and members of lists that a span or a log record may have."""
MESSAGE_ELEMENTS_MAX = 1_000_000
"""The elements of all spans in a batch. Counting an element costs two microseconds at most."""
ELEMENT_BYTES_MIN = 2


@dataclass(slots=True)
class Elements:
    """The remaining elements of a batch, and of the span or log record that is being read."""

    batch: int = MESSAGE_ELEMENTS_MAX
    item: int = ITEM_ELEMENTS_MAX

    def take(self, count: int) -> None:
        """Subtract elements. Raises OverflowError for too many in a span, and `TooLarge` for too many in a batch."""
        self.item -= count
        self.batch -= count
        if self.item < 0:
            raise OverflowError
        if self.batch < 0:
            raise TooLarge(
                f"The batch has more than {MESSAGE_ELEMENTS_MAX} attributes and values; send smaller batches."
            )


TOO_MANY = f"more than {ITEM_ELEMENTS_MAX} attributes and values"


def count_elements(message: Any, elements: Elements) -> None:
    """Count a span's elements without converting them."""
    elements.take(len(message.events) + len(message.links))
    owners = [message, *message.events, *message.links]
    left: list[tuple[Any, bool]] = [(owner.attributes, True) for owner in owners]
    while left:
        listed, are_pairs = left.pop()
        elements.take(len(listed))
        for item in listed:
            value = item.value if are_pairs else item
            kind = value.WhichOneof("value")
            if kind == "array_value":
                left.append((value.array_value.values, False))
            elif kind == "kvlist_value":
                left.append((value.kvlist_value.values, True))


def has_too_many_members(raw: bytes) -> bool:
    """Return True if the lists of a span or log record in JSON have more members than `ITEM_ELEMENTS_MAX`."""
    if count_marks(raw) <= ITEM_ELEMENTS_MAX:
        return False
    try:
        left, members = [parse_json(raw)], 0
    except ValueError:
        return False
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += value.values()
        elif isinstance(value, list):
            members += len(value)
            left += value
    return members > ITEM_ELEMENTS_MAX


def is_protobuf(raw: bytes) -> bool:
    """Return whether a stored span is protobuf; the others are JSON."""
    return not raw.startswith(b"{")


def stored_fields(raw: bytes) -> Any:
    """Return a stored span as OTLP's JSON object; raises ValueError for what can't be read."""
    if not is_protobuf(raw):
        return parse_json(raw)
    try:
        return span_fields(SpanMessage.FromString(raw), Elements())
    except DecodeError as error:
        raise ValueError(str(error)) from None


def span_fields(message: Any, elements: Elements) -> dict[str, Any]:
    """Return a span's message as JSON has it."""
    elements.take(len(message.events) + len(message.links))
    fields = {
        "traceId": message.trace_id.hex(),
        "spanId": message.span_id.hex(),
        "traceState": message.trace_state,
        "parentSpanId": message.parent_span_id.hex(),
        "flags": message.flags,
        "name": message.name,
        "kind": message.kind,
        "startTimeUnixNano": str(message.start_time_unix_nano),
        "endTimeUnixNano": str(message.end_time_unix_nano),
        "attributes": pairs(message.attributes, elements),
        "droppedAttributesCount": message.dropped_attributes_count,
        "events": [_event(event, elements) for event in message.events],
        "droppedEventsCount": message.dropped_events_count,
        "links": [_link(link, elements) for link in message.links],
        "droppedLinksCount": message.dropped_links_count,
    }
    status = {"code": message.status.code, "message": message.status.message}
    return {name: value for name, value in fields.items() if value} | {"status": status}


def _event(event: Any, elements: Elements) -> dict[str, Any]:
    return {
        "timeUnixNano": str(event.time_unix_nano),
        "name": event.name,
        "attributes": pairs(event.attributes, elements),
    }


def _link(link: Any, elements: Elements) -> dict[str, Any]:
    return {
        "traceId": link.trace_id.hex(),
        "spanId": link.span_id.hex(),
        "traceState": link.trace_state,
        "attributes": pairs(link.attributes, elements),
    }


def pairs(attributes: Any, elements: Elements) -> list[dict[str, Any]]:
    """Return a list of KeyValue messages as JSON has it."""
    elements.take(len(attributes))
    return [{"key": pair.key, "value": value_fields(pair.value, elements)} for pair in attributes]


def value_fields(value: Any, elements: Elements) -> dict[str, Any]:
    """Return an AnyValue message as JSON has it; {} for one without a value."""
    match value.WhichOneof("value"):
        case "string_value":
            return {"stringValue": value.string_value}
        case "int_value":
            return {"intValue": str(value.int_value)}
        case "bool_value":
            return {"boolValue": value.bool_value}
        case "double_value":
            number = value.double_value
            return {"doubleValue": number if math.isfinite(number) else word_of(number)}
        case "array_value":
            listed = value.array_value.values
            elements.take(len(listed))
            return {"arrayValue": {"values": [value_fields(item, elements) for item in listed]}}
        case "kvlist_value":
            return {"kvlistValue": {"values": pairs(value.kvlist_value.values, elements)}}
        case "bytes_value":
            return {"bytesValue": b64encode(value.bytes_value).decode()}
    return {}


def message_value(value: Any) -> Any:
    """Return the value of an AnyValue message as `any_value` returns that of its JSON.

    The elements of the message's span were counted before, so that nothing is raised.
    """
    match value.WhichOneof("value"):
        case "string_value":
            return value.string_value
        case "int_value":
            return value.int_value
    return any_value(value_fields(value, Elements()))
