"""The OpenTelemetry GenAI conventions: content as JSON text or structured values, and their older attribute names."""

from __future__ import annotations

from typing import Any

from app.otlp.normalise.convention import CHAT, TOOL, Convention, SpanView, ToolUse
from app.otlp.normalise.messages import Messages, read_messages
from app.otlp.normalise.toolio import plain_arguments, recorded_arguments, recorded_result, result_in_block
from app.otlp.text import json_container

# The conventions' own name first, then what libraries used before there was one.
_ARGUMENTS = ("gen_ai.tool.call.arguments", "gen_ai.tool.arguments", "gen_ai.tool.input")
_RESULTS = ("gen_ai.tool.call.result", "gen_ai.tool.result", "gen_ai.tool.output", "gen_ai.tool.message")
# Semantic Kernel's names for what the conventions call chat and text_completion.
_TOOL_SPAN = "execute_tool "
_ALIASES = {"chat.completions": CHAT, "text.completions": "text_completion"}


class GenAI(Convention):
    name = "gen_ai"
    markers = frozenset(
        {
            "gen_ai.operation.name",
            "gen_ai.provider.name",
            "gen_ai.system",
            "gen_ai.tool.name",
            "gen_ai.request.model",
            "gen_ai.response.model",
            "gen_ai.input.messages",
            "gen_ai.output.messages",
            "gen_ai.usage.input_tokens",
            "gen_ai.tool.definitions",
            "gen_ai.agent.tools",
        }
    )

    def operation(self, span: SpanView) -> str | None:
        named = span.text("gen_ai.operation.name")
        return None if named is None else _ALIASES.get(named, named)

    def model(self, span: SpanView) -> str | None:
        return span.text("gen_ai.request.model", "gen_ai.response.model")

    def provider(self, span: SpanView) -> str | None:
        return span.text("gen_ai.provider.name", "gen_ai.system")

    def input_tokens(self, span: SpanView) -> int | None:
        return span.count("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")

    def output_tokens(self, span: SpanView) -> int | None:
        return span.count("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens")

    def input_messages(self, span: SpanView) -> Messages | None:
        return read_messages(span.first("gen_ai.input.messages"))

    def output_messages(self, span: SpanView) -> Messages | None:
        return read_messages(span.first("gen_ai.output.messages"), "assistant")

    def tool(self, span: SpanView) -> ToolUse | None:
        # OpenLLMetry copies what its wrappers of functions record to the conventions' names.
        wrapped = "traceloop.entity.input" in span.attributes
        arguments, result = span.first(*_ARGUMENTS), span.first(*_RESULTS)
        return ToolUse(
            span.text("gen_ai.tool.name"),
            span.text("gen_ai.tool.call.id"),
            recorded_arguments(arguments) if wrapped else plain_arguments(arguments),
            recorded_result(result) if wrapped else result_in_block(result),
        )

    def definitions(self, span: SpanView) -> list[Any] | None:
        found = json_container(span.first("gen_ai.tool.definitions", "gen_ai.agent.tools"))
        return found if isinstance(found, list) else None


class NamedTool(Convention):
    """A span with a tool's name alone: one that ended before its attributes were set (Google's ADK, when it fails)."""

    name = "gen_ai.named_tool"

    def operation(self, span: SpanView) -> str | None:
        return TOOL if span.name.startswith(_TOOL_SPAN) else None

    def tool(self, span: SpanView) -> ToolUse | None:
        return ToolUse(span.name.removeprefix(_TOOL_SPAN)) if span.name.startswith(_TOOL_SPAN) else None


class BareTool(Convention):
    """A span that names a tool but no operation is a tool's execution (older libraries name none)."""

    name = "gen_ai.bare_tool"
    markers = frozenset({"gen_ai.tool.name"})

    def operation(self, span: SpanView) -> str | None:
        return TOOL
