"""Marks what double instrumentation recorded twice: of two spans of one call, the one that says less is the copy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from app.chat import ToolCall
from app.otlp.normalise import Message, Messages
from app.sessions.spans import TurnSpan

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
    if outer is None or outer is span or outer.scope == span.scope:
        return
    if span.normal.is_chat and outer.normal.is_chat:
        if outer.outputs and not span.outputs:
            span.is_copy = True
        elif _adds_nothing(outer, span):
            outer.is_copy = True
    elif span.tool and outer.tool and span.tool.name == outer.tool.name:
        span.is_copy = span.tool.arguments in (outer.tool.arguments, None)


def _mark_silent(calls: Iterable[TurnSpan]) -> None:
    """Mark calls that a vendor's SDK records without content, beside an instrumentation that has it."""
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
    """The span if it is a model call or tool, else the nearest around it; `nearest` is what is known of others."""
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
    return outer.normal.input_messages is None and outer.normal.tokens in ((0, 0), inner.normal.tokens)


def _same_messages(one: Messages, other: Messages) -> bool:
    """Looks no further than to the first difference: a large call may have many others within it."""
    return len(one) == len(other) and all(map(_same_message, one, other))


def _same_message(one: Message, other: Message) -> bool:
    if one.text != other.text or len(one.calls) != len(other.calls):
        return False
    return all(map(_same_call, one.calls, other.calls))


def _same_call(one: ToolCall, other: ToolCall) -> bool:
    return one.name == other.name and bool(one.arguments == other.arguments)
