"""Compares two spans of a turn that may record one call; `copies.py` uses these rules.

*Outputs* are the messages that a model call wrote. The functions that end with `_id`, `_ids`, `_key_of`, `_tokens` or
`_arguments` return a key, which is None or empty for spans that can't be compared by it.
"""

from __future__ import annotations

from collections.abc import Hashable

from app.otlp.normalise.convention import FETCH
from app.otlp.normalise.tokens import TokenCounts
from app.sessions.spans import TurnSpan, own_name
from app.values.json import json_key


def _is_one_tool(first: str, other: str) -> bool:
    """Return whether two names of tools are equal, or would be without the namespace that MCP's clients add to one."""
    short, long = sorted((first, other), key=len)
    return first == other or (bool(short) and long.endswith(short) and not long[-len(short) - 1].isalnum())


def is_within_its_call(outer: TurnSpan, inner: TurnSpan) -> bool:
    """Return whether `inner`, a call within the call `outer`, records the same call with less content."""
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


def repeats_inner_call(outer: TurnSpan, inner: TurnSpan) -> bool:
    """Return whether the model call `outer` records nothing that `inner`, a model call within it, does not record."""
    if outer.outputs and inner.outputs:
        return outer.output_key == inner.output_key and (outer.scope != inner.scope or _have_one_id(outer, inner))
    if inner.outputs or outer.outputs:
        return not outer.outputs
    return outer.normal.input_messages is None and outer.normal.tokens in (TokenCounts(), inner.normal.tokens)


def _have_one_id(first: TurnSpan, other: TurnSpan) -> bool:
    """Return whether two calls have the same id, or at least one has none."""
    return len({call_id(first), call_id(other)} - {None}) < 2


def call_id(span: TurnSpan) -> str | None:
    """Return the call id of a tool, or the response id of a model call."""
    return span.tool.call_id if span.tool else span.normal.response_id


def may_be_same_call(first: TurnSpan, other: TurnSpan) -> bool:
    """Return whether two model calls overlap in time, with the same model and no different ids."""
    return _have_one_id(first, other) and first.normal.model == other.normal.model and overlap(first, other)


def has_no_messages(span: TurnSpan) -> bool:
    """Return whether a model call records neither inputs nor outputs."""
    return not span.outputs and span.normal.input_messages is None


def overlap(first: TurnSpan, other: TurnSpan) -> bool:
    """Return whether two spans overlap in time."""
    return first.full.start_ns <= other.full.end_ns and other.full.start_ns <= first.full.end_ns


def follows(later: TurnSpan, earlier: TurnSpan) -> bool:
    """Return whether a span began when another one had ended, perhaps in the same instant."""
    return earlier.full.start_ns < earlier.full.end_ns <= later.full.start_ns


def has_no_content(span: TurnSpan) -> bool:
    """Return whether a tool records neither arguments nor result, or a model call no outputs."""
    return span.tool.arguments is None and span.tool.result is None if span.tool else not span.outputs


def is_same_tool_call(earlier: TurnSpan, later: TurnSpan) -> bool:
    """Return whether two executions of a tool with one call id are the same.

    Some libraries number the calls of each message from the start, so one id may be that of several calls.
    """
    if not earlier.tool or not later.tool or not _is_one_tool(earlier.tool_name, later.tool_name):
        return False
    arguments = earlier.tool.arguments, later.tool.arguments
    return earlier.scope != later.scope or None in arguments or arguments[0] == arguments[1]


def is_same_response(earlier: TurnSpan, later: TurnSpan) -> bool:
    """Return whether two model calls with one response id are the same. Some servers give all responses one id."""
    # A response is fetched after the call that asked for it.
    is_fetched = FETCH in (earlier.normal.operation, later.normal.operation)
    if earlier.outputs and later.outputs:
        return earlier.output_key == later.output_key and (is_fetched or overlap(earlier, later))
    return bool(earlier.outputs or later.outputs) or overlap(earlier, later)


def are_parallel(earlier: TurnSpan, later: TurnSpan) -> bool:
    """Return whether two calls overlap in time and have no different ids."""
    return overlap(earlier, later) and _have_one_id(earlier, later)


def have_same_tokens(earlier: TurnSpan, later: TurnSpan) -> bool:
    """Return whether two parallel model calls count the same tokens, or one counts none."""
    counts = earlier.normal.tokens[:2], later.normal.tokens[:2]
    return are_parallel(earlier, later) and (counts[0] == counts[1] or (0, 0) in counts)


def lacks_outputs_of_parallel(earlier: TurnSpan, later: TurnSpan) -> bool:
    """Return whether exactly one of two model calls that may be the same has outputs."""
    return may_be_same_call(earlier, later) and _has_words(earlier) != _has_words(later)


def _has_words(span: TurnSpan) -> bool:
    return any(message.has_content for message in span.outputs or ())


def lacks_content_of_parallel(earlier: TurnSpan, later: TurnSpan) -> bool:
    """Return whether exactly one of two parallel calls has content."""
    return are_parallel(earlier, later) and has_no_content(earlier) != has_no_content(later)


def requested_call_ids(span: TurnSpan) -> Hashable:
    """Return the ids of the tool calls in the outputs of a model call; None if one of them has no id."""
    ids = [call.id for message in span.outputs or () for call in message.calls]
    return frozenset(ids) if all(ids) else None


def output_key_of(span: TurnSpan) -> Hashable:
    """Return the text and the tool calls in the outputs of a model call; None without any."""
    return span.output_key if span.output_key != ("", ()) else None


def known_tokens(span: TurnSpan) -> Hashable:
    """Return the input and output tokens of a model call; None if one of these is 0."""
    counts = span.normal.tokens[:2]
    return counts if all(counts) else None


def name_and_arguments(span: TurnSpan) -> Hashable:
    """Return the name and the arguments of a tool; None without arguments."""
    if span.tool is None or span.tool.arguments is None:
        return None
    return own_name(span.tool_name), json_key(span.tool.arguments)
