"""Vercel's AI SDK before version 7: `ai.*` attributes, an outer span per call and an inner one per model call."""

from __future__ import annotations

from typing import Any

from app.otlp.normalise.convention import AGENT, CHAT, TOOL, Convention, SpanView, ToolUse
from app.otlp.normalise.messages import Message, Messages, read_messages
from app.otlp.normalise.parts import read_call
from app.otlp.text import json_container, json_or_text, unwrapped_json


class VercelAI(Convention):
    name = "vercel_ai"
    markers = frozenset({"ai.operationId", "ai.model.id", "ai.toolCall.name", "ai.prompt", "ai.prompt.messages"})

    def operation(self, span: SpanView) -> str | None:
        called = span.text("ai.operationId") or span.name.split(" ")[0]
        if called == "ai.toolCall":
            return TOOL
        if "Embed" in called or "embed" in called:
            return "embeddings"
        if called.endswith((".doGenerate", ".doStream")):
            return CHAT
        return AGENT if called.startswith("ai.") else None

    def model(self, span: SpanView) -> str | None:
        return span.text("ai.model.id", "ai.response.model")

    def provider(self, span: SpanView) -> str | None:
        return span.text("ai.model.provider")

    def input_tokens(self, span: SpanView) -> int | None:
        return span.count("ai.usage.inputTokens", "ai.usage.promptTokens")

    def output_tokens(self, span: SpanView) -> int | None:
        return span.count("ai.usage.outputTokens", "ai.usage.completionTokens")

    def input_messages(self, span: SpanView) -> Messages | None:
        messages = read_messages(span.first("ai.prompt.messages"))
        return messages or _prompt(json_container(span.first("ai.prompt")))

    def output_messages(self, span: SpanView) -> Messages | None:
        text = span.text("ai.response.text", "ai.response.object", "ai.result.text", "ai.result.object")
        called = json_container(span.first("ai.response.toolCalls", "ai.result.toolCalls"))
        calls = tuple(call for call in map(read_call, _without_types(called)) if call)
        reasoning = span.text("ai.response.reasoning", "ai.response.reasoningText")
        if text is None and not calls and reasoning is None:
            return None
        return (Message("assistant", text, calls, reasoning),)

    def tool(self, span: SpanView) -> ToolUse | None:
        return ToolUse(
            span.text("ai.toolCall.name"),
            span.text("ai.toolCall.id"),
            json_or_text(span.first("ai.toolCall.args", "ai.toolCall.input")),
            unwrapped_json(span.first("ai.toolCall.result", "ai.toolCall.output")),
        )

    def definitions(self, span: SpanView) -> list[Any] | None:
        tools = json_container(span.first("ai.prompt.tools"))
        return [json_or_text(tool) for tool in tools] if isinstance(tools, list) else None


def _prompt(prompt: Any) -> Messages | None:
    """The outer span's prompt: one text or messages, beside the system text."""
    if not isinstance(prompt, dict):
        return None
    asked = prompt.get("prompt")
    return (Message("user", asked),) if isinstance(asked, str) and asked else read_messages(prompt)


def _without_types(calls: Any) -> list[Any]:
    """Tool calls without the SDK's own markings (`toolCallType`, `type: tool-call`)."""
    return [{**call, "type": "tool-call"} for call in calls or () if isinstance(call, dict)]
