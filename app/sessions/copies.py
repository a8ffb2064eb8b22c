"""Finds the spans of a turn that record one call: two libraries, or one library twice, have recorded it.

All of it needs time linear in the number of spans: each is compared with a few others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import islice, pairwise

from app.otlp.normalise import ToolUse
from app.sessions.same_calls import (
    adds_nothing,
    are_side_by_side,
    call_id,
    count_alike,
    follows,
    is_bare,
    is_bare_beside,
    is_same_response,
    is_same_run,
    is_silent,
    is_silent_beside,
    is_within_its_call,
    known_tokens,
    may_be_one,
    name_and_arguments,
    requested_ids,
    spoken,
)
from app.sessions.spans import TurnSpan, own_name

_COMPARED = 8
"""Calls with an equal key that a span is compared with."""

Pair = Callable[[TurnSpan, TurnSpan], bool]
"""Whether a call is the same as a later one."""
Parents = Mapping[str | None, TurnSpan | None]


def mark_copies(spans: Sequence[TurnSpan]) -> None:
    """Mark the copies among a turn's spans, which are in the order of their start.

    What a kept span lacks is taken from its copies. Calls with equal words, one after the other, are not copies.
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
    # What is within a copy of an outer call is within that outer call.
    whole: dict[str, TurnSpan] = {}
    for span in calls:
        outer = around.get(span.full.parent_span_id)
        outer = whole.get(outer.span_id, outer) if outer else None
        if outer is None or outer is span or outer.normal.is_chat != span.normal.is_chat:
            continue
        if is_within_its_call(outer, span):
            _repeats(span, outer)
            whole[span.span_id] = outer
        elif span.normal.is_chat and adds_nothing(outer, span):
            _repeats(outer, span)


def _repeats(copy: TurnSpan, kept: TurnSpan) -> None:
    kept = _root(kept)
    if copy.copy_of is None and kept is not copy:
        copy.copy_of = kept


def _root(span: TurnSpan) -> TurnSpan:
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
            if first.scope != other.scope and may_be_one(first, other):
                silent, full = (first, other) if is_silent(first) else (other, first)
                if is_silent(silent) and full.outputs:
                    _repeats(silent, full)


def _mark_equal(calls: Sequence[TurnSpan]) -> None:
    """Mark the copies among calls that are not within each other: those of one id, and those of two libraries."""
    tools = [span for span in calls if span.normal.is_tool]
    chats = [span for span in calls if span.normal.is_chat]
    _pair(tools, call_id, is_same_run, by_id=True)
    _pair(chats, call_id, is_same_response, by_id=True)
    if _are_of_several(chats):
        _pair(chats, requested_ids, are_side_by_side)
        _pair(chats, spoken, count_alike)
        _pair(chats, known_tokens, is_silent_beside)
    if _are_of_several(tools):
        _pair(tools, name_and_arguments, are_side_by_side)
        _pair(tools, lambda span: own_name(span.tool_name), is_bare_beside)


def _pair(
    spans: Iterable[TurnSpan], key_of: Callable[[TurnSpan], Hashable], is_same: Pair, *, by_id: bool = False
) -> None:
    """Mark copies among spans with the same key, in the order of their start; spans without a key have none.

    Two spans of one library are copies only `by_id`.
    """
    kept: dict[Hashable, list[tuple[TurnSpan, set[str]]]] = defaultdict(list)
    for span in spans:
        key = None if span.is_copy else key_of(span)
        if not key:
            continue
        scopes = {span.scope}
        for earlier, recorded_by in islice(reversed(kept[key]), _COMPARED):
            if (by_id or span.scope not in recorded_by) and not earlier.is_copy and is_same(earlier, span):
                recorded_by.add(span.scope)
                scopes = recorded_by
                _join(earlier, span)
                break
        if not span.is_copy:
            kept[key].append((span, scopes))


def _join(earlier: TurnSpan, later: TurnSpan) -> None:
    """Mark one of two spans of a call: the one that has less content, or the attempt that a later one repeats."""
    is_attempt = later.normal.is_tool and follows(later, earlier)
    if is_attempt or (is_bare(earlier) and not is_bare(later)):
        earlier.copy_of = later
    else:
        later.copy_of = earlier


def _complete(calls: Iterable[TurnSpan]) -> None:
    """Give each kept span its copies, which complete it; earlier attempts of a tool do not."""
    for span in calls:
        if span.is_copy:
            kept = span.copy_of = _root(span)
            if span.normal.is_chat or not follows(kept, span):
                kept.copies.append(span)
                kept.tool = _with_facts_of(kept.tool, span.tool)


def _with_facts_of(tool: ToolUse | None, copy: ToolUse | None) -> ToolUse | None:
    if tool is None or copy is None:
        return tool
    return ToolUse(
        tool.name,
        tool.call_id or copy.call_id,
        copy.arguments if tool.arguments is None else tool.arguments,
        copy.result if tool.result is None else tool.result,
    )
