"""The spans of a turn: read in full, put in order, and marked where double instrumentation recorded a call twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Protocol

import msgspec

from app.chat import ToolCall
from app.otlp.decode import ERROR_CODES
from app.otlp.logs import is_content
from app.otlp.names import says_failed
from app.otlp.normalise import Event, Messages, Normalised, NormalisedMessage, SpanView, ToolUse
from app.otlp.normalise.messages import Memo
from app.otlp.normalise.tokens import TokenCounts
from app.otlp.protobuf import stored_fields
from app.otlp.span import Span, decode_span
from app.otlp.values import attributes, raw_value, time_ns


@dataclass(frozen=True, slots=True)
class FullSpan:
    """The full content of a span. Times are Unix nanoseconds; `parent_span_id` is lower-case hex."""

    parent_span_id: str | None
    name: str
    start_ns: int
    end_ns: int
    attributes: dict[str, Any]
    events: list[Event]
    failed: bool
    status_message: str | None


def read_span(raw: bytes) -> FullSpan:
    """Return the span in `raw`, which was valid when it was stored; fields that can't be read are empty."""
    try:
        fields = stored_fields(raw)
    except ValueError:
        fields = _readable_fields(raw)
    status = fields.get("status")
    status = status if isinstance(status, dict) else {}
    name, message = fields.get("name"), status.get("message")
    start_ns = time_ns(fields.get("startTimeUnixNano"))
    values = attributes(fields.get("attributes"))
    return FullSpan(
        _parent(fields.get("parentSpanId")),
        name if isinstance(name, str) else "",
        start_ns,
        max(start_ns, time_ns(fields.get("endTimeUnixNano"))),
        values,
        _events(fields),
        status.get("code") in ERROR_CODES or says_failed(values),
        message if isinstance(message, str) and message else None,
    )


def view_of(span: Span) -> SpanView:
    """Return a span of a batch for the conventions; its events are parsed only if they are needed."""
    return SpanView(
        span.name, span.scope, span.attributes, lambda: read_span(bytes(span.raw)).events, failed=span.failed
    )


