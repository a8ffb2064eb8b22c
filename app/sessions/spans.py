"""The spans of a turn: read in full, and put in order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Protocol

import msgspec
from msgspec import Struct, structs

from app.otlp.decode import ERROR_CODES, OK_CODES
from app.otlp.logs import is_content
from app.otlp.names import has_error_status
from app.otlp.normalise import Event, Messages, Normalised, SpanView, ToolUse
from app.otlp.normalise.convention import TOOL
from app.otlp.normalise.messages import Memo
from app.otlp.normalise.modalities import ModalityTokens
from app.otlp.normalise.tokens import TokenCounts
from app.otlp.protobuf import stored_fields
from app.otlp.span import Span, decode_span
from app.otlp.values import attributes, raw_value, time_ns
from app.values.json import json_key
from app.values.lazy import Lazy

_NAMESPACE = re.compile(r"__|[./:]")


class FullSpan(Struct, frozen=True):
    """The full content of a span. Times are Unix nanoseconds; `parent_span_id` is lower-case hex."""

    parent_span_id: str | None
    name: str
    start_ns: int
    end_ns: int
    attributes: Mapping[str, Any]
    events: list[Event]
    failed: bool
    status_message: str | None
    is_ok: bool = False
    """Whether the status is that of a success; most libraries leave it unset."""


def read_span(raw: bytes) -> FullSpan:
    """Return the span in `raw`, which was valid when it was stored; fields that can't be read are empty."""
    fields = _fields(raw)
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
        status.get("code") in ERROR_CODES or has_error_status(values),
        message if isinstance(message, str) and message else None,
        status.get("code") in OK_CODES,
    )


def view_of(span: Span) -> SpanView:
    """Return a span of a batch for the conventions; its events are parsed only if they are needed."""
    return SpanView(
        span.name, span.scope, span.attributes, lambda: _events(_fields(bytes(span.raw))), failed=span.failed
    )


def _fields(raw: bytes) -> dict[str, Any]:
    try:
        fields: dict[str, Any] = stored_fields(raw)
        return fields
    except ValueError:
        return _readable_fields(raw)


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


class RawSpan(Protocol):
    """A span as the database keeps it; the spans of a batch are such too."""

    @property
    def trace_id(self) -> bytes: ...
    @property
    def span_id(self) -> bytes: ...
    @property
    def scope(self) -> str: ...
    @property
    def raw(self) -> bytes | memoryview: ...


class TurnSpan(Struct, eq=False, dict=True):
    """A span with what the conventions make of it. `outputs` are those of a model call, `tool` is that of a tool.

    `copy_of` is the span that records the same call, if this one is its copy; see `mark_copies`. `copies` are those of
    this span. They complete what it lacks.
    """

    span_id: str
    scope: str
    full: FullSpan
    normal: Normalised
    copy_of: TurnSpan | None = None
    copies: list[TurnSpan] = []

    @Lazy
    def outputs(self) -> Messages | None:
        return self.normal.output_messages if self.normal.is_chat else None

    @property
    def inputs(self) -> Messages | None:
        given = self.normal.input_messages
        if given is not None or not self.copies:
            return given
        others = (copy.normal.input_messages for copy in self.copies)
        return next((messages for messages in others if messages is not None), None)

    @Lazy
    def output_key(self) -> tuple[str, tuple[Any, ...]]:
        """The text and the tool calls that a model call put out, for comparison with another record of it."""
        outputs = self.outputs or ()
        calls = [(own_name(call.name), json_key(call.arguments)) for message in outputs for call in message.calls]
        return "\n".join(message.text.strip() for message in outputs if message.text), tuple(calls)

    @Lazy
    def tool(self) -> ToolUse | None:
        return self.normal.tool if self.normal.is_tool else None

    @property
    def is_copy(self) -> bool:
        return self.copy_of is not None

    @property
    def is_chat(self) -> bool:
        return self.normal.is_chat and self.copy_of is None

    @property
    def is_tool(self) -> bool:
        return self.normal.is_tool and self.copy_of is None

    @property
    def is_agent(self) -> bool:
        return self.normal.is_agent and self.copy_of is None

    @property
    def is_root_pipeline(self) -> bool:
        return self.normal.is_pipeline and self.full.parent_span_id is None

    @property
    def tool_name(self) -> str:
        # Arguments and result are not read if an attribute has the name.
        named = self.normal.span.text("gen_ai.tool.name") or (self.tool.name if self.tool else None)
        return named or self.full.name.removeprefix("execute_tool ")

    @property
    def is_nameless(self) -> bool:
        """Whether a tool's span has lost the name of the tool, as MLflow's have that it translates."""
        return self.full.name == TOOL and self.tool_name == TOOL

    @property
    def tokens(self) -> TokenCounts:
        """The counts of a model call, those of a copy if it counts the same tokens in more parts."""
        own_counts = self.normal.tokens
        if not self.copies:
            return own_counts
        others = (copy.normal.tokens for copy in self.copies)
        return max(
            (own_counts, *(counts for counts in others if own_counts[:2] in ((0, 0), counts[:2]))), key=_parts_counted
        )

    @property
    def modalities(self) -> tuple[ModalityTokens, ...] | None:
        """The tokens of sound and images of a model call, those of a copy where only the copy has them."""
        own_counts = self.normal.modalities
        if own_counts is not None or not self.copies:
            return own_counts
        recorded = (copy.normal.modalities for copy in self.copies)
        return next((counts for counts in recorded if counts is not None), None)

    @property
    def failed(self) -> bool:
        """Whether the span failed; a tool has also failed if a copy of it has."""
        if not self.copies or self.full.failed:
            return self.full.failed
        return self.normal.is_tool and any(copy.full.failed for copy in self.copies)

    @property
    def provider(self) -> str | None:
        return self.normal.provider or next(filter(None, (copy.normal.provider for copy in self.copies)), None)

    @property
    def served_model(self) -> str | None:
        return self.normal.served_model or next(filter(None, (copy.normal.served_model for copy in self.copies)), None)


def own_name(tool_name: str) -> str:
    """Return the name of a tool without its namespace, as of MCP."""
    return _NAMESPACE.split(tool_name)[-1] or tool_name


def _parts_counted(counts: TokenCounts) -> int:
    return sum(map(bool, counts))


Records = Mapping[tuple[bytes, bytes], Sequence[Event]]
"""The content of spans in log records, by trace id and span id."""


def read_turn(
    spans: Iterable[RawSpan], memo: Memo | None = None, records: Records = MappingProxyType({})
) -> list[TurnSpan]:
    """Return the spans in the order of start, end, parent before child, id.

    `memo` keeps the messages of the session that were read before. `records` of a span count if the span has no such
    events itself.
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


def _read(stored: RawSpan, memo: Memo | None, recorded: Sequence[Event]) -> TurnSpan:
    full = read_span(bytes(stored.raw))
    if recorded:
        has_content = any(is_content(name) for name, _ in full.events)
        more = [event for event in recorded if not (has_content and is_content(event[0]))]
        full = structs.replace(full, events=[*full.events, *more])
    normal = Normalised(SpanView(full.name, stored.scope, full.attributes, lambda: full.events, memo, full.failed))
    return TurnSpan(stored.span_id.hex(), stored.scope, full, normal)


def _name_lone_arguments(spans: Iterable[TurnSpan]) -> None:
    """Give a tool's only argument its name, where a span has the value without the name, as LangChain records it.

    The name is that of the model's call with the same value: the call with the span's id, or a call without an id. If
    the span has no id, any call of the tool has the name.
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
