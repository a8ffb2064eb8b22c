"""Google's Agent Development Kit: requests and responses as JSON in `gcp.vertex.agent.*`."""

from __future__ import annotations

from typing import Any

from app.otlp.normalise.convention import CHAT, Convention, SpanView, ToolUse
from app.otlp.normalise.messages import Messages, read_messages
from app.otlp.normalise.toolio import offered_in
from app.otlp.text import json_container, json_or_text


class GoogleADK(Convention):
    name = "google_adk"
    markers = frozenset(
        {"gcp.vertex.agent.llm_request", "gcp.vertex.agent.tool_call_args", "gcp.vertex.agent.event_id"}
    )

    def operation(self, span: SpanView) -> str | None:
        if span.name == "call_llm" and "gcp.vertex.agent.llm_request" in span.attributes:
            return CHAT
        # The results of parallel calls put together; the calls have spans of their own.
        return "merge_tools" if span.name == "execute_tool (merged)" else None

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

    def definitions(self, span: SpanView) -> list[Any] | None:
        request = json_container(span.first("gcp.vertex.agent.llm_request"))
        return offered_in(request.get("config")) if isinstance(request, dict) else None
