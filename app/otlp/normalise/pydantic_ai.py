"""pydantic-ai and Logfire before they spoke the conventions: `events`, `tool_arguments`, `tool_response`."""

from __future__ import annotations

from typing import Any

from app.otlp.normalise.convention import CHAT, Convention, SpanView, ToolUse
from app.otlp.normalise.messages import Messages, read_messages, read_text
from app.otlp.normalise.toolio import offered_in
from app.otlp.text import json_container, json_or_text


class PydanticAI(Convention):
    name = "pydantic_ai"
    markers = frozenset(
        {
            "events",
            "tool_arguments",
            "tool_response",
            "all_messages_events",
            "request_data",
            "model_request_parameters",
        }
    )

    def operation(self, span: SpanView) -> str | None:
        """Logfire's own OpenAI and Anthropic instrumentation names no operation, but keeps the request."""
        request = json_container(span.first("request_data"))
        asked = isinstance(request, dict) and ("messages" in request or "input" in request)
        return CHAT if asked and "response_data" in span.attributes else None

    def model(self, span: SpanView) -> str | None:
        request = json_container(span.first("request_data"))
        model = request.get("model") if isinstance(request, dict) else None
        return model if isinstance(model, str) else None

    def input_messages(self, span: SpanView) -> Messages | None:
        events = _events(span, choices=False)
        return read_messages(events) if events else read_messages(span.first("request_data"))

    def output_messages(self, span: SpanView) -> Messages | None:
        if events := _events(span, choices=True):
            return read_messages(events, "assistant")
        response = json_container(span.first("response_data"))
        streamed = response.get("combined_chunk_content") if isinstance(response, dict) else None
        return read_text(streamed, "assistant") if streamed else read_messages(response, "assistant")

    def definitions(self, span: SpanView) -> list[Any] | None:
        parameters = json_container(span.first("model_request_parameters"))
        found = parameters.get("function_tools") if isinstance(parameters, dict) else None
        return found if isinstance(found, list) and found else offered_in(span.first("request_data"))

    def tool(self, span: SpanView) -> ToolUse | None:
        return ToolUse(
            span.text("gen_ai.tool.name"),
            span.text("gen_ai.tool.call.id"),
            json_or_text(span.first("tool_arguments")),
            json_or_text(span.first("tool_response")),
        )


def _events(span: SpanView, *, choices: bool) -> list[Any]:
    found = json_container(span.first("events"))
    return [
        event
        for event in (found if isinstance(found, list) else ())
        if isinstance(event, dict) and (event.get("event.name") == "gen_ai.choice") == choices
    ]
