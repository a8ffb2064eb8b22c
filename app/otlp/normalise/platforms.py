"""The conventions of observation platforms, which record one kind, one input and one output for each span."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from app.otlp.normalise.convention import AGENT, CHAT, COUNT_MAX, TOOL, Convention, SpanView, ToolUse
from app.otlp.normalise.messages import Memo, Messages, NormalisedMessage
from app.otlp.normalise.toolio import is_marked_as_error, offered_in, recorded_arguments, recorded_result
from app.otlp.values import integer
from app.values.json import json_container, json_or_text

_OPERATIONS = {"generation": CHAT, "llm": CHAT, "chat_model": CHAT, "model": CHAT, "tool": TOOL, "agent": AGENT}
_NUMBERED_ANSWER = "gen_ai.completion.0.content"
_TEXT_KEY = "response"
_INPUT_TOKENS = ("input", "input_tokens", "prompt_tokens", "inputTokens")
_OUTPUT_TOKENS = ("output", "output_tokens", "completion_tokens", "outputTokens")


def _unquoted(value: Any) -> Any:
    """Return the text in a JSON text ("…" in quotes): some platforms write every attribute as JSON."""
    return json_or_text(value) if isinstance(value, str) and value.startswith('"') else value


def _named(value: Any, key: str) -> str | None:
    """Return a text, or the text with this key in an object; either may be encoded as JSON. None for anything else."""
    name = json_or_text(value)
    if isinstance(name, dict):
        name = name.get(key)
    return name if isinstance(name, str) and name else None


class Platform(Convention):
    """A platform that records the kind of a span, its input and its output.

    Each parameter has the keys of the span attributes with this value; the first one that a span has counts. `usage`
    has those of an object with all token counts of a call, for platforms without separate `tokens` (input, output).
    `tools` has those of the tool's name, and `offers` those of the definitions of the offered tools.

    `shares_kinds`: other programs write the attributes of `kinds`, too, so that only known kinds are of this platform.
    `writes_json`: inputs are written as JSON. So an input that is a text in JSON is what the user wrote, even if the
    text is JSON again.
    """

    plain_text = True

    def __init__(
        self,
        name: str,
        kinds: tuple[str, ...],
        inputs: tuple[str, ...],
        outputs: tuple[str, ...],
        *,
        models: tuple[str, ...] = (),
        providers: tuple[str, ...] = (),
        usage: tuple[str, ...] = (),
        tokens: tuple[tuple[str, ...], tuple[str, ...]] = ((), ()),
        tools: tuple[str, ...] = (),
        offers: tuple[str, ...] = (),
        shares_kinds: bool = False,
        writes_json: bool = False,
    ) -> None:
        self.name = name
        self.markers = frozenset(kinds)
        self.input_keys, self.output_keys = inputs, outputs
        self.model_keys, self.provider_keys = models, providers
        self.input_token_keys, self.output_token_keys = tokens
        self._kinds, self._usage, self._tools, self._shares_kinds = kinds, usage, tools, shares_kinds
        self._writes_json, self._offers = writes_json, offers

    def operation(self, span: SpanView) -> str | None:
        kind = _named(span.first(*self._kinds), "type")
        if kind is None:
            return None
        if kind == "span" and "tool.arguments" in span.attributes and "tool.name" in span.attributes:
            return TOOL  # Langfuse had no other kind for tools
        return _OPERATIONS.get(kind.lower(), None if self._shares_kinds else kind.lower())

    def model(self, span: SpanView) -> str | None:
        return _named(span.first(*self.model_keys), "model")

    def provider(self, span: SpanView) -> str | None:
        return _named(span.first(*self.provider_keys), "provider")

    def _read(self, value: Any, role: str, memo: Memo | None = None, *, plain: bool = True) -> Messages | None:
        text = _unquoted(value)
        if self._writes_json and role == "user" and text is not value and isinstance(text, str) and text.strip():
            return (NormalisedMessage(role, text),)
        return super()._read(text, role, memo, plain=plain) or _only_text(text, role)

    def output_messages(self, span: SpanView) -> Messages | None:
        # The common numbered messages have no more than the model's own words; Agent SDK for Go adds its calls to them.
        return None if _NUMBERED_ANSWER in span.attributes else super().output_messages(span)

    def input_tokens(self, span: SpanView) -> int | None:
        return super().input_tokens(span) if self.input_token_keys else _tokens(self._counts(span), _INPUT_TOKENS)

    def output_tokens(self, span: SpanView) -> int | None:
        return super().output_tokens(span) if self.output_token_keys else _tokens(self._counts(span), _OUTPUT_TOKENS)

    def _counts(self, span: SpanView) -> Mapping[str, Any]:
        usage = json_container(span.first(*self._usage))
        if isinstance(usage, dict) and isinstance(usage.get("usage"), dict):
            usage = usage["usage"]
        return usage if isinstance(usage, dict) else {}

    def definitions(self, span: SpanView) -> list[Any] | None:
        if self.operation(span) != CHAT:
            return None
        listed = json_container(span.first(*self._offers))
        return listed if isinstance(listed, list) and listed else offered_in(span.first(*self.input_keys))

    def tool(self, span: SpanView) -> ToolUse | None:
        if self.operation(span) != TOOL:
            return None
        name = _named(span.first(*self._tools), "name") or span.text("gen_ai.tool.name", "tool.name") or span.name
        arguments = recorded_arguments(span.first(*self.input_keys))
        output = span.first(*self.output_keys)
        return ToolUse(name, None, arguments, recorded_result(output), is_marked_as_error(output))


def _only_text(value: Any, role: str) -> Messages | None:
    """Return the text in an output that is an object with nothing else, as that of a program's function."""
    container = json_container(value) if role == "assistant" else None
    text = container.get(_TEXT_KEY) if isinstance(container, dict) and len(container) == 1 else None
    return (NormalisedMessage(role, text),) if isinstance(text, str) and text else None


