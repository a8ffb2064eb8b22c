"""Compares two spans of a turn that may record one call."""

from __future__ import annotations

from collections.abc import Hashable

from app.otlp.normalise.convention import FETCH
from app.otlp.normalise.tokens import TokenCounts
from app.sessions.spans import TurnSpan, own_name
from app.values.json import json_key


def _is_one_tool(first: str, other: str) -> bool:
    """Return whether the names are equal without the namespace of one, as MCP's clients write it."""
    short, long = sorted((first, other), key=len)
    return first == other or (bool(short) and long.endswith(short) and not long[-len(short) - 1].isalnum())


def is_within_its_call(outer: TurnSpan, inner: TurnSpan) -> bool:
    """Return whether a call within a call records that call with less content."""
    if inner.normal.is_chat:
        return bool(outer.outputs) and not inner.outputs and outer.scope != inner.scope
    if not outer.tool or not inner.tool or not _is_one_tool(outer.tool_name, inner.tool_name):
        return False
    if outer.tool.call_id and outer.tool.call_id == inner.tool.call_id:
        return True
    # One library may have recorded a call twice: MCP's client around MCP's server.
    if outer.scope == inner.scope and "mcp.method.name" not in inner.full.attributes:
        return False
    return outer.tool.arguments is None or inner.tool.arguments in (outer.tool.arguments, None)


def adds_nothing(outer: TurnSpan, inner: TurnSpan) -> bool:
    """Return whether a model call records nothing beyond the one within it."""
    if outer.outputs and inner.outputs:
        return outer.output_key == inner.output_key and (outer.scope != inner.scope or _have_one_id(outer, inner))
    if inner.outputs or outer.outputs:
        return not outer.outputs
    return outer.normal.input_messages is None and outer.normal.tokens in (TokenCounts(), inner.normal.tokens)


def _have_one_id(first: TurnSpan, other: TurnSpan) -> bool:
    """Return whether two calls record no different ids."""
    return len({call_id(first), call_id(other)} - {None}) < 2


def call_id(span: TurnSpan) -> str | None:
    return span.tool.call_id if span.tool else span.normal.response_id


def may_be_one(first: TurnSpan, other: TurnSpan) -> bool:
    return _have_one_id(first, other) and first.normal.model == other.normal.model and overlap(first, other)


def is_silent(span: TurnSpan) -> bool:
    return not span.outputs and span.normal.input_messages is None


def overlap(first: TurnSpan, other: TurnSpan) -> bool:
    return first.full.start_ns <= other.full.end_ns and other.full.start_ns <= first.full.end_ns


def follows(later: TurnSpan, earlier: TurnSpan) -> bool:
    """Return whether a span began when another one had ended, perhaps in the same instant."""
    return earlier.full.start_ns < earlier.full.end_ns <= later.full.start_ns


def is_bare(span: TurnSpan) -> bool:
    return span.tool.arguments is None and span.tool.result is None if span.tool else not span.outputs


def is_same_run(earlier: TurnSpan, later: TurnSpan) -> bool:
    """Return whether two tools of one call id are one; some libraries start at each message to number the calls."""
    if not earlier.tool or not later.tool or not _is_one_tool(earlier.tool_name, later.tool_name):
        return False
    arguments = earlier.tool.arguments, later.tool.arguments
    return earlier.scope != later.scope or None in arguments or arguments[0] == arguments[1]


def is_same_response(earlier: TurnSpan, later: TurnSpan) -> bool:
    """Return whether two model calls of one response id are one; some servers give each response the same id."""
    # A response is fetched after the call that asked for it.
    is_fetched = FETCH in (earlier.normal.operation, later.normal.operation)
    if earlier.outputs and later.outputs:
        return earlier.output_key == later.output_key and (is_fetched or overlap(earlier, later))
    return bool(earlier.outputs or later.outputs) or overlap(earlier, later)


def are_side_by_side(earlier: TurnSpan, later: TurnSpan) -> bool:
    return overlap(earlier, later) and _have_one_id(earlier, later)


def count_alike(earlier: TurnSpan, later: TurnSpan) -> bool:
    counts = earlier.normal.tokens[:2], later.normal.tokens[:2]
    return are_side_by_side(earlier, later) and (counts[0] == counts[1] or (0, 0) in counts)


def is_silent_beside(earlier: TurnSpan, later: TurnSpan) -> bool:
    return may_be_one(earlier, later) and bool(earlier.outputs) != bool(later.outputs)


def is_bare_beside(earlier: TurnSpan, later: TurnSpan) -> bool:
    return are_side_by_side(earlier, later) and is_bare(earlier) != is_bare(later)


def requested_ids(span: TurnSpan) -> Hashable:
    ids = [call.id for message in span.outputs or () for call in message.calls]
    return frozenset(ids) if all(ids) else None


def spoken(span: TurnSpan) -> Hashable:
    return span.output_key if span.output_key != ("", ()) else None


def known_tokens(span: TurnSpan) -> Hashable:
    counts = span.normal.tokens[:2]
    return counts if all(counts) else None


def name_and_arguments(span: TurnSpan) -> Hashable:
    if span.tool is None or span.tool.arguments is None:
        return None
    return own_name(span.tool_name), json_key(span.tool.arguments)
