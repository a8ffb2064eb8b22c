"""OpenInference: `openinference.span.kind`, numbered `llm.*` messages, `tool.*`, `input.value` and `output.value`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.otlp.normalise.convention import AGENT, CHAT, TOOL, Convention, SpanView, ToolUse
from app.otlp.normalise.indexed import gather
from app.otlp.normalise.messages import Messages, read_messages, read_text
from app.otlp.normalise.toolio import offered_in, recorded_arguments, recorded_call_id, recorded_result
from app.otlp.text import json_container

_KINDS = {"LLM": CHAT, "TOOL": TOOL, "AGENT": AGENT, "EMBEDDING": "embeddings", "RETRIEVER": "retrieval"}


class OpenInference(Convention):
    name = "openinference"
    markers = frozenset({"openinference.span.kind"})

    def operation(self, span: SpanView) -> str | None:
        kind = span.text("openinference.span.kind")
        return None if kind is None else _KINDS.get(kind.upper(), kind.lower())

    def model(self, span: SpanView) -> str | None:
        return span.text("llm.model_name", "embedding.model_name")

    def provider(self, span: SpanView) -> str | None:
        return span.text("llm.provider", "llm.system")

    def input_tokens(self, span: SpanView) -> int | None:
        return span.count("llm.token_count.prompt")

    def output_tokens(self, span: SpanView) -> int | None:
        return span.count("llm.token_count.completion")

    def input_messages(self, span: SpanView) -> Messages | None:
        return (
            _numbered(span.attributes, "llm.input_messages.", "user")
            or _prompts(span.attributes)
            or read_text(span.first("input.value"), "user")
        )

    def output_messages(self, span: SpanView) -> Messages | None:
        numbered = _numbered(span.attributes, "llm.output_messages.", "assistant")
        return numbered or read_text(_answer(span.first("output.value")), "assistant")

    def tool(self, span: SpanView) -> ToolUse | None:
        if self.operation(span) != TOOL:
            return None
        return ToolUse(
            span.text("tool.name", "tool_call.function.name") or span.name,
            span.text("tool_call.id", "tool.id") or recorded_call_id(span.first("output.value")),
            recorded_arguments(span.first("input.value", "tool_call.function.arguments", "tool.parameters")),
            recorded_result(span.first("output.value")),
        )

    def definitions(self, span: SpanView) -> list[Any] | None:
        schemas = (json_container(_deep(tool, "tool", "json_schema")) for tool in gather(span.attributes, "llm.tools."))
        found = [schema for schema in schemas if isinstance(schema, dict)]
        if found or self.operation(span) != CHAT:
            return found or None
        return offered_in(span.first("llm.invocation_parameters")) or offered_in(span.first("input.value"))


def _answer(output: Any) -> Any:
    """An output, but for LlamaIndex's preparations of a request, which are marked as model calls too."""
    found = json_container(output)
    return None if isinstance(found, dict) and "messages" in found and "tools" in found else output


def _numbered(attributes: Mapping[str, Any], prefix: str, role: str) -> Messages | None:
    entries = [entry["message"] for entry in gather(attributes, prefix) if isinstance(entry.get("message"), dict)]
    return read_messages([_message(entry) for entry in entries], role) if entries else None


def _prompts(attributes: Mapping[str, Any]) -> Messages | None:
    texts = [_deep(entry, "prompt", "text") for entry in gather(attributes, "llm.prompts.")]
    return read_messages([text for text in texts if isinstance(text, str)]) if texts else None


def _message(entry: dict[str, Any]) -> dict[str, Any]:
    """The conventional message: the list of contents counts where there is no single one."""
    contents = [item["message_content"] for item in _dicts(entry.get("contents")) if "message_content" in item]
    calls = [item["tool_call"] for item in _dicts(entry.get("tool_calls")) if "tool_call" in item]
    if entry.get("function_call_name"):
        calls.append({"name": entry["function_call_name"], "arguments": entry.get("function_call_arguments_json")})
    return {"role": entry.get("role"), "content": entry.get("content") or contents, "tool_calls": calls}


def _dicts(items: Any) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _deep(entry: dict[str, Any], outer: str, inner: str) -> Any:
    found = entry.get(outer)
    return found.get(inner) if isinstance(found, dict) else None
