"""Logfire's instrumentation of OpenAI's agents: the SDK's own fields as attributes (`input`, `output`, `response`)."""

from __future__ import annotations

from typing import Any

from app.otlp.normalise.convention import CHAT, TOOL, Convention, SpanView, ToolUse
from app.otlp.normalise.messages import Messages, read_messages
from app.otlp.normalise.toolio import offered_in
from app.otlp.text import json_or_text, unwrapped_json


class LogfireAgents(Convention):
    name = "logfire_agents"
    markers = frozenset({"mcp_data", "model_config", "raw_input"})

    def operation(self, span: SpanView) -> str | None:
        if "mcp_data" in span.attributes:
            return TOOL
        return CHAT if "model_config" in span.attributes else None

    def input_messages(self, span: SpanView) -> Messages | None:
        return read_messages(span.first("raw_input", "input"))

    def output_messages(self, span: SpanView) -> Messages | None:
        return read_messages(span.first("response", "output"), "assistant")

    def tool(self, span: SpanView) -> ToolUse | None:
        if "mcp_data" not in span.attributes:
            return None
        return ToolUse(span.text("name"), None, json_or_text(span.first("input")), unwrapped_json(span.first("output")))

    def definitions(self, span: SpanView) -> list[Any] | None:
        return offered_in(span.first("response"))
