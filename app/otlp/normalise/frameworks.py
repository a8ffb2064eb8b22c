"""The conventions of frameworks that define a span's kind in their own attributes."""

from __future__ import annotations

from typing import Any

from app.otlp.normalise.calls import read_call
from app.otlp.normalise.convention import AGENT, CHAT, TOOL, Convention, SpanView, ToolUse
from app.otlp.normalise.flat import joined, joined_texts
from app.otlp.normalise.hidden import is_hidden
from app.otlp.normalise.messages import Messages, NormalisedMessage, read_messages
from app.otlp.normalise.numbered import OpenInference, Whole
from app.otlp.normalise.spread import gather
from app.otlp.normalise.toolio import result_in_block
from app.values.json import json_container, json_or_text, unwrapped_json

_SPRING_KINDS = {"tool_call": TOOL, "chat_client": AGENT, "vector_store": "retrieval"}


class SpringAI(Convention):
    """Spring AI: all but model calls have the operation `framework`, with `spring.ai.kind` as their kind.

    Source: https://docs.spring.io/spring-ai/reference/observability/index.html
    """

    name = "spring_ai"
    markers = frozenset({"spring.ai.kind", "spring.ai.model.request.tool.names"})

    def operation(self, span: SpanView) -> str | None:
        kind = span.text("spring.ai.kind")
        return None if kind is None else _SPRING_KINDS.get(kind, kind)

    def tool(self, span: SpanView) -> ToolUse | None:
        return ToolUse(
            span.text("spring.ai.tool.definition.name"),
            span.text("spring.ai.tool.call.id"),
            json_or_text(span.first("spring.ai.tool.call.arguments")),
            result_in_block(span.first("spring.ai.tool.call.result")),
        )

    def definitions(self, span: SpanView) -> list[Any] | None:
        """Return the names of the tools. Their schemas are only on the spans of called tools."""
        names = json_container(span.first("spring.ai.model.request.tool.names", "spring.ai.chat.client.tool.names"))
        return names or None if isinstance(names, list) else None


_SCOPE = "claude_code."
_CODE_TYPES = {"llm_request": CHAT, "tool": TOOL, "interaction": AGENT}
_QUESTION, _ANSWER = "claude_code.user_prompt", "claude_code.assistant_response"
CODE_EVENTS = frozenset({_QUESTION, _ANSWER})
"""The log records with words. The body of a record is its full name; its attribute `event.name` lacks the prefix."""
# What the details of a tool's call are named in its span, and in the call.
_DETAILS = {
    "full_command": "command",
    "file_path": "file_path",
    "skill_name": "skill",
    "subagent_type": "subagent_type",
}
_OUTPUTS = ("output", "content", "result", "diff")


class ClaudeCode(Convention):
    """Claude Code and the Claude Agent SDK: `span.type` is a span's kind, tokens of the cache are counted separately.

    Source: https://code.claude.com/docs/en/monitoring-usage
    """

    name = "claude_code"
    markers = frozenset({"span.type"})
    model_keys = ("gen_ai.request.model", "model")
    output_token_keys = ("output_tokens",)

    def operation(self, span: SpanView) -> str | None:
        return _CODE_TYPES.get(span.text("span.type") or "") if span.name.startswith(_SCOPE) else None

    def input_tokens(self, span: SpanView) -> int | None:
        counts = [span.count(key) for key in ("input_tokens", "cache_read_tokens", "cache_creation_tokens")]
        return None if counts == [None] * 3 else sum(count or 0 for count in counts)

    def input_messages(self, span: SpanView) -> Messages | None:
        return _one_message(span.text("user_prompt"), "user") or _one_message(
            _logged(span, _QUESTION, "prompt"), "user"
        )

    def output_messages(self, span: SpanView) -> Messages | None:
        recorded = _one_message(span.text("response.model_output"), "assistant")
        # The span has no calls. Text before a tool is no answer.
        if recorded or span.text("stop_reason") == "tool_use":
            return recorded
        return _one_message(_logged(span, _ANSWER, "response"), "assistant")

    def tool(self, span: SpanView) -> ToolUse | None:
        if self.operation(span) != TOOL:
            return None
        details = {inner: span.first(key) for key, inner in _DETAILS.items() if key in span.attributes}
        return ToolUse(
            span.text("tool_name"),
            span.text("gen_ai.tool.call.id", "tool_use_id"),
            json_or_text(span.first("tool_input")) or details or None,
            _tool_output(span),
        )


def _tool_output(span: SpanView) -> Any:
    recorded = [attributes for name, attributes in span.events if name == "tool.output"]
    return next((values[key] for values in recorded for key in _OUTPUTS if values.get(key) is not None), None)


