"""Messages and tools spread over numbered attributes: `gen_ai.prompt.0.role`, `llm.tools.0.name` …"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from app.otlp.normalise.convention import AGENT, CHAT, TOOL, Convention, SpanView, ToolUse
from app.otlp.normalise.flat import read_prompt, with_fields
from app.otlp.normalise.genai import OPENINFERENCE
from app.otlp.normalise.hidden import is_hidden
from app.otlp.normalise.messages import Messages, NormalisedMessage, read_messages, read_text
from app.otlp.normalise.operations import operation_named
from app.otlp.normalise.roles import is_role
from app.otlp.normalise.spread import gather
from app.otlp.normalise.streams import message_of_stream
from app.otlp.normalise.toolio import (
    offered_in,
    recorded_arguments,
    recorded_call_id,
    recorded_name,
    recorded_result,
)
from app.values.json import json_container, json_or_text
from app.values.python_text import recorded_container

# Names of instrumentations. The second one reports the pieces of a stream as separate completions, and the third one
# the JSON of each content (https://github.com/JetBrains/tracy).
DSPY = "openinference.instrumentation.dspy"
_IN_PIECES = "opentelemetry.instrumentation.replicate"
_TEXTS_IN_JSON = "tracy"
_SYSTEM = "gen_ai.prompt.system."
_FIRST_TOOL = ("0.name", "0.function.name", "0.function.0.name")
"""The ends of the names of the first tool."""
_DATA_TYPES = frozenset({"application/json", "text/event-stream"})
_OPENINFERENCE_KINDS = {
    **{"LLM": CHAT, "CHATMODEL": CHAT, "TOOL": TOOL, "AGENT": AGENT},
    **{"EMBEDDING": "embeddings", "RETRIEVER": "retrieval"},
}
_TRACELOOP_KINDS = {"tool": TOOL, "agent": AGENT, "workflow": "invoke_workflow", "task": "task"}
_REQUESTS = {"chat": CHAT, "completion": "text_completion", "embedding": "embeddings"}


class Indexed(Convention):
    name = "gen_ai.indexed"
    markers = frozenset(
        f"{prefix}.{rest}"
        for prefix in ("gen_ai.prompt", "gen_ai.completion", "llm.prompts", "llm.completions")
        for rest in (
            "0.role",
            "0.content",
            "0.finish_reason",
            "0.tool_calls.0.name",
            "0.user",
            "0.function_call.name",
            "0",
        )
    )

    def operation(self, span: SpanView) -> str | None:
        return CHAT

    def input_messages(self, span: SpanView) -> Messages | None:
        messages = _messages(span, ("gen_ai.prompt.", "llm.prompts."), "user")
        return (*_instruction(span), *messages) if messages else None

    def output_messages(self, span: SpanView) -> Messages | None:
        if span.scope == _IN_PIECES:
            return _joined_pieces(gather(span.attributes, "gen_ai.completion."))
        return _messages(span, ("gen_ai.completion.", "llm.completions."), "assistant")

    def definitions(self, span: SpanView) -> list[Any] | None:
        return _offered(span, ("gen_ai.tool.", "gen_ai.request.tools.", "gen_ai.request.functions."))

    def tool(self, span: SpanView) -> ToolUse | None:
        """Return the tool of a span of Eino: its arguments are the first prompt, its result the first completion."""
        arguments, result = (span.first(f"gen_ai.{side}.0.content") for side in ("prompt", "completion"))
        return ToolUse(None, None, recorded_arguments(arguments), recorded_result(result))


class Whole(Convention):
    """The oldest form: all messages, or a plain text, in one attribute.

    It is `gen_ai.prompt` and `gen_ai.completion`; `…_json` of Cloudflare's gateway, `gen_ai.content.…` of Quarkus.
    """

    name = "gen_ai.prompt"
    input_keys = ("gen_ai.prompt", "gen_ai.prompt_json", "gen_ai.content.prompt")
    output_keys = ("gen_ai.completion", "gen_ai.completion_json", "gen_ai.content.completion")
    provider_keys = ("gen_ai.model.provider",)
    markers = frozenset({*input_keys, *output_keys})
    plain_text = True

    def input_messages(self, span: SpanView) -> Messages | None:
        return read_prompt(span.first(*self.input_keys))


def _messages(span: SpanView, prefixes: tuple[str, ...], role: str) -> Messages | None:
    for prefix in prefixes:
        if entries := gather(span.attributes, prefix):
            entries = _decoded(entries) if span.scope == _TEXTS_IN_JSON else entries
            return read_messages([_named_by_role(_with_calls(entry)) for entry in entries], role)
    return None


def _instruction(span: SpanView) -> Messages:
    """Return the instruction, which Tracy writes as one text or as blocks, outside of the numbered messages."""
    whole = span.text("gen_ai.prompt.system.content")
    if whole is None and f"{_SYSTEM}0.content" not in span.attributes:
        return ()
    texts = [whole] if whole else [block.get("content") for block in _dicts(gather(span.attributes, _SYSTEM))]
    kept = [text for text in texts if isinstance(text, str) and not is_hidden(text)]
    return (NormalisedMessage("system", "\n".join(kept)),) if kept else ()


def _decoded(entries: list[Any]) -> list[Any]:
    """Return messages with each content out of its JSON."""
    return [
        entry | {"content": json_or_text(entry.get("content"))} if isinstance(entry, dict) else entry
        for entry in entries
    ]


def _with_calls(entry: Any) -> Any:
    """Return a message with the calls that Tracy has below `tool`, or the item of a call from names with a prefix."""
    if not isinstance(entry, dict):
        return entry
    if (kind := entry.get("tool_call_type")) is not None:
        fields = {name: entry.get(f"tool_{name}") for name in ("call_id", "name", "arguments")}
        return {"type": kind, "output": entry.get("output"), **fields}
    tools = entry.get("tool")
    if not isinstance(tools, dict | list):
        return entry
    calls = _dicts(tools if isinstance(tools, list) else [tools])
    message = {name: entry[name] for name in ("role", "content", "finish_reason") if name in entry}
    return message | {"tool_calls": [call | {"id": _deep(call, "call", "id"), "type": "function"} for call in calls]}


def _joined_pieces(entries: list[Any]) -> Messages | None:
    """Return the message in the pieces of a stream, or the addresses of the files that a model made, one a line."""
    texts = [entry["content"] for entry in _dicts(entries) if isinstance(entry.get("content"), str)]
    between = "\n" if all(text.startswith("https://") for text in texts) else ""
    return (NormalisedMessage("assistant", between.join(texts)),) if texts else None


def _named_by_role(entry: Any) -> Any:
    """Return the message of an entry `{user: text}`, in which a role names the text. Of several the last counts."""
    if not isinstance(entry, dict) or len(entry) != 1:
        return entry
    [(name, content)] = entry.items()
    if not is_role(name):
        return entry
    texts = content if isinstance(content, list) else [content]
    return {"role": name, "content": next((text for text in reversed(texts) if text), None)}


class OpenInference(Convention):
    """Numbered `llm.*` messages, `tool.*`, `input.value` and `output.value`."""

    name, kind_key = "openinference", OPENINFERENCE
    markers = frozenset({OPENINFERENCE})
    model_keys = ("llm.model_name", "embedding.model_name")
    provider_keys = ("llm.provider", "llm.system")
    input_token_keys = ("llm.token_count.prompt",)
    output_token_keys = ("llm.token_count.completion",)
    input_prefixes: tuple[str, ...] = ("llm.input_messages.",)
    output_prefixes: tuple[str, ...] = ("llm.output_messages.",)

    def operation(self, span: SpanView) -> str | None:
        kind = span.text(self.kind_key)
        return None if kind is None else _OPENINFERENCE_KINDS.get(kind.upper(), kind.lower())

    def input_messages(self, span: SpanView) -> Messages | None:
        numbered = _numbered(span.attributes, self.input_prefixes, "user")
        if any(message.role == "user" and message.responses for message in numbered or ()):
            return _with_all_results(numbered or (), span)
        if any(message.has_content for message in numbered or ()):
            return numbered
        whole = _prompts(span.attributes) or _whole_input(span)
        return whole or _spoken(span, "input.audio.transcript", "user") or numbered

    def output_messages(self, span: SpanView) -> Messages | None:
        numbered = _numbered(span.attributes, self.output_prefixes, "assistant")
        if any(message.has_content for message in numbered or ()):
            return tuple(map(with_fields, numbered or ())) if span.scope == DSPY else numbered
        # The plain text of a failed call is its error.
        read = read_messages if span.failed else read_text
        whole = read(_answer(span), "assistant")
        return whole or _spoken(span, "output.audio.transcript", "assistant") or numbered

    def tool(self, span: SpanView) -> ToolUse | None:
        if self.operation(span) != TOOL:
            return None
        return ToolUse(
            # DSPy's tools are objects: their spans have the name of the method that calls them.
            span.text("tool.name", "tool_call.function.name") or span.name.removesuffix(".__call__"),
            span.text("tool_call.id", "tool.id") or recorded_call_id(span.first("output.value")),
            recorded_arguments(span.first("input.value", "tool_call.function.arguments", "tool.parameters")),
            recorded_result(_returned(span)),
        )

    def definitions(self, span: SpanView) -> list[Any] | None:
        tools = map(_named_schema, _dicts(gather(span.attributes, "llm.tools.")))
        definitions = [definition for definition in tools if definition]
        if definitions or self.operation(span) != CHAT:
            return definitions or None
        return offered_in(span.first("llm.invocation_parameters")) or offered_in(span.first("input.value"))


def _whole_input(span: SpanView) -> Messages | None:
    """Return the messages of an input. One that is a text, by its type or in JSON, is the user's words."""
    text, kind = span.text("input.value"), span.text("input.mime_type")
    if text and kind == "application/json" and text.startswith('"'):
        text, kind = json_or_text(text), "text/plain"
    if isinstance(text, str) and text.strip() and kind == "text/plain" and not is_hidden(text):
        return (NormalisedMessage("user", text),)
    return read_text(span.first("input.value"), "user")


