"""The spans of a turn, read and put in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from app.otlp.normalise import Messages, Normalised, SpanView, ToolUse
from app.otlp.reader import FullSpan, read_span


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


def read_turn(spans: Iterable[StoredSpan]) -> list[TurnSpan]:
    """The spans in the order of start, end, parent before child, id."""
    # In the order of ids, so that a circle of parents is cut at the same place each time.
    tree = {span.span_id: span for span in map(_read, sorted(spans, key=lambda span: span.span_id))}
    depths: dict[str, int] = {}
    for span in tree.values():
        _measure(span, tree, depths)
    ordered = sorted(
        tree.values(), key=lambda span: (span.full.start_ns, span.full.end_ns, depths[span.span_id], span.span_id)
    )
    _name_lone_arguments(ordered)
    return ordered


def _read(stored: StoredSpan) -> TurnSpan:
    full = read_span(bytes(stored.raw))
    normal = Normalised(SpanView(full.name, stored.scope, full.attributes, lambda: full.events))
    span = TurnSpan(stored.span_id.hex(), stored.scope, full, normal)
    if normal.is_chat:
        span.outputs = normal.output_messages
    elif normal.is_tool:
        span.tool = normal.tool
    return span


def _name_lone_arguments(spans: Iterable[TurnSpan]) -> None:
    """A tool's only argument recorded without its name (LangChain hands it over so) gets that of the model's call."""
    called_with: dict[tuple[str, str], dict[str, Any]] = {}
    for span in spans:
        for call in (call for message in span.outputs or () for call in message.calls):
            if isinstance(call.arguments, dict) and len(call.arguments) == 1:
                (only,) = map(str, call.arguments.values())
                called_with[call.id, only] = called_with[call.name, only] = call.arguments
        if span.tool and not isinstance(span.tool.arguments, dict | None):
            named = called_with.get((span.tool.call_id or span.tool.name or "", str(span.tool.arguments)))
            span.tool = replace(span.tool, arguments=span.tool.arguments if named is None else named)


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
