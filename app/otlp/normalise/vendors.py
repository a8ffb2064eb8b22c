"""The conventions of single SDKs, which precede or supplement the common ones."""

from __future__ import annotations

from typing import Any

from app.otlp.normalise.calls import read_call
from app.otlp.normalise.convention import AGENT, CHAT, COUNT_MAX, TOOL, Convention, SpanView, ToolUse
from app.otlp.normalise.messages import Messages, NormalisedMessage, read_messages, read_text
from app.otlp.normalise.toolio import offered_in
from app.otlp.values import integer
from app.values.json import json_container, json_or_text, unwrapped_json


class GoogleADK(Convention):
    """Google's Agent Development Kit: requests and responses as JSON in `gcp.vertex.agent.*`."""

    name = "google_adk"
    markers = frozenset(
        {"gcp.vertex.agent.llm_request", "gcp.vertex.agent.tool_call_args", "gcp.vertex.agent.event_id"}
    )
    input_keys = ("gcp.vertex.agent.llm_request",)
    output_keys = ("gcp.vertex.agent.llm_response",)

    def operation(self, span: SpanView) -> str | None:
        if span.name == "call_llm" and "gcp.vertex.agent.llm_request" in span.attributes:
            return CHAT
        # The joined results of parallel calls; the calls have their own spans.
        return "merge_tools" if span.name == "execute_tool (merged)" else None

    def input_tokens(self, span: SpanView) -> int | None:
        return _google_count(span, "promptTokenCount", "prompt_token_count")

    def output_tokens(self, span: SpanView) -> int | None:
        answered = _google_count(span, "candidatesTokenCount", "candidates_token_count")
        thought = _google_count(span, "thoughtsTokenCount", "thoughts_token_count")
        return None if answered is None and thought is None else (answered or 0) + (thought or 0)

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


def _google_count(span: SpanView, *names: str) -> int | None:
    """Return a count of the usage that is in a recorded response. ADK for Java writes it nowhere else."""
    if "gen_ai.usage.input_tokens" in span.attributes:
        return None
    response = json_container(span.first("gcp.vertex.agent.llm_response"))
    for usage in (
        (response.get(key) for key in ("usageMetadata", "usage_metadata")) if isinstance(response, dict) else ()
    ):
        for count in map(integer, map(usage.get, names) if isinstance(usage, dict) else ()):
            if count is not None and 0 <= count <= COUNT_MAX:
                return count
    return None


_PARAMETER = "code.function.parameters."
_VALUE = ".value"


class CodeFunction(Convention):
    """Google's Gen AI instrumentation before it spoke the conventions: a tool as any function."""

    name = "code_function"
    markers = frozenset({"code.function.name", "code.function.return.value"})

    def tool(self, span: SpanView) -> ToolUse | None:
        arguments = {
            key.removeprefix(_PARAMETER).removesuffix(_VALUE): span.first(key)
            for key in span.attributes
            if key.startswith(_PARAMETER) and key.endswith(_VALUE)
        }
        # A text stays one, whatever it looks like; only lists and objects were made text.
        plain = {
            name: value if (inner := json_container(value)) is None else inner for name, value in arguments.items()
        }
        returned = json_or_text(span.first("code.function.return.value"))
        return ToolUse(span.text("code.function.name"), None, plain or None, returned)


class VercelAI(Convention):
    """Vercel's AI SDK before version 7: an outer span per call and an inner one per model call."""

    name = "vercel_ai"
    markers = frozenset({"ai.operationId", "ai.model.id", "ai.toolCall.name", "ai.prompt", "ai.prompt.messages"})
    model_keys = ("ai.model.id", "ai.response.model")
    provider_keys = ("ai.model.provider",)
    input_token_keys = ("ai.usage.inputTokens", "ai.usage.promptTokens")
    output_token_keys = ("ai.usage.outputTokens", "ai.usage.completionTokens")

    def operation(self, span: SpanView) -> str | None:
        called = span.text("ai.operationId") or span.name.split(" ")[0]
        if called == "ai.toolCall":
            return TOOL
        if "Embed" in called or "embed" in called:
            return "embeddings"
        if called.endswith((".doGenerate", ".doStream")):
            return CHAT
        return AGENT if called.startswith("ai.") else None

    def input_messages(self, span: SpanView) -> Messages | None:
        messages = read_messages(span.first("ai.prompt.messages"), memo=span.memo)
        return messages or _prompt(json_container(span.first("ai.prompt")))

    def output_messages(self, span: SpanView) -> Messages | None:
        text = span.text("ai.response.text", "ai.response.object", "ai.result.text", "ai.result.object")
        called = json_container(span.first("ai.response.toolCalls", "ai.result.toolCalls"))
        calls = tuple(call for call in map(read_call, _without_types(called)) if call)
        reasoning = span.text("ai.response.reasoning", "ai.response.reasoningText")
        if text is None and not calls and reasoning is None:
            return None
        return (NormalisedMessage("assistant", text, calls, reasoning),)

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
    """Return the outer span's prompt: one text or messages, after the system text."""
    if not isinstance(prompt, dict):
        return None
    text = prompt.get("prompt")
    return (NormalisedMessage("user", text),) if isinstance(text, str) and text else read_messages(prompt)


def _without_types(calls: Any) -> list[Any]:
    """Tool calls without the SDK's own markings (`toolCallType`, `type: tool-call`)."""
    return [{**call, "type": "tool-call"} for call in calls or () if isinstance(call, dict)]


class PydanticAI(Convention):
    """pydantic-ai and Logfire before they spoke the conventions: `events`, `tool_arguments`, `tool_response`."""

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
        is_chat = isinstance(request, dict) and ("messages" in request or "input" in request)
        return CHAT if is_chat and "response_data" in span.attributes else None

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
        tools = parameters.get("function_tools") if isinstance(parameters, dict) else None
        return tools if isinstance(tools, list) and tools else offered_in(span.first("request_data"))

    def tool(self, span: SpanView) -> ToolUse | None:
        return ToolUse(
            span.text("gen_ai.tool.name"),
            span.text("gen_ai.tool.call.id"),
            json_or_text(span.first("tool_arguments")),
            json_or_text(span.first("tool_response")),
        )


def _events(span: SpanView, *, choices: bool) -> list[Any]:
    container = json_container(span.first("events"))
    return [
        event
        for event in (container if isinstance(container, list) else ())
        if isinstance(event, dict) and (event.get("event.name") == "gen_ai.choice") == choices
    ]


class LogfireAgents(Convention):
    """Logfire's instrumentation of OpenAI's agents: the SDK's own fields as attributes."""

    name = "logfire_agents"
    markers = frozenset({"mcp_data", "model_config", "raw_input"})
    input_keys = ("raw_input", "input")
    output_keys = ("response", "output")

    def operation(self, span: SpanView) -> str | None:
        if "mcp_data" in span.attributes:
            return TOOL
        return CHAT if "model_config" in span.attributes else None

    def tool(self, span: SpanView) -> ToolUse | None:
        if "mcp_data" not in span.attributes:
            return None
        return ToolUse(span.text("name"), None, json_or_text(span.first("input")), unwrapped_json(span.first("output")))

    def definitions(self, span: SpanView) -> list[Any] | None:
        return offered_in(span.first("response"))
