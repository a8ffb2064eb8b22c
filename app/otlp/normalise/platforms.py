"""Observation platforms' own attributes, each the same few facts under other names."""

from __future__ import annotations

from typing import Any

from app.otlp.normalise.convention import AGENT, CHAT, TOOL, Convention, SpanView, ToolUse
from app.otlp.normalise.toolio import offered_in, recorded_arguments, recorded_result
from app.otlp.text import json_container, json_or_text
from app.otlp.values import integer

_OPERATIONS = {"generation": CHAT, "llm": CHAT, "chat_model": CHAT, "model": CHAT, "tool": TOOL, "agent": AGENT}


class Platform(Convention):
    """A platform that records the kind of a span, its input and its output."""

    plain_text = True

    def __init__(self, name: str, kind: str, input_key: str, output_key: str, model: str = "", usage: str = "") -> None:
        self.name = name
        self.markers = frozenset({kind})
        self.model_keys, self.input_keys, self.output_keys = (model,), (input_key,), (output_key,)
        self._kind, self._usage = kind, usage

    def operation(self, span: SpanView) -> str | None:
        kind = json_or_text(span.first(self._kind))
        return _OPERATIONS.get(kind.lower(), kind.lower()) if isinstance(kind, str) else None

    def input_tokens(self, span: SpanView) -> int | None:
        return self._tokens(span, "input", "input_tokens", "prompt_tokens", "inputTokens")

    def output_tokens(self, span: SpanView) -> int | None:
        return self._tokens(span, "output", "output_tokens", "completion_tokens", "outputTokens")

    def _tokens(self, span: SpanView, *names: str) -> int | None:
        usage = json_container(span.first(self._usage)) if self._usage else None
        if isinstance(usage, dict) and isinstance(usage.get("usage"), dict):
            usage = usage["usage"]
        if not isinstance(usage, dict):
            return None
        name = next((name for name in names if integer(usage.get(name)) is not None), None)
        # Langfuse takes the cached and other special ones out of `input` and `output`, and names them `input_…`.
        parts = [name, *(key for key in usage if key.startswith(f"{name}_"))] if name in ("input", "output") else [name]
        return sum(max(integer(usage[part]) or 0, 0) for part in parts) if name else None

    def definitions(self, span: SpanView) -> list[Any] | None:
        return offered_in(span.first(*self.input_keys)) if self.operation(span) == CHAT else None

    def tool(self, span: SpanView) -> ToolUse | None:
        if self.operation(span) != TOOL:
            return None
        arguments = recorded_arguments(span.first(*self.input_keys))
        return ToolUse(span.name, None, arguments, recorded_result(span.first(*self.output_keys)))


PLATFORMS = (
    Platform(
        "langfuse",
        kind="langfuse.observation.type",
        input_key="langfuse.observation.input",
        output_key="langfuse.observation.output",
        model="langfuse.observation.model.name",
        usage="langfuse.observation.usage_details",
    ),
    Platform("langsmith", kind="langsmith.span.kind", input_key="gen_ai.prompt", output_key="gen_ai.completion"),
    Platform(
        "mlflow",
        kind="mlflow.spanType",
        input_key="mlflow.spanInputs",
        output_key="mlflow.spanOutputs",
        usage="mlflow.chat.tokenUsage",
    ),
    Platform(
        "genkit",
        kind="genkit:metadata:subtype",
        input_key="genkit:input",
        output_key="genkit:output",
        model="genkit:name",
        usage="genkit:output",
    ),
)
