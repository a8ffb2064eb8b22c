"""Warns readers of a turn: content that is missing or cut off, calls without spans, copies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from app.chat import ToolCall
from app.otlp.text import json_container
from app.sessions.spans import TurnSpan

_MAX_NAMED = 5
_CUT_KEYS = (
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "ai.prompt.messages",
    "ai.toolCall.args",
    "ai.toolCall.result",
    "service.prompt.placeholders",
)


def warnings_of(
    spans: list[TurnSpan], user: str | None, versions: list[str], conversations: list[str]
) -> Iterator[str]:
    chats = [span for span in spans if span.is_chat]
    cut = sum(any(_is_cut(span.full.attributes.get(key)) for key in _CUT_KEYS) for span in spans)
    if cut:
        yield f"JSON is cut off in {_spans(cut)}: raise the SDK's attribute length limit to see all that was said."
    elif chats and user is None and not any(message.text for span in chats for message in span.outputs or ()):
        yield "No message content was recorded: turn on content capture in the instrumentation."
    if names := [call.name for call in _without_span(spans, chats)]:
        yield f"Tool calls without a span of their own can't be checked: {_listed(names)}."
    if copies := sum(span.is_copy for span in spans):
        yield f"{_spans(copies)} repeat another instrumentation's span of the same call and are no steps."
    if len(versions) > 1:
        yield f"Spans name several prompt versions: {_listed(versions)}."
    if len(conversations) > 1:
        yield f"Spans name several conversations: {_listed(conversations)}."


def _without_span(spans: list[TurnSpan], chats: list[TurnSpan]) -> list[ToolCall]:
    """Calls in the model's output that no tool span took up, by call id, or by name where a span has none of theirs."""
    tools = [span.tool for span in spans if span.is_tool and span.tool]
    calls = [call for chat in chats for message in chat.outputs or () for call in message.calls]
    ids = {tool.call_id for tool in tools if tool.call_id}
    # OpenAI's Responses have two ids for a call: a library may record one, and the tool's span the other.
    call_ids = {call.id for call in calls if call.id}
    unnamed = Counter(tool.name for tool in tools if tool.call_id not in call_ids)
    missing = []
    for call in calls:
        if call.id and call.id in ids:
            continue
        if unnamed[call.name]:
            unnamed[call.name] -= 1
        else:
            missing.append(call)
    return missing


def _is_cut(value: Any) -> bool:
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")) or json_container(value) is not None:
        return False
    # Python's text of a dict is no JSON either, but whole.
    return value.count("{") != value.count("}") or value.count("[") != value.count("]")


def _listed(names: list[str]) -> str:
    counted = [name if times == 1 else f"{name} ({times} times)" for name, times in Counter(names).items()]
    more = f" and {len(counted) - _MAX_NAMED} more" if len(counted) > _MAX_NAMED else ""
    return ", ".join(counted[:_MAX_NAMED]) + more


def _spans(number: int) -> str:
    return "1 span" if number == 1 else f"{number} spans"