def _tokens(usage: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    name = next((name for name in names if _count(usage.get(name)) is not None), None)
    if name is None:
        return None
    # Langfuse's `input` and `output` do not include special tokens, such as cached ones. These are in `input_…`.
    parts = [name, *(key for key in usage if key.startswith(f"{name}_"))] if name in ("input", "output") else [name]
    return min(sum(_count(usage[part]) or 0 for part in parts), COUNT_MAX)


def _count(value: Any) -> int | None:
    """Return a whole number of at most `COUNT_MAX`, never below zero; None for any other value."""
    number = integer(value)
    return None if number is None or number > COUNT_MAX else max(number, 0)


class _Typed(Platform):
    """A platform that writes inputs and outputs as `{type, value}`."""

    def _read(self, value: Any, role: str, memo: Memo | None = None, *, plain: bool = True) -> Messages | None:
        return super()._read(_value(value), role, memo, plain=plain)

    def tool(self, span: SpanView) -> ToolUse | None:
        use = super().tool(span)
        return use and replace(use, arguments=_value(use.arguments), result=_value(use.result))


def _value(typed: Any) -> Any:
    """Return the value in `{type, value}`, an object or its JSON; anything else unchanged."""
    container = json_container(typed)
    return container["value"] if isinstance(container, dict) and container.keys() == {"type", "value"} else typed


PLATFORMS = (
    Platform(
        "langfuse",
        ("langfuse.observation.type",),
        ("langfuse.observation.input",),
        ("langfuse.observation.output",),
        models=("langfuse.observation.model.name",),
        usage=("langfuse.observation.usage_details",),
    ),
    Platform("langsmith", ("langsmith.span.kind",), ("gen_ai.prompt",), ("gen_ai.completion",)),
    Platform(
        "mlflow",
        ("mlflow.spanType",),
        ("mlflow.spanInputs",),
        ("mlflow.spanOutputs",),
        models=("mlflow.llm.model", "model"),
        providers=("mlflow.llm.provider",),
        usage=("mlflow.chat.tokenUsage", "usage"),
        tools=("tool_name",),
        offers=("mlflow.chat.tools",),
        writes_json=True,
    ),
    Platform("laminar", ("lmnr.span.type",), ("lmnr.span.input",), ("lmnr.span.output",)),
    Platform(
        "genkit",
        ("genkit:metadata:subtype",),
        ("genkit:input",),
        ("genkit:output",),
        models=("genkit:name",),
        usage=("genkit:output",),
    ),
    Platform(
        "braintrust",
        ("braintrust.span_attributes",),
        ("braintrust.input_json", "braintrust.input"),
        ("braintrust.output_json", "braintrust.output"),
        models=("braintrust.metadata",),
        providers=("braintrust.metadata",),
        usage=("braintrust.metrics",),
        writes_json=True,
    ),
    _Typed("langwatch", ("langwatch.span.type",), ("langwatch.input",), ("langwatch.output",)),
    Platform("cozeloop", ("cozeloop.span_type",), ("cozeloop.input",), ("cozeloop.output",)),
    Platform(
        "agentops",
        ("agentops.span.kind",),
        ("agentops.entity.input", "agentops.task.input"),
        ("agentops.entity.output", "agentops.task.output"),
        tools=("agentops.entity.name",),
    ),
    # Langtrace, in releases before it used the GenAI conventions.
    Platform(
        "langtrace",
        ("langtrace.service.type",),
        ("llm.prompts",),
        ("llm.responses",),
        models=("llm.model",),
        usage=("llm.token.counts",),
    ),
    Platform(
        "voltagent",
        ("span.type", "entity.type"),
        ("llm.messages", "agent.messages", "input"),
        ("output",),
        models=("llm.model", "ai.model.name"),
        providers=("llm.provider",),
        tokens=(("llm.usage.prompt_tokens",), ("llm.usage.completion_tokens",)),
        tools=("tool.name",),
        shares_kinds=True,
    ),
)
