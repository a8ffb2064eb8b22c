"""LiveKit's agents: tools, and for Node the words of each model call, in attributes of older and newer names."""

from __future__ import annotations

from typing import Any

from app.otlp.normalise.calls import read_call
from app.otlp.normalise.convention import CHAT, GENERATION, TOOL, Convention, SpanView, ToolUse
from app.otlp.normalise.messages import Messages, NormalisedMessage, read_messages
from app.values.json import json_container, json_or_text

_NAMES = ("lk.{}", "lk.pii.{}")


def _keys(name: str) -> tuple[str, ...]:
    return tuple(form.format(name) for form in _NAMES)


_TOOL_NAME = "lk.function_tool.name"
_METRICS = "lk.llm_metrics"
_CONTEXT, _TEXT, _CALLS = map(_keys, ("chat_ctx", "response.text", "response.function_calls"))
_ARGUMENTS, _OUTPUT = map(_keys, ("function_tool.arguments", "function_tool.output"))


class LiveKit(Convention):
    """LiveKit: `llm_node` has the words of the request within it, which counts the tokens.

    Source: https://docs.livekit.io/agents/observability/
    """

    name = "livekit"
    markers = frozenset({_TOOL_NAME, _METRICS, *_CONTEXT})

    def operation(self, span: SpanView) -> str | None:
        if _TOOL_NAME in span.attributes:
            return TOOL
        # The span of an agent's turn has the text, and that of the end of the user's turn a part of the context.
        if not span.attributes.keys().isdisjoint(_CONTEXT) and not span.attributes.keys().isdisjoint(_TEXT):
            return GENERATION
        return CHAT if _METRICS in span.attributes else None

    def input_messages(self, span: SpanView) -> Messages | None:
        context = json_container(span.first(*_CONTEXT))
        return read_messages(context.get("items")) if isinstance(context, dict) else None

    def output_messages(self, span: SpanView) -> Messages | None:
        listed = json_container(span.first(*_CALLS))
        calls = tuple(call for call in map(read_call, listed if isinstance(listed, list) else ()) if call)
        text = span.text(*_TEXT)
        return (NormalisedMessage("assistant", text, calls),) if text or calls else None

    def tool(self, span: SpanView) -> ToolUse | None:
        if _TOOL_NAME not in span.attributes:
            return None
        arguments, result = json_or_text(span.first(*_ARGUMENTS)), json_or_text(span.first(*_OUTPUT))
        return ToolUse(span.text(_TOOL_NAME), span.text("lk.function_tool.id"), arguments, result)

    def definitions(self, span: SpanView) -> list[Any] | None:
        names = json_container(span.first("lk.function_tools"))
        return names if isinstance(names, list) and names else None
