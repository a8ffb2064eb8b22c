"""Spans in names that only their library has: what an attribute is shows in the end of its name.

Such names begin with the library's own, as in `judgment.span_kind`, `judgment.input` and `judgment.output`. Sources, of
which Prompt flow and vLLora write names without a beginning:

- https://github.com/JudgmentLabs/judgeval
- https://github.com/confident-ai/deepeval
- https://github.com/KeyValueSoftwareSystems/netra-sdk-py
- https://github.com/orq-ai/orq-python
- https://github.com/microsoft/promptflow
- https://github.com/vllora/vllora
- https://github.com/agntcy/observe
- https://github.com/Agenta-AI/agenta
- https://github.com/humanloop/humanloop-python
- https://github.com/UiPath/uipath-python
- https://github.com/truera/trulens
- https://www.truefoundry.com/docs/ai-gateway/fetch-request-logs-span-attributes
- https://github.com/open-telemetry/opentelemetry-php-contrib

Some spread a value over attributes below its name, or have the words in events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from app.otlp.normalise.convention import AGENT, CHAT, TOOL, SpanView
from app.otlp.normalise.event_words import has_words, tool_words, words_in_events
from app.otlp.normalise.platforms import Platform
from app.otlp.normalise.spread import nested
from app.otlp.values import integer
from app.values.json import json_container, json_or_text

_KIND_ENDS = (
    *("span.kind", "span.type", "span_kind", "span_type", "runner.type", "run_type", "observation_type"),
    *("operation.type", "type.node", "file.type", "resource"),
)
_KINDS = {
    **dict.fromkeys(("llm", "generation", "chat", "chat_model", "model_call", "llm_call", "llm_request"), CHAT),
    **dict.fromkeys(("llm.invoke", "inference", "inference.framework", "model"), CHAT),
    **dict.fromkeys(("chat/create", "chat/createstreamed", "responses/create", "responses/createstreamed"), CHAT),
    **dict.fromkeys(("tool", "tool_call", "tool_execution", "tool.invoke", "agentic.tool.invocation"), TOOL),
    **dict.fromkeys(("agent", "agent.invoke", "agentic.turn", "agentic.invocation", "record_root"), AGENT),
}
_KIND_MAX = max(map(len, _KINDS))
_NAMES = frozenset({"model_call", "llm_call", "call_llm", "llm_request"})
"""The names of spans that are model calls if they have an input and an output."""
_INPUTS = ("input", "inputs", "input.value", "span.input", "data.inputs", "entity.input", "record_root.input")
_OUTPUTS = (
    *("output", "outputs", "output.value", "span.output", "data.outputs", "entity.output", "record_root.output"),
    "log.output",
)
_WORDS = frozenset({*_INPUTS, *_OUTPUTS})
_SPREAD_INPUTS, _SPREAD_OUTPUTS = ("data.inputs.", "log.inputs."), ("data.outputs.",)
"""The beginnings of names that spread an input or an output over several attributes."""
_MESSAGES = ("prompt", "completion")
# Agenta's name of an output that is no object, and what is before its JSON.
_ONLY = "__default__"
_JSON_MARK = "@ag.type=json:"
# The common names of facts, and the ends of the names that libraries have for them.
_FACTS: dict[str, tuple[str, ...]] = {
    "gen_ai.request.model": (
        *("llm.model", "llm.model_name", "model", "model_name", "llm.response.model", "model.name", "cost.model"),
        *("meta.configuration.model", "entity.2.name"),
    ),
    "gen_ai.provider.name": ("llm.provider", "provider", "span.provider", "provider_name", "model.provider"),
    "gen_ai.usage.input_tokens": (
        "usage.input_tokens",
        "usage.prompt_tokens",
        "llm.usage.prompt_tokens",
        "llm.input_token_count",
        "llm.tokens.input",
        "cost.num_prompt_tokens",
        "metrics.unit.tokens.prompt",
        "model.metric.input_tokens",
    ),
    "gen_ai.usage.output_tokens": (
        "usage.output_tokens",
        "usage.completion_tokens",
        "llm.usage.completion_tokens",
        "llm.output_token_count",
        "llm.tokens.output",
        "cost.num_completion_tokens",
        "metrics.unit.tokens.completion",
        "model.metric.output_tokens",
    ),
    "gen_ai.usage.cache_read.input_tokens": ("usage.cache_read_input_tokens", "model.metric.cache_read_input_tokens"),
    "gen_ai.usage.cache_creation.input_tokens": (
        "usage.cache_creation_input_tokens",
        "model.metric.cache_creation_input_tokens",
    ),
}
_TOOL_NAMES = ("tool.name", "tool_name", "entity.name", "entity.1.name", "file.tool.function.name")
_PARTS = ("usage.non_cached_input_tokens", "usage.cache_read_input_tokens", "usage.cache_creation_input_tokens")
"""Together the tokens of an input, if the first of them was counted."""
OWN_NAMES = Platform("own_names", ("own.kind",), ("own.input",), ("own.output",), usage=("own.usage",))


def in_common_names(span: SpanView) -> SpanView | None:
    """Return a span with the common names for what its own names have; None if no name shows the kind of the span."""
    if (found := _kind(span)) is None:
        return None
    begin, kind = found
    own = dict(_facts(span, begin, kind))
    common = own | dict(span.attributes) | {"gen_ai.operation.name": kind, "own.kind": kind}
    # The name of the operation may have been that of the span.
    return SpanView(span.name, span.scope, common, lambda: span.events, span.memo, span.failed)


def _kind(span: SpanView) -> tuple[str, str] | None:
    """Return how the span's own names begin, and its operation."""
    attributes = span.attributes
    for key in attributes:
        if key.endswith(_KIND_ENDS):
            kind = attributes[key]
            if isinstance(kind, str) and len(kind) <= _KIND_MAX and (operation := _KINDS.get(kind.lower())):
                begin = key[: -len(next(filter(key.endswith, _KIND_ENDS)))]
                # Programs of other kinds write a bare `span.type`, too, but no input and no output.
                if begin or not attributes.keys().isdisjoint(_WORDS) or has_words(span):
                    return begin, operation
    if span.name.lower().replace(" ", "_") in _NAMES and _has_any(attributes, _INPUTS, _OUTPUTS):
        return "", CHAT
    return None


