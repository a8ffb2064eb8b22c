"""The spans of a turn, read, put in order and freed of what double instrumentation recorded twice."""

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
    """The spans in the order of start, end, parent before child, id; copies of a call are marked."""
    # In the order of ids, so that a circle of parents is cut at the same place each time.
    tree = {span.span_id: span for span in map(_read, sorted(spans, key=lambda span: span.span_id))}
    depths: dict[str, int] = {}
    for span in tree.values():
        _measure(span, tree, depths)
    ordered = sorted(
        tree.values(), key=lambda span: (span.full.start_ns, span.full.end_ns, depths[span.span_id], span.span_id)
    )
    for span in ordered:
        _mark_copy(span, tree)
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
    asked: dict[str, Any] = {}
    for span in spans:
        for call in (call for message in span.outputs or () for call in message.calls):
            if call.id:
                asked[call.id] = call.arguments
        if span.tool and not isinstance(span.tool.arguments, dict | None):
            arguments = asked.get(span.tool.call_id or "")
            if isinstance(arguments, dict) and list(map(str, arguments.values())) == [str(span.tool.arguments)]:
                span.tool = replace(span.tool, arguments=arguments)


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


def _mark_copy(span: TurnSpan, tree: Mapping[str, TurnSpan]) -> None:
    """Two libraries that record one call make a span within a span; the one that says less is the copy."""
    outer = _enclosing_call(span, tree)
    if outer is None or outer.scope == span.scope:
        return
    if span.normal.is_chat and outer.normal.is_chat:
        if outer.outputs and not span.outputs:
            span.is_copy = True
        elif _adds_nothing(outer, span):
            outer.is_copy = True
    elif span.tool and outer.tool and span.tool.name == outer.tool.name:
        span.is_copy = span.tool.arguments in (outer.tool.arguments, None)


def _enclosing_call(span: TurnSpan, tree: Mapping[str, TurnSpan]) -> TurnSpan | None:
    """The nearest model call or tool around a call."""
    if not (span.normal.is_chat or span.normal.is_tool):
        return None
    seen = {span.span_id}
    at = tree.get(span.full.parent_span_id or "")
    while at is not None and at.span_id not in seen:
        if at.normal.is_chat or at.normal.is_tool:
            return at
        seen.add(at.span_id)
        at = tree.get(at.full.parent_span_id or "")
    return None


def _adds_nothing(outer: TurnSpan, inner: TurnSpan) -> bool:
    """Whether a model call says no more than the one within it."""
    if outer.outputs and inner.outputs:
        return _same_words(outer.outputs, inner.outputs)
    if inner.outputs:
        return True
    tokens = _tokens(outer)
    return outer.normal.input_messages is None and tokens in ((0, 0), _tokens(inner))


def _tokens(span: TurnSpan) -> tuple[int, int]:
    return span.normal.input_tokens, span.normal.output_tokens


def _same_words(one: Messages, other: Messages) -> bool:
    def said(messages: Messages) -> list[object]:
        return [(message.text, [(call.name, call.arguments) for call in message.calls]) for message in messages]

    return said(one) == said(other)