def _spoken(span: SpanView, key: str, role: str) -> Messages | None:
    return read_text(span.first(key), role)


def _answer(span: SpanView) -> Any:
    """Return an output; None for LlamaIndex's preparations of a request, which are marked as model calls, too.

    The text of a stream is read only where it is marked as data, because a model may repeat such a text.
    """
    output, kind = span.first("output.value"), span.text("output.mime_type")
    if isinstance(output, str) and output.startswith('"') and kind == "application/json":
        return json_or_text(output)
    if kind in _DATA_TYPES and (message := message_of_stream(output)):
        return message
    request = json_container(output)
    return None if isinstance(request, dict) and "messages" in request and "tools" in request else output


def _returned(span: SpanView) -> Any:
    """Return a tool's output. Dapr writes what Python prints, and that it is JSON."""
    output = span.first("output.value")
    if span.text("output.mime_type") != "application/json":
        return output
    container = recorded_container(output)
    return output if container is None else container


def _numbered(attributes: Mapping[str, Any], prefixes: tuple[str, ...], role: str) -> Messages | None:
    listed = next(filter(None, (_dicts(gather(attributes, prefix)) for prefix in prefixes)), [])
    # agentgateway's example for Phoenix has no `message` in the names of an output.
    entries = [inner for entry in listed if isinstance(inner := entry.get("message", entry), dict)]
    return read_messages([_message(entry) for entry in entries], role) if entries else None


