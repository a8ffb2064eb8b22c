"""Marks what double instrumentation recorded twice: of two spans of one call, the one that says less is the copy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from app.otlp.normalise import Messages
from app.sessions.spans import TurnSpan

RESPONSE_ID = "gen_ai.response.id"


def mark_copies(spans: Sequence[TurnSpan]) -> None:
    """Mark the copies among a turn's spans, which are in the order of their start."""
    tree = {span.span_id: span for span in spans}
    for span in spans:
        _mark_within(span, tree)
    siblings: dict[str | None, list[TurnSpan]] = defaultdict(list)
    for span in spans:
        if span.is_chat:
            siblings[span.full.parent_span_id].append(span)
    for calls in siblings.values():
        _mark_wordless(calls)


def _mark_within(span: TurnSpan, tree: Mapping[str, TurnSpan]) -> None:
    """Two libraries that record one call make a span within a span."""
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


def _mark_wordless(calls: Iterable[TurnSpan]) -> None:
    """A vendor's SDK that records its calls without words, beside an instrumentation that has them."""
    for one, other in pairwise(calls):
        if one.scope != other.scope and _may_be_one(one, other):
            silent, telling = (one, other) if _is_silent(one) else (other, one)
            silent.is_copy = _is_silent(silent) and bool(telling.outputs)


def _may_be_one(one: TurnSpan, other: TurnSpan) -> bool:
    ids = {span.full.attributes.get(RESPONSE_ID) for span in (one, other)} - {None}
    same_model = one.normal.model == other.normal.model
    return len(ids) < 2 and same_model and other.full.start_ns <= one.full.end_ns


def _is_silent(span: TurnSpan) -> bool:
    return not span.outputs and span.normal.input_messages is None


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
