"""HoneyHive's decorators of functions: each argument, and each value of a result, is an attribute."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.otlp.normalise.convention import CHAT, TOOL, Convention, SpanView, ToolUse
from app.otlp.normalise.messages import Messages
from app.otlp.normalise.spread import nested
from app.values.json import json_or_text

_KIND = "honeyhive_event_type"
_INPUTS, _OUTPUTS = "honeyhive_inputs.", "honeyhive_outputs."
_OPERATIONS = {"model": CHAT, "tool": TOOL}
_MESSAGES = ("chat_history", "messages")


class HoneyHive(Convention):
    """HoneyHive: functions with the kind that their decorator names, and spans of other libraries with a guess.

    Source: https://github.com/honeyhiveai/python-sdk
    """

    name = "honeyhive"
    markers = frozenset({_KIND})
    model_keys = ("honeyhive_config.model",)
    provider_keys = ("honeyhive_config.provider",)
    input_token_keys = ("honeyhive_metadata.prompt_tokens", "honeyhive_metrics.prompt_tokens")
    output_token_keys = ("honeyhive_metadata.completion_tokens", "honeyhive_metrics.completion_tokens")
    plain_text = True

    def operation(self, span: SpanView) -> str | None:
        # Any span without a better kind is guessed to be a tool, such as one of a request.
        if not any(key.startswith((_INPUTS, _OUTPUTS)) for key in span.attributes):
            return None
        kind = span.text(_KIND)
        return kind and _OPERATIONS.get(kind, kind)

    def input_messages(self, span: SpanView) -> Messages | None:
        return self._read(_asked(nested(span.attributes, _INPUTS)), "user", span.memo)

    def output_messages(self, span: SpanView) -> Messages | None:
        return self._read(_result(span), "assistant", plain=not span.failed)

    def tool(self, span: SpanView) -> ToolUse | None:
        if self.operation(span) != TOOL:
            return None
        return ToolUse(
            span.text("honeyhive_event_name") or span.name,
            None,
            {name: json_or_text(value) for name, value in nested(span.attributes, _INPUTS).items()},
            json_or_text(_result(span)),
        )


def _asked(inputs: Mapping[str, Any]) -> Any:
    """Return the messages among the arguments of a function, or its only argument that is a text."""
    named = next((inputs[name] for name in _MESSAGES if name in inputs), None)
    texts = [value for value in inputs.values() if isinstance(value, str)]
    return named if named is not None or len(texts) != 1 else texts[0]


def _result(span: SpanView) -> Any:
    outputs = nested(span.attributes, _OUTPUTS)
    return outputs.get("result", outputs or None)
