"""Spans in names that only their library has: what an attribute is shows in the end of its name.

Such names begin with the library's own, as in `judgment.span_kind`, `judgment.input` and `judgment.output`. Sources, of
which Prompt flow and vLLora write names without a beginning:

- https://github.com/JudgmentLabs/judgeval
- https://github.com/confident-ai/deepeval
- https://github.com/KeyValueSoftwareSystems/netra-sdk-py
- https://github.com/orq-ai/orq-python
- https://github.com/microsoft/promptflow
- https://github.com/vllora/vllora
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from app.otlp.normalise.convention import AGENT, CHAT, TOOL, SpanView
from app.otlp.normalise.platforms import Platform
from app.otlp.values import integer

_KIND_ENDS = ("span.kind", "span.type", "span_kind", "span_type", "runner.type", "run_type", "observation_type")
_KINDS = {
    **dict.fromkeys(("llm", "generation", "chat", "chat_model", "model_call", "llm_call", "llm_request"), CHAT),
    **dict.fromkeys(("tool", "tool_call", "tool_execution"), TOOL),
    "agent": AGENT,
}
_KIND_MAX = max(map(len, _KINDS))
_NAMES = frozenset({"model_call", "llm_call", "call_llm", "llm_request"})
"""The names of spans that are model calls if they have an input and an output."""
_INPUTS = ("input", "inputs", "input.value", "span.input", "data.inputs")
_OUTPUTS = ("output", "outputs", "output.value", "span.output", "data.outputs")
_WORDS = frozenset({*_INPUTS, *_OUTPUTS})
# The common names of facts, and the ends of the names that libraries have for them.
_FACTS: dict[str, tuple[str, ...]] = {
    "gen_ai.request.model": ("llm.model", "llm.model_name", "model", "model_name", "llm.response.model"),
    "gen_ai.provider.name": ("llm.provider", "provider", "span.provider", "provider_name"),
    "gen_ai.usage.input_tokens": (
        "usage.input_tokens",
        "usage.prompt_tokens",
        "llm.usage.prompt_tokens",
        "llm.input_token_count",
    ),
    "gen_ai.usage.output_tokens": (
        "usage.output_tokens",
        "usage.completion_tokens",
        "llm.usage.completion_tokens",
        "llm.output_token_count",
    ),
    "gen_ai.usage.cache_read.input_tokens": ("usage.cache_read_input_tokens",),
    "gen_ai.usage.cache_creation.input_tokens": ("usage.cache_creation_input_tokens",),
    "gen_ai.tool.name": ("tool.name", "tool_name"),
}
_PARTS = ("usage.non_cached_input_tokens", "usage.cache_read_input_tokens", "usage.cache_creation_input_tokens")
"""Together the tokens of an input, if the first of them was counted."""
OWN_NAMES = Platform("own_names", ("own.kind",), ("own.input",), ("own.output",), usage="own.usage")


def in_common_names(span: SpanView) -> SpanView | None:
    """Return a span with the common names for what its own names have; None if no name shows the kind of the span."""
    if (found := _kind(span)) is None:
        return None
    begin, kind = found
    own = dict(_facts(span.attributes, begin))
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
                if begin or not attributes.keys().isdisjoint(_WORDS):
                    return begin, operation
    if span.name in _NAMES and "input" in attributes and "output" in attributes:
        return "", CHAT
    return None


def _facts(attributes: Mapping[str, Any], begin: str) -> Iterator[tuple[str, Any]]:
    for name, ends in _FACTS.items():
        if (value := _first(attributes, begin, ends)) is not None:
            yield name, value
    if (counted := integer(attributes.get(begin + _PARTS[0]))) is not None:
        yield (
            "gen_ai.usage.input_tokens",
            counted + sum(integer(attributes.get(begin + part)) or 0 for part in _PARTS[1:]),
        )
    for name, ends, other in (("own.input", _INPUTS, "gen_ai.prompt"), ("own.output", _OUTPUTS, "gen_ai.completion")):
        value = _first(attributes, begin, ends)
        yield name, attributes.get(other) if value is None else value
    yield "own.usage", attributes.get(f"{begin}usage")


def _first(attributes: Mapping[str, Any], begin: str, ends: tuple[str, ...]) -> Any:
    """Return the first value with one of these names, after the library's own, otherwise without a beginning."""
    names = (before + end for before in dict.fromkeys((begin, "")) for end in ends)
    return next((value for name in names if (value := attributes.get(name)) not in (None, "")), None)