def _with_all_results(numbered: Messages, span: SpanView) -> Messages:
    """Return the messages of the whole request, because a numbered message has room for only one result.

    Anthropic's client sends all results of a turn in one message of the user. If the request has fewer calls or results
    than `numbered`, return `numbered` with the role `tool` for each result, as its text is no word of the user.
    """
    request = read_messages(span.first("input.value"), memo=span.memo) or ()
    if all(had <= has for had, has in zip(_counts(numbered), _counts(request), strict=True)):
        return request
    return tuple(replace(message, role="tool") if message.responses else message for message in numbered)


def _counts(messages: Messages) -> tuple[int, int]:
    """Return the numbers of calls and of results in messages."""
    return sum(len(message.calls) for message in messages), sum(len(message.responses) for message in messages)


def _prompts(attributes: Mapping[str, Any]) -> Messages | None:
    texts = [_deep(entry, "prompt", "text") for entry in _dicts(gather(attributes, "llm.prompts."))]
    return read_messages([text for text in texts if isinstance(text, str)]) if texts else None


def _message(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the conventional message: the list of contents counts where there is no single one."""
    contents = [
        item.get("message_content", item) if isinstance(item, dict) else item for item in _list(entry, "contents")
    ]
    calls = [item["tool_call"] for item in _dicts(entry.get("tool_calls")) if "tool_call" in item]
    if entry.get("function_call_name"):
        calls.append({"name": entry["function_call_name"], "arguments": entry.get("function_call_arguments_json")})
    answered = {key: entry[key] for key in ("tool_call_id", "name") if entry.get(key)}
    return {"role": entry.get("role"), "content": entry.get("content") or contents, "tool_calls": calls, **answered}


def _list(entry: dict[str, Any], key: str) -> list[Any]:
    items = entry.get(key)
    return items if isinstance(items, list) else []


def _dicts(items: Any) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _deep(entry: dict[str, Any], outer: str, inner: str) -> Any:
    member = entry.get(outer)
    return member.get(inner) if isinstance(member, dict) else None


class OpenLLMetry(Convention):
    """OpenLLMetry's own attributes: `traceloop.*` around functions, `llm.request.*` on model calls."""

    name = "openllmetry"
    markers = frozenset(
        {"traceloop.span.kind", "traceloop.entity.name", "llm.request.type", "llm.request.functions.0.name"}
    )
    model_keys = ("llm.request.model", "llm.response.model")
    provider_keys = ("llm.vendor",)
    input_token_keys = ("llm.usage.prompt_tokens",)
    output_token_keys = ("llm.usage.completion_tokens",)

    def operation(self, span: SpanView) -> str | None:
        kind = span.text("traceloop.span.kind")
        if _runs_a_tool(span):
            return TOOL
        if kind is not None:
            return _TRACELOOP_KINDS.get(kind, kind)
        request = span.text("llm.request.type")
        return None if request is None else _REQUESTS.get(request) or operation_named(request)

    def tool(self, span: SpanView) -> ToolUse | None:
        if not _runs_a_tool(span):
            return None
        return ToolUse(
            recorded_name(span.first("traceloop.entity.output"))
            or span.text("traceloop.entity.name")
            or span.name.removesuffix(".tool"),
            None,
            recorded_arguments(span.first("traceloop.entity.input")),
            recorded_result(span.first("traceloop.entity.output")),
        )

    def definitions(self, span: SpanView) -> list[Any] | None:
        return _offered(span, ("llm.request.functions.",))


def _named_schema(tool: dict[str, Any]) -> dict[str, Any] | None:
    """Return the definition of a tool; LiteLLM writes only the schema of its parameters, with the name next to it."""
    schema, name = json_container(_deep(tool, "tool", "json_schema")), _deep(tool, "tool", "name")
    if not isinstance(schema, dict):
        return None
    if not isinstance(name, str) or "name" in schema or "function" in schema:
        return schema
    return {"name": name, "description": _deep(tool, "tool", "description"), "parameters": schema}


def _offered(span: SpanView, prefixes: tuple[str, ...]) -> list[Any] | None:
    named = [prefix for prefix in prefixes if any(prefix + name in span.attributes for name in _FIRST_TOOL)]
    listed = [tool for prefix in named for tool in _dicts(gather(span.attributes, prefix))]
    functions = [function for tool in listed for function in _functions(tool)]
    return [_definition(function) for function in functions if function.get("name")] or None


def _functions(tool: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the functions of a tool: it is one itself, or has one, or several as Gemini's tools do, as `function`."""
    inner = tool.get("function")
    return [inner] if isinstance(inner, dict) else _dicts(inner) or [tool]


def _runs_a_tool(span: SpanView) -> bool:
    """Return whether a span runs a tool, which LlamaIndex's instrumentation calls a task, like everything else."""
    return span.text("traceloop.span.kind") == "tool" or span.text("traceloop.entity.name") == "FunctionTool.task"


def _definition(function: dict[str, Any]) -> dict[str, Any]:
    parameters = function.get("parameters", function.get("arguments", function.get("input_schema")))
    return function | {"parameters": json_or_text(parameters)}
