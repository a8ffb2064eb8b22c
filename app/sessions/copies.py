"""Finds the copies among the spans of a turn: spans that record a call which another span records, too.

Two libraries may have recorded the call, or one library twice. The span with more content is kept, and the other is
marked as its copy. The time is linear in the number of spans: each is compared with a few others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import islice, pairwise

from app.otlp.normalise import ToolUse
from app.sessions.same_calls import (
    are_parallel,
    call_id,
    follows,
    has_no_content,
    has_no_messages,
    have_same_tokens,
    is_same_response,
    is_same_tool_call,
    is_within_its_call,
    known_tokens,
    lacks_content_of_parallel,
    lacks_outputs_of_parallel,
    may_be_same_call,
    name_and_arguments,
    output_key_of,
    repeats_inner_call,
    requested_call_ids,
)
from app.sessions.spans import TurnSpan, own_name

_COMPARED_WITH = 8
"""The most earlier calls with an equal key that a call is compared with."""

Pair = Callable[[TurnSpan, TurnSpan], bool]
"""Returns whether a call is the same as a later one."""
Parents = Mapping[str | None, TurnSpan | None]


def mark_copies(spans: Sequence[TurnSpan]) -> None:
    """Mark the copies among a turn's spans, which are in the order of their start.

    Copies complete a kept span: they provide what it lacks. Calls with equal words, one after the other, are no copies.
    """
    calls = [span for span in spans if span.normal.is_chat or span.normal.is_tool]
    if len(calls) < 2:
        return
    around = _calls_around(spans, calls) if _is_around_any(calls, spans) else {}
    if _may_repeat(calls, around):
        _mark_within(calls, around)
        _mark_siblings(calls)
        _mark_equal(calls)
        _complete(calls)


def _is_call(span: TurnSpan) -> bool:
    return span.normal.is_chat or span.normal.is_tool


def _is_around_any(calls: Iterable[TurnSpan], spans: Iterable[TurnSpan]) -> bool:
    """Return whether a span is within a call: in most turns none is."""
    return not {call.span_id for call in calls}.isdisjoint([span.full.parent_span_id for span in spans])


def _calls_around(spans: Sequence[TurnSpan], calls: Sequence[TurnSpan]) -> Parents:
    """Return the nearest call around each call, by the id of the call's parent."""
    tree = {span.span_id: span for span in spans}
    nearest: dict[str, TurnSpan | None] = {}
    return {parent: _nearest_call(parent, tree, nearest) for parent in {span.full.parent_span_id for span in calls}}


def _nearest_call(
    span_id: str | None, tree: Mapping[str, TurnSpan], nearest: dict[str, TurnSpan | None]
) -> TurnSpan | None:
    """Return the span if it is a model call or tool, else the nearest around it; `nearest` has earlier results."""
    path: list[str] = []
    call = None
    while span_id is not None and (at := tree.get(span_id)):
        if span_id in nearest or _is_call(at):
            call = at if _is_call(at) else nearest[span_id]
            break
        path.append(span_id)
        nearest[span_id] = None  # what a circle of parents ends with
        span_id = at.full.parent_span_id
    nearest.update(dict.fromkeys(path, call))
    return call


def _may_repeat(calls: Sequence[TurnSpan], around: Parents) -> bool:
    """Return whether copies are possible. It reads no messages: most turns are recorded by one library, once."""
    scopes = {(span.normal.is_chat, span.scope) for span in calls}
    if len(scopes) > len({is_chat for is_chat, _ in scopes}):
        return True
    ids = [(span.normal.is_chat, name) for span in calls if (name := span.normal.recorded_id)]
    return len(set(ids)) < len(ids) or any(
        (outer := around.get(span.full.parent_span_id)) and outer.normal.is_chat == span.normal.is_chat
        for span in (calls if around else ())
    )


def _are_of_several(spans: Iterable[TurnSpan]) -> bool:
    """Return whether several libraries recorded these calls."""
    return len({span.scope for span in spans}) > 1


def _mark_within(calls: Iterable[TurnSpan], around: Parents) -> None:
    """Mark the copies among calls within calls."""
    # By the id of a copy the call that it is a copy of: what is within the copy is compared with that call.
    outer_calls: dict[str, TurnSpan] = {}
    for span in calls:
        outer = around.get(span.full.parent_span_id)
        outer = outer_calls.get(outer.span_id, outer) if outer else None
        if outer is None or outer is span or outer.normal.is_chat != span.normal.is_chat:
            continue
        if is_within_its_call(outer, span):
            _mark_copy(span, outer)
            outer_calls[span.span_id] = outer
        elif span.normal.is_chat and repeats_inner_call(outer, span):
            _mark_copy(outer, span)


