"""Google's Agent Development Kit: requests and responses as JSON in `gcp.vertex.agent.*`."""

from __future__ import annotations

from app.otlp.normalise.convention import CHAT, TOOL, Convention, SpanView, ToolUse
from app.otlp.normalise.messages import Messages, read_messages
from app.otlp.text import json_or_text


class GoogleADK(Convention):
    name = "google_adk"
    markers = frozenset({"gcp.vertex.agent.llm_request", "gcp.vertex.agent.tool_call_args"})

    def operation(self, span: SpanView) -> str | None:
        return CHAT if "gcp.vertex.agent.llm_request" in span.attributes and span.name == "call_llm" else _tool(span)

    def input_messages(self, span: SpanView) -> Messages | None:
        return read_messages(span.first("gcp.vertex.agent.llm_request"))

    def output_messages(self, span: SpanView) -> Messages | None:
        return read_messages(span.first("gcp.vertex.agent.llm_response"), "assistant")

    def tool(self, span: SpanView) -> ToolUse | None:
        return ToolUse(
            span.name.removeprefix("execute_tool ") or None,
            None,
            json_or_text(span.first("gcp.vertex.agent.tool_call_args")),
            json_or_text(span.first("gcp.vertex.agent.tool_response")),
        )


def _tool(span: SpanView) -> str | None:
    # ADK puts empty arguments ("{}") on its model calls too, and names merged tools "(merged tools)".
    return TOOL if span.name.startswith("execute_tool") else None