def _has_any(attributes: Mapping[str, Any], *sides: tuple[str, ...]) -> bool:
    """Return whether there is a value of each side."""
    return all(not attributes.keys().isdisjoint(names) for names in sides)


def _facts(span: SpanView, begin: str, kind: str) -> Iterator[tuple[str, Any]]:
    attributes = span.attributes
    for name, ends in _FACTS.items():
        if (value := _first(attributes, begin, ends)) is not None:
            yield name, value
    if (counted := integer(attributes.get(begin + _PARTS[0]))) is not None:
        yield (
            "gen_ai.usage.input_tokens",
            counted + sum(integer(attributes.get(begin + part)) or 0 for part in _PARTS[1:]),
        )
    if kind == TOOL:
        yield "gen_ai.tool.name", _first(attributes, begin, _TOOL_NAMES)
    output = _words(span, begin, kind, outputs=True)
    yield "own.input", _words(span, begin, kind, outputs=False)
    yield "own.output", output
    usage = attributes.get(f"{begin}usage")
    yield "own.usage", _usage_in(output) if usage is None else usage


def _words(span: SpanView, begin: str, kind: str, *, outputs: bool) -> Any:
    """Return the input or the output of a span: of an attribute, of several below a name, or of an event."""
    attributes, other = span.attributes, "gen_ai.completion" if outputs else "gen_ai.prompt"
    value = _first(attributes, begin, _OUTPUTS if outputs else _INPUTS)
    if value is None:
        value = _below(attributes, begin, _SPREAD_OUTPUTS if outputs else _SPREAD_INPUTS)
    if value is None:
        value = attributes.get(other)
    if value is not None:
        return value
    return tool_words(span)[outputs] if kind == TOOL else words_in_events(span, outputs=outputs)


def _usage_in(output: Any) -> Any:
    """Return the usage in a whole completion; None for any other output, which may be words of the model."""
    completion = json_container(output)
    return completion.get("usage") if isinstance(completion, dict) and "choices" in completion else None


def _below(attributes: Mapping[str, Any], begin: str, prefixes: tuple[str, ...]) -> Any:
    """Return the object, or the only value, that is spread over the attributes below a name; None without any."""
    for prefix in prefixes:
        if any(key.startswith(begin + prefix) for key in attributes):
            values = _unmarked(nested(attributes, begin + prefix))
            return _only_in(values)
    return None


def _only_in(values: dict[str, Any]) -> Any:
    """Return the only value of an object if it is one without a name, or a list of messages."""
    if len(values) != 1:
        return values
    [(name, value)] = values.items()
    return value if name == _ONLY or (name in _MESSAGES and isinstance(value, list)) else values


def _unmarked(value: Any) -> Any:
    """Return a value with the texts in it that are marked as JSON read."""
    if isinstance(value, dict):
        return {name: _unmarked(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_unmarked(item) for item in value]
    return (
        json_or_text(value.removeprefix(_JSON_MARK))
        if isinstance(value, str) and value.startswith(_JSON_MARK)
        else value
    )


def _first(attributes: Mapping[str, Any], begin: str, ends: tuple[str, ...]) -> Any:
    """Return the first value with one of these names, after the library's own, otherwise without a beginning."""
    names = (before + end for before in dict.fromkeys((begin, "")) for end in ends)
    return next((value for name in names if (value := attributes.get(name)) not in (None, "")), None)