def _mark_copy(copy: TurnSpan, kept: TurnSpan) -> None:
    """Mark a span as a copy of a kept span, or of the span of which that one is a copy."""
    kept = _kept(kept)
    if copy.copy_of is None and kept is not copy:
        copy.copy_of = kept


def _kept(span: TurnSpan) -> TurnSpan:
    """Return the span that is kept for a copy, which may be a copy of a copy; the span itself if it is no copy."""
    root = span
    while root.copy_of:
        root = root.copy_of
    while span.copy_of and span.copy_of is not root:
        span.copy_of, span = root, span.copy_of
    return root


def _mark_siblings(calls: Iterable[TurnSpan]) -> None:
    """Mark calls that a vendor's SDK records without content, if a sibling of another library has the content."""
    siblings: dict[str | None, list[TurnSpan]] = defaultdict(list)
    for span in calls:
        if span.is_chat:
            siblings[span.full.parent_span_id].append(span)
    for chats in siblings.values():
        for first, other in pairwise(chats):
            if first.scope != other.scope and may_be_same_call(first, other):
                silent, full = (first, other) if has_no_messages(first) else (other, first)
                if has_no_messages(silent) and full.outputs:
                    _mark_copy(silent, full)


def _mark_equal(calls: Sequence[TurnSpan]) -> None:
    """Mark the copies among calls that are not within each other: those of one id, and those of two libraries."""
    tools = [span for span in calls if span.normal.is_tool]
    chats = [span for span in calls if span.normal.is_chat]
    _mark_pairs(tools, call_id, is_same_tool_call, by_id=True)
    _mark_pairs(chats, call_id, is_same_response, by_id=True)
    if _are_of_several(chats):
        _mark_pairs(chats, requested_call_ids, are_parallel)
        _mark_pairs(chats, output_key_of, have_same_tokens)
        _mark_pairs(chats, known_tokens, lacks_outputs_of_parallel)
    if _are_of_several(tools):
        _mark_pairs(tools, name_and_arguments, are_parallel)
        _mark_pairs(tools, lambda span: own_name(span.tool_name), lacks_content_of_parallel)


def _mark_pairs(
    spans: Iterable[TurnSpan], key_of: Callable[[TurnSpan], Hashable], is_same: Pair, *, by_id: bool = False
) -> None:
    """Mark copies among spans with the same key, given in the order of their start. Spans with a falsy key are skipped.

    With `by_id`, two spans of one library may be copies, too.
    """
    kept: dict[Hashable, list[tuple[TurnSpan, set[str]]]] = defaultdict(list)
    for span in spans:
        key = None if span.is_copy else key_of(span)
        if not key:
            continue
        scopes = {span.scope}
        for earlier, recorded_by in islice(reversed(kept[key]), _COMPARED_WITH):
            if (by_id or span.scope not in recorded_by) and not earlier.is_copy and is_same(earlier, span):
                recorded_by.add(span.scope)
                scopes = recorded_by
                _mark_one(earlier, span)
                break
        if not span.is_copy:
            kept[key].append((span, scopes))


def _mark_one(earlier: TurnSpan, later: TurnSpan) -> None:
    """Mark one of two spans of a call as the copy: the one with less content, or an attempt that was repeated later.

    A span of one library that has no content, after one that has, is no attempt: it is of a hook around the tool.
    """
    has_less = has_no_content(later) and not has_no_content(earlier)
    is_attempt = later.normal.is_tool and follows(later, earlier) and not (has_less and later.scope == earlier.scope)
    if is_attempt or (has_no_content(earlier) and not has_no_content(later)):
        earlier.copy_of = later
    else:
        later.copy_of = earlier


def _complete(calls: Iterable[TurnSpan]) -> None:
    """Give each kept span its copies, which complete it, except for earlier attempts of a tool."""
    for span in calls:
        if span.is_copy:
            kept = span.copy_of = _kept(span)
            if span.normal.is_chat or not follows(kept, span):
                kept.copies.append(span)
                kept.tool = _completed_by(kept.tool, span.tool)


def _completed_by(tool: ToolUse | None, copy: ToolUse | None) -> ToolUse | None:
    """Return a tool's execution with the id, the arguments and the result of its copy where it lacks them."""
    if tool is None or copy is None:
        return tool
    return ToolUse(
        tool.name,
        tool.call_id or copy.call_id,
        copy.arguments if tool.arguments is None else tool.arguments,
        copy.result if tool.result is None else tool.result,
        tool.failed or copy.failed,
    )
