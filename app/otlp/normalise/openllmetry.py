"""OpenLLMetry's own attributes: `traceloop.*` around functions, `llm.request.*` on model calls."""

from __future__ import annotations

from typing import Any

from app.otlp.normalise.convention import AGENT, CHAT, TOOL, Convention, SpanView, ToolUse
from app.otlp.normalise.indexed import gather
from app.otlp.normalise.toolio import recorded_arguments, recorded_name, recorded_result
from app.otlp.text import json_or_text

_KINDS = {"tool": TOOL, "agent": AGENT, "workflow": "invoke_workflow", "task": "task"}
_REQUESTS = {"chat": CHAT, "completion": "text_completion", "embedding": "embeddings"}


class OpenLLMetry(Convention):
    name = "openllmetry"
    markers = frozenset(
        {"traceloop.span.kind", "traceloop.entity.name", "llm.request.type", "llm.request.functions.0.name"}
    )

    def operation(self, span: SpanView) -> str | None:
        kind = span.text("traceloop.span.kind")
        if _runs_a_tool(span):
            return TOOL
        if kind is not None:
            return _KINDS.get(kind, kind)
        asked = span.text("llm.request.type")
        return None if asked is None else _REQUESTS.get(asked, asked)

    def model(self, span: SpanView) -> str | None:
        return span.text("llm.request.model", "llm.response.model")

    def provider(self, span: SpanView) -> str | None:
        return span.text("llm.vendor")

    def input_tokens(self, span: SpanView) -> int | None:
        return span.count("llm.usage.prompt_tokens")

    def output_tokens(self, span: SpanView) -> int | None:
        return span.count("llm.usage.completion_tokens")

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
        functions = gather(span.attributes, "llm.request.functions.")
        found = [_definition(function) for function in functions if function.get("name")]
        return found or None


def _runs_a_tool(span: SpanView) -> bool:
    """LlamaIndex's instrumentation calls everything a task, running a tool too."""
    return span.text("traceloop.span.kind") == "tool" or span.text("traceloop.entity.name") == "FunctionTool.task"


def _definition(function: dict[str, Any]) -> dict[str, Any]:
    parameters = function.get("parameters", function.get("arguments", function.get("input_schema")))
    return function | {"parameters": json_or_text(parameters)}