def _one_message(text: str | None, role: str) -> Messages | None:
    return None if text is None or is_hidden(text) else (NormalisedMessage(role, text),)


def _logged(span: SpanView, name: str, key: str) -> str | None:
    """Return the text of the last log record of this name that has one."""
    texts = (attributes.get(key) for event, attributes in reversed(span.events) if event == name)
    return next((text for text in texts if isinstance(text, str) and text), None)


_MASTRA_TYPES = {
    "agent_run": AGENT,
    "workflow_run": "invoke_workflow",
    "model_inference": CHAT,
    "tool_call": TOOL,
    "mcp_tool_call": TOOL,
}


class Mastra(Convention):
    """Mastra: `mastra.span.type` is a span's kind, and the names of its input and output contain it.

    Source: https://mastra.ai/docs/observability/tracing/exporters/otel
    """

    name = "mastra"
    markers = frozenset({"mastra.span.type"})
    plain_text = True

    def operation(self, span: SpanView) -> str | None:
        kind = span.text("mastra.span.type")
        return None if kind is None else _MASTRA_TYPES.get(kind, kind)

    def input_messages(self, span: SpanView) -> Messages | None:
        return self._read(self._value(span, "input"), "user", span.memo)

    def output_messages(self, span: SpanView) -> Messages | None:
        return self._read(self._value(span, "output"), "assistant", plain=not span.failed)

    def tool(self, span: SpanView) -> ToolUse | None:
        if self.operation(span) != TOOL:
            return None
        arguments, result = self._value(span, "input"), self._value(span, "output")
        return ToolUse(None, None, unwrapped_json(arguments), unwrapped_json(result))

    def _value(self, span: SpanView, side: str) -> Any:
        return span.first(f"mastra.{span.text('mastra.span.type')}.{side}")


class SpanKind(OpenInference):
    """OpenInference's kinds, inputs and outputs together with the common names (LoongSuite, Dify).

    Source: https://github.com/alibaba/loongsuite-semantic-conventions
    """

    name = "gen_ai.span.kind"
    kind_key = "gen_ai.span.kind"
    markers = frozenset({"gen_ai.span.kind"})


_CALLS_OF_JAVA = "message.tool_calls."


class FutureAGI(OpenInference):
    """traceAI: OpenInference's names, of which later releases have the common ones with numbers.

    Source: https://github.com/future-agi/traceAI
    """

    name = "fi.span.kind"
    kind_key = "fi.span.kind"
    markers = frozenset({"fi.span.kind"})
    input_prefixes = ("llm.input_messages.", "gen_ai.input.messages.")
    output_prefixes = ("llm.output_messages.", "gen_ai.output.messages.")

    def output_messages(self, span: SpanView) -> Messages | None:
        """Return the output. In Java its calls are numbered outside of it: `message.tool_calls.0.tool_call.id`."""
        listed = [
            entry.get("tool_call") for entry in gather(span.attributes, _CALLS_OF_JAVA) if isinstance(entry, dict)
        ]
        return read_messages([{"tool_calls": listed}], "assistant") if listed else super().output_messages(span)


class Sentry(Convention):
    """Sentry: the text and the calls of a response in an attribute each.

    Source: https://develop.sentry.dev/sdk/telemetry/traces/modules/ai-agents/
    """

    name = "sentry"
    markers = frozenset({"gen_ai.request.messages", "gen_ai.response.text", "gen_ai.response.tool_calls"})
    input_keys = ("gen_ai.request.messages",)

    def output_messages(self, span: SpanView) -> Messages | None:
        text = joined_texts(span.first("gen_ai.response.text"))
        listed = json_container(span.first("gen_ai.response.tool_calls"))
        calls = tuple(call for call in map(read_call, listed if isinstance(listed, list) else ()) if call)
        return (NormalisedMessage("assistant", text, calls),) if text or calls else None

    def definitions(self, span: SpanView) -> list[Any] | None:
        tools = json_container(span.first("gen_ai.request.available_tools", "gen_ai.request.tools"))
        return tools if isinstance(tools, list) and tools else None


_ASSISTANT_EVENT = "gen_ai.assistant.message"
_GEMINI_CLI = "gemini-cli"
_CLI_OPERATIONS = {"llm_call": CHAT, "tool_call": TOOL, "agent_call": AGENT, "user_prompt": AGENT}


