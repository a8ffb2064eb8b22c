"""Observation platforms' own attributes, each the same few facts under other names."""

from __future__ import annotations

from app.otlp.normalise.convention import AGENT, CHAT, TOOL, Convention, SpanView, ToolUse
from app.otlp.normalise.messages import Messages, read_text
from app.otlp.normalise.toolio import recorded_arguments, recorded_result
from app.otlp.text import json_container, json_or_text
from app.otlp.values import integer

_OPERATIONS = {"generation": CHAT, "llm": CHAT, "chat_model": CHAT, "tool": TOOL, "agent": AGENT}


class Platform(Convention):
    """A platform that names what a span is, what went in and what came out."""

    def __init__(self, name: str, kind: str, given: str, returned: str, model: str = "", usage: str = "") -> None:
        self.name = name
        self.markers = frozenset({kind})
        self._kind, self._given, self._returned, self._model, self._usage = kind, given, returned, model, usage

    def operation(self, span: SpanView) -> str | None:
        kind = json_or_text(span.first(self._kind))
        return _OPERATIONS.get(kind.lower(), kind.lower()) if isinstance(kind, str) else None

    def model(self, span: SpanView) -> str | None:
        return span.text(self._model)

    def input_tokens(self, span: SpanView) -> int | None:
        return self._tokens(span, "input", "input_tokens", "prompt_tokens")

    def output_tokens(self, span: SpanView) -> int | None:
        return self._tokens(span, "output", "output_tokens", "completion_tokens")

    def _tokens(self, span: SpanView, *names: str) -> int | None:
        usage = json_container(span.first(self._usage)) if self._usage else None
        found = (integer(usage.get(name)) for name in names) if isinstance(usage, dict) else ()
        return next((max(number, 0) for number in found if number is not None), None)

    def input_messages(self, span: SpanView) -> Messages | None:
        return read_text(span.first(self._given), "user")

    def output_messages(self, span: SpanView) -> Messages | None:
        return read_text(span.first(self._returned), "assistant")

    def tool(self, span: SpanView) -> ToolUse | None:
        if self.operation(span) != TOOL:
            return None
        arguments = recorded_arguments(span.first(self._given))
        return ToolUse(span.name, None, arguments, recorded_result(span.first(self._returned)))


PLATFORMS = (
    Platform(
        "langfuse",
        kind="langfuse.observation.type",
        given="langfuse.observation.input",
        returned="langfuse.observation.output",
        model="langfuse.observation.model.name",
        usage="langfuse.observation.usage_details",
    ),
    Platform("langsmith", kind="langsmith.span.kind", given="gen_ai.prompt", returned="gen_ai.completion"),
    Platform(
        "mlflow",
        kind="mlflow.spanType",
        given="mlflow.spanInputs",
        returned="mlflow.spanOutputs",
        usage="mlflow.chat.tokenUsage",
    ),
)