def _readable_fields(raw: bytes) -> dict[str, Any]:
    """Return the fields of a span that can be read, where one of them can not, such as a number out of range."""
    try:
        wire = decode_span(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    pairs = [{"key": pair.key, "value": {"stringValue": raw_value(pair.value)}} for pair in wire.attributes or ()]
    return msgspec.structs.asdict(wire) | {"attributes": pairs, "status": {"code": wire.status and wire.status.code}}


def _parent(value: Any) -> str | None:
    return value.lower() if isinstance(value, str) and value.strip("0") else None


def _events(fields: dict[str, Any]) -> list[Event]:
    events = fields.get("events")
    return [
        (event["name"], attributes(event.get("attributes")))
        for event in (events if isinstance(events, list) else ())
        if isinstance(event, dict) and isinstance(event.get("name"), str)
    ]


class StoredSpan(Protocol):
    """A span as the database keeps it; the spans of a batch are such too."""

    @property
    def trace_id(self) -> bytes: ...
    @property
    def span_id(self) -> bytes: ...
    @property
    def scope(self) -> str: ...
    @property
    def raw(self) -> bytes | memoryview: ...


@dataclass(slots=True)
class TurnSpan:
    """A span with what the conventions make of it. `outputs` is read for model calls, `tool` for tools."""

    span_id: str
    scope: str
    full: FullSpan
    normal: Normalised
    outputs: Messages | None = None
    tool: ToolUse | None = None
    is_copy: bool = False

    @property
    def is_chat(self) -> bool:
        return self.normal.is_chat and not self.is_copy

    @property
    def is_tool(self) -> bool:
        return self.normal.is_tool and not self.is_copy

    @property
    def is_agent(self) -> bool:
        return self.normal.is_agent

    @property
    def tool_name(self) -> str:
        named = self.tool.name if self.tool else None
        return named or self.full.name.removeprefix("execute_tool ")


Records = Mapping[tuple[bytes, bytes], Sequence[Event]]
"""The content of spans in log records, by trace id and span id."""


def read_turn(
    spans: Iterable[StoredSpan], memo: Memo | None = None, records: Records = MappingProxyType({})
) -> list[TurnSpan]:
    """Return the spans in the order of start, end, parent before child, id. `memo` is that of the session.

    `records` of a span count if the span has no such events itself.
    """
    # In the order of ids, so that a circle of parents is cut at the same place each time.
    in_order = sorted(spans, key=lambda span: span.span_id)
    read = (_read(stored, memo, records.get((stored.trace_id, stored.span_id), ())) for stored in in_order)
    tree = {span.span_id: span for span in read}
    depths: dict[str, int] = {}
    for span in tree.values():
        _measure(span, tree, depths)
    ordered = sorted(
        tree.values(), key=lambda span: (span.full.start_ns, span.full.end_ns, depths[span.span_id], span.span_id)
    )
    _name_lone_arguments(ordered)
    return ordered


def _read(stored: StoredSpan, memo: Memo | None, recorded: Sequence[Event]) -> TurnSpan:
    full = read_span(bytes(stored.raw))
    if recorded:
        has_content = any(is_content(name) for name, _ in full.events)
        more = [event for event in recorded if not (has_content and is_content(event[0]))]
        full = replace(full, events=[*full.events, *more])
    normal = Normalised(SpanView(full.name, stored.scope, full.attributes, lambda: full.events, memo, full.failed))
    span = TurnSpan(stored.span_id.hex(), stored.scope, full, normal)
    if normal.is_chat:
        span.outputs = normal.output_messages
    elif normal.is_tool:
        span.tool = normal.tool
    return span


def _name_lone_arguments(spans: Iterable[TurnSpan]) -> None:
    """A tool's only argument recorded without its name (LangChain hands it over so) gets that of the model's call.

    The call has the span's id, or has none where messages are recorded without; a span without an id is of any call.
    """
    called_with: dict[tuple[str, str, str], dict[str, Any]] = {}
    for span in spans:
        for call in (call for message in span.outputs or () for call in message.calls):
            if isinstance(call.arguments, dict) and len(call.arguments) == 1:
                (only,) = map(str, call.arguments.values())
                key = ("id", call.id) if call.id else ("no id", call.name)
                called_with[*key, only] = called_with["name", call.name, only] = call.arguments
        if span.tool and not isinstance(span.tool.arguments, dict | None):
            call_id, name, only = span.tool.call_id, span.tool.name or "", str(span.tool.arguments)
            keys = (("id", call_id), ("no id", name)) if call_id else (("name", name),)
            named = filter(None, (called_with.get((*key, only)) for key in keys))
            span.tool = replace(span.tool, arguments=next(named, span.tool.arguments))


def _measure(span: TurnSpan, tree: Mapping[str, TurnSpan], depths: dict[str, int]) -> None:
    """Set the depths of a span and its ancestors; a circle of parents ends where it closes."""
    path: dict[str, None] = {}
    at: TurnSpan | None = span
    while at is not None and at.span_id not in depths and at.span_id not in path:
        path[at.span_id] = None
        at = tree.get(at.full.parent_span_id or "")
    depth = depths.get(at.span_id, -1) if at is not None else -1
    for span_id in reversed(path):
        depth += 1
        depths[span_id] = depth


RESPONSE_ID = "gen_ai.response.id"


def mark_copies(spans: Sequence[TurnSpan]) -> None:
    """Mark the copies among a turn's spans, which are in the order of their start."""
    tree = {span.span_id: span for span in spans}
    nearest: dict[str, TurnSpan | None] = {}
    for span in spans:
        if _is_call(span):
            _mark_within(span, _nearest_call(span.full.parent_span_id, tree, nearest))
    siblings: dict[str | None, list[TurnSpan]] = defaultdict(list)
    for span in spans:
        if span.is_chat:
            siblings[span.full.parent_span_id].append(span)
    for calls in siblings.values():
        _mark_silent(calls)


def _mark_within(span: TurnSpan, outer: TurnSpan | None) -> None:
    """Two libraries that record one call make a span within a span."""
    if outer is None or outer is span or (outer.scope == span.scope and not _is_served(span)):
        return
    if span.normal.is_chat and outer.normal.is_chat:
        if outer.outputs and not span.outputs:
            span.is_copy = True
        elif _adds_nothing(outer, span):
            outer.is_copy = True
    elif span.tool and outer.tool and span.tool.name == outer.tool.name:
        span.is_copy = span.tool.arguments in (outer.tool.arguments, None)


def _is_served(span: TurnSpan) -> bool:
    """Return whether one library may have recorded a call twice: MCP's client around MCP's server."""
    return "mcp.method.name" in span.full.attributes


def _mark_silent(calls: Iterable[TurnSpan]) -> None:
    """Mark calls that a vendor's SDK records without content, if another instrumentation has the content."""
    for one, other in pairwise(calls):
        if one.scope != other.scope and _may_be_one(one, other):
            silent, full = (one, other) if _is_silent(one) else (other, one)
            silent.is_copy = _is_silent(silent) and bool(full.outputs)


def _may_be_one(one: TurnSpan, other: TurnSpan) -> bool:
    ids = {span.normal.span.text(RESPONSE_ID) for span in (one, other)} - {None}
    same_model = one.normal.model == other.normal.model
    return len(ids) < 2 and same_model and other.full.start_ns <= one.full.end_ns


def _is_silent(span: TurnSpan) -> bool:
    return not span.outputs and span.normal.input_messages is None


def _is_call(span: TurnSpan) -> bool:
    return span.normal.is_chat or span.normal.is_tool


def _nearest_call(
    span_id: str | None, tree: Mapping[str, TurnSpan], nearest: dict[str, TurnSpan | None]
) -> TurnSpan | None:
    """Return the span if it is a model call or tool, else the nearest around it; `nearest` has those found before."""
    path: list[str] = []
    found = None
    while span_id is not None and (at := tree.get(span_id)):
        if span_id in nearest or _is_call(at):
            found = at if _is_call(at) else nearest[span_id]
            break
        path.append(span_id)
        nearest[span_id] = None  # what a circle of parents ends with
        span_id = at.full.parent_span_id
    nearest.update(dict.fromkeys(path, found))
    return found


def _adds_nothing(outer: TurnSpan, inner: TurnSpan) -> bool:
    """Return whether a model call records nothing beyond the one within it."""
    if outer.outputs and inner.outputs:
        return _same_messages(outer.outputs, inner.outputs)
    if inner.outputs:
        return True
    return outer.normal.input_messages is None and outer.normal.tokens in (TokenCounts(), inner.normal.tokens)


def _same_messages(one: Messages, other: Messages) -> bool:
    """Looks no further than to the first difference: a large call may have many others within it."""
    return len(one) == len(other) and all(map(_same_message, one, other))


def _same_message(one: NormalisedMessage, other: NormalisedMessage) -> bool:
    if one.text != other.text or len(one.calls) != len(other.calls):
        return False
    return all(map(_same_call, one.calls, other.calls))


def _same_call(one: ToolCall, other: ToolCall) -> bool:
    return one.name == other.name and bool(one.arguments == other.arguments)