class GeminiCLI(Convention):
    """Gemini CLI: its own operations, and an output message for each piece of a stream.

    Source: https://geminicli.com/docs/cli/telemetry/
    """

    name = "gemini_cli"
    markers = frozenset({"gen_ai.agent.name"})

    def operation(self, span: SpanView) -> str | None:
        return _CLI_OPERATIONS.get(span.text("gen_ai.operation.name") or "") if _is_of_cli(span) else None

    def output_messages(self, span: SpanView) -> Messages | None:
        pieces = read_messages(span.first("gen_ai.output.messages"), "assistant") if _is_of_cli(span) else None
        return (joined(pieces),) if pieces else None

    def tool(self, span: SpanView) -> ToolUse | None:
        if not _is_of_cli(span):
            return None
        asked = json_container(span.first("gen_ai.input.messages"))
        arguments = asked.get("args") if isinstance(asked, dict) else None
        result = _answered(json_or_text(span.first("gen_ai.output.messages")))
        return ToolUse(None, span.text("gen_ai.tool.call_id"), arguments, result)


def _answered(done: Any) -> Any:
    """Return what a completed call answered to the model; any other result unchanged."""
    match done:
        case {"response": {"responseParts": [{"functionResponse": {"response": answer}}, *_]}}:
            return answer
    return done


def _is_of_cli(span: SpanView) -> bool:
    return span.text("gen_ai.agent.name") == _GEMINI_CLI


_POSTED, _RUN = "create_message", "process_thread_run"


class AzureAgents(Convention):
    """Azure's AI Agents: the user's message is an event of the span that adds it, the model's of the thread's run.

    Source: https://github.com/Azure/azure-sdk-for-python/tree/main/sdk/ai/azure-ai-agents
    """

    name = "azure_agents"
    markers = frozenset({"gen_ai.thread.id"})

    def operation(self, span: SpanView) -> str | None:
        return {_POSTED: AGENT, _RUN: CHAT}.get(span.text("gen_ai.operation.name") or "")

    def output_messages(self, span: SpanView) -> Messages | None:
        if span.first("gen_ai.operation.name") != _RUN:
            return None
        # In all other conventions this event is a part of the input.
        bodies = [
            attributes.get("gen_ai.event.content") for name, attributes in span.events if name == _ASSISTANT_EVENT
        ]
        return read_messages([message for message in map(json_container, bodies) if message], "assistant")


class PlainWords(Convention):
    """Pipecat, and programs without a convention: `input` and `output` of a model's or an agent's span.

    LangChain4j has its tokens under such names. Sources: https://docs.pipecat.ai/server/utilities/opentelemetry and
    https://github.com/langchain4j/langchain4j
    """

    name = "plain_words"
    markers = frozenset({"input", "output", "input_tokens", "output_tokens"})
    input_keys = ("input",)
    output_keys = ("output",)
    input_token_keys = ("input_tokens",)
    output_token_keys = ("output_tokens",)
    plain_text = True

    def definitions(self, span: SpanView) -> list[Any] | None:
        tools = json_container(span.first("tools"))
        return tools if isinstance(tools, list) and tools else None


class OtherWords(Convention):
    """Words in attributes that look like the conventions', which do not have them.

    any-agent writes each call of an output as `{tool.name, tool.args}`. Sources: https://github.com/mozilla-ai/any-agent,
    https://github.com/fastaifoundry/fastaiagent-sdk and https://github.com/aevatarAI/aevatar
    """

    name = "other_words"
    input_keys = ("gen_ai.request.input", "gen_ai.input")
    output_keys = ("gen_ai.response.content", "gen_ai.response.output", "gen_ai.output")
    markers = frozenset({*input_keys, *output_keys})
    plain_text = True

    def output_messages(self, span: SpanView) -> Messages | None:
        # A text may look like calls: a model may repeat what a user typed.
        output = json_container(span.first("gen_ai.output")) if span.text("gen_ai.output.type") == "json" else None
        named = output if isinstance(output, list) else ()
        calls = [{"name": call["tool.name"], "args": call.get("tool.args")} for call in named if _is_named(call)]
        return read_messages([{"role": "assistant", "tool_calls": calls}]) if calls else super().output_messages(span)


def _is_named(call: Any) -> bool:
    return isinstance(call, dict) and "tool.name" in call


class BareChat(Convention):
    """A span with a model and messages, or tokens, but no operation: the conventions without the operation's name.

    OpenLLMetry's of SageMaker has the JSON of the endpoint, which each program chooses.
    """

    name = "gen_ai.bare_chat"
    input_keys = ("traceloop.entity.input",)
    output_keys = ("traceloop.entity.output",)
    markers = frozenset(
        {
            "gen_ai.input.messages",
            "gen_ai.output.messages",
            "gen_ai.response.content",
            "gen_ai.usage.output_tokens",  # embeddings have only tokens of the input
            "gen_ai.usage.completion_tokens",
        }.union(Sentry.markers, input_keys, output_keys, Whole.markers)
    )

    def operation(self, span: SpanView) -> str | None:
        return CHAT if span.text("gen_ai.request.model", "gen_ai.response.model") else None
