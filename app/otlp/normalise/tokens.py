"""The tokens of a model call with their parts, the model that served it, and the time to its first token.

The names of these attributes mean the same in every convention that writes them.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping
from datetime import datetime
from itertools import chain
from typing import Any, NamedTuple

from app.otlp.normalise.convention import COUNT_MAX, SpanView
from app.otlp.values import integer
from app.values.python_text import recorded_container

_CACHE_READ = (
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "gen_ai.usage.details.cache_read_tokens",
    "gen_ai.usage.details.cache_read_input_tokens",
    "gen_ai.usage.cached_tokens",
    "gen_ai.usage.cache_read_tokens",
    "gen_ai.usage.cached_input_tokens",
    "gen_ai.usage.input_cached_tokens",
    "gen_ai.usage.input_tokens.cached",
    "gen_ai.usage.input_tokens.cache_read",
    "gen_ai.usage.prompt_tokens_details.cache_read",
    "gen_ai.usage.prompt_tokens_details.cached_tokens",
    "llm.token_count.prompt_details.cache_read",
    "llm.token_count.prompt_details.cache_input",
    "llm.usage.cache_read_input_tokens",
    "llm.usage.cached_tokens",
    "cache_read_tokens",
    "agentscope.usage.cache_input_tokens",
    "ai.usage.inputTokenDetails.cacheReadTokens",
    "ai.usage.cachedInputTokens",
)
_CACHE_WRITE = (
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_write.input_tokens",
    "gen_ai.usage.cache_creation_input_tokens",
    "gen_ai.usage.cache_write_input_tokens",
    "gen_ai.usage.cache_write_tokens",
    "gen_ai.usage.cache_creation_tokens",
    "gen_ai.usage.input_tokens.cache_creation",
    "gen_ai.usage.input_tokens.cache_write",
    "gen_ai.usage.details.cache_write_tokens",
    "gen_ai.usage.details.cache_creation_input_tokens",
    "gen_ai.usage.prompt_tokens_details.cache_write",
    "llm.token_count.prompt_details.cache_write",
    "llm.usage.cache_creation_input_tokens",
    "cache_creation_tokens",
    "agentscope.usage.cache_creation_input_tokens",
    "ai.usage.inputTokenDetails.cacheWriteTokens",
)
_REASONING = (
    "gen_ai.usage.reasoning.output_tokens",
    "gen_ai.usage.reasoning_tokens",
    "gen_ai.usage.thinking_tokens",
    "gen_ai.usage.thoughts_tokens",
    "gen_ai.usage.details.reasoning_tokens",
    "gen_ai.usage.details.thoughts_tokens",
    "gen_ai.usage.experimental.reasoning_tokens",
    "gen_ai.usage.output_tokens.reasoning",
    "gen_ai.usage.completion_tokens_details.reasoning",
    "gen_ai.usage.completion_tokens_details.reasoning_tokens",
    "llm.token_count.completion_details.reasoning",
    "llm.usage.reasoning_tokens",
    "ai.usage.outputTokenDetails.reasoningTokens",
    "ai.usage.reasoningTokens",
)
_TOTAL = ("gen_ai.usage.total_tokens", "llm.token_count.total", "llm.usage.total_tokens", "ai.usage.totalTokens")
# JSON with all counts of a call.
COUNT_OBJECTS = (
    "langfuse.observation.usage_details",
    "langsmith.metadata.usage_metadata",
    "mlflow.chat.tokenUsage",
    "gen_ai.usage.raw",
    "gen_ai.usage.input_token_details",
    "gen_ai.usage.output_token_details",
    "genkit:output",
    "braintrust.metrics",
    "gcp.vertex.agent.llm_response",
    "metadata.usage_object",  # LiteLLM, as Python prints it
    "ai.response.providerMetadata",
)
_IN_OBJECTS: tuple[tuple[str, ...], ...] = (
    (
        "input_cache_read",
        "input_cached_tokens",
        "cache_read",
        "cached_tokens",
        "cache_read_input_tokens",
        "cacheReadInputTokens",
        "cachedContentTokens",
        "cachedContentTokenCount",
        "prompt_cached_tokens",
    ),
    (
        "input_cache_creation",
        "input_cache_write",
        "cache_creation",
        "cache_write_tokens",
        "cache_creation_input_tokens",
        "cacheWriteInputTokens",
        "prompt_cache_creation_tokens",
    ),
    (
        "output_reasoning",
        "output_reasoning_tokens",
        "reasoning",
        "reasoning_tokens",
        "thoughtsTokens",
        "thoughtsTokenCount",
        "completion_reasoning_tokens",
    ),
)
_TOTALS_IN_OBJECTS = ("total_tokens", "totalTokens", "totalTokenCount", "total")
_WITHIN = (
    "usage",
    "input_token_details",
    "output_token_details",
    "input_tokens_details",
    "output_tokens_details",
    "prompt_tokens_details",
    "completion_tokens_details",
)
# The vendor's usage in the metadata of the AI SDK, by the vendor's key. The SDK's own counts leave out what Bedrock and
# Anthropic cached, and what Gemini thought.
_VENDOR_USAGE = (
    ("anthropic", "usage"),
    ("bedrock", "usage"),
    ("google", "usageMetadata"),
    ("vertex", "usageMetadata"),
)
_UNCACHED = ("input_tokens", "inputTokens")
_WITHOUT_THOUGHTS = ("candidatesTokenCount",)
# Only these vendors write these names: other usages with `input_tokens` include what is cached.
_VENDOR_NAMES = frozenset(
    {"cache_creation_input_tokens", "cache_read_input_tokens", "cacheReadInputTokens", "candidatesTokenCount"}
)
_PARTS = (_CACHE_READ, _CACHE_WRITE, _REASONING)
PART_NAMES = frozenset[str]().union(*_PARTS, COUNT_OBJECTS)
"""The attributes of which a span has at least one, if it counts parts of the tokens."""
SERVED_MODEL_KEYS = ("gen_ai.response.model", "ai.response.model", "llm.response.model")
"""The attributes with the model that answered, which is the one to pay for."""


class TokenCounts(NamedTuple):
    """`cache_read` and `cache_write` are parts of `prompt`, `reasoning` of `completion`."""

    prompt: int = 0
    completion: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0


def counts_of(span: SpanView, prompt: int, completion: int) -> TokenCounts:
    """Return the counts of a call with the recorded `prompt` and `completion`.

    Some libraries leave the parts out of the two, as the vendor's answer does. Then the parts are larger than the
    whole, the recorded total has room for them, or the vendor's own count without the parts is the recorded one.
    """
    named = PART_NAMES.intersection(span.attributes)
    if not named:
        return TokenCounts(prompt, completion)
    counts = [span.count(*filter(named.__contains__, keys)) or 0 for keys in _PARTS]
    # Objects are parsed only if the attributes do not suffice.
    usages = [] if any(counts) else _usages(span, named)
    read, write, reasoning = _parts(usages) if usages else counts
    cached = read + write
    if not cached and not reasoning:
        return TokenCounts(prompt, completion)
    total = span.count(*_TOTAL) or _count(chain.from_iterable(map(_groups, usages)), _TOTALS_IN_OBJECTS)
    spare = max(0, (total or 0) - prompt - completion)
    if cached and (
        cached > prompt
        or spare >= cached
        or _is_counted(_usages(span, named), _UNCACHED, prompt)
        or _is_without_cache(span, prompt)
    ):
        prompt, spare = prompt + cached, spare - cached
    if reasoning and (
        reasoning > completion or spare >= reasoning or _is_counted(_usages(span, named), _WITHOUT_THOUGHTS, completion)
    ):
        completion += reasoning
    return TokenCounts(min(prompt, COUNT_MAX), min(completion, COUNT_MAX), read, write, reasoning)


def _is_without_cache(span: SpanView, prompt: int) -> bool:
    """Return whether the count has Claude Code's short name, by which it leaves out what the cache has."""
    return "cache_read_tokens" in span.attributes and span.count("input_tokens") == prompt


def _usages(span: SpanView, named: Container[str]) -> list[Mapping[str, Any]]:
    return [_recorded(span.attributes[key]) for key in COUNT_OBJECTS if key in named]


def _parts(recorded: Iterable[Mapping[str, Any]]) -> list[int]:
    """Return the tokens read from a cache, written to it, and spent on reasoning."""
    counts = [0] * len(_IN_OBJECTS)
    for usage in recorded:
        groups = _groups(usage)
        counts = [count or _count(groups, names) or 0 for count, names in zip(counts, _IN_OBJECTS, strict=True)]
    return counts


def _recorded(text: Any) -> Mapping[str, Any]:
    """Return the object with counts that an attribute has as JSON or Python's text; an empty one without any."""
    usage = recorded_container(text)
    if not isinstance(usage, dict):
        return {}
    for vendor, key in _VENDOR_USAGE:
        metadata = usage.get(vendor)
        if isinstance(metadata, dict) and isinstance(metadata.get(key), dict):
            return dict(metadata[key])
    metadata = usage.get("usageMetadata")
    return metadata if isinstance(metadata, dict) else usage


def _is_counted(recorded: Iterable[Mapping[str, Any]], names: Iterable[str], count: int) -> bool:
    """Return whether a vendor's usage has this count by one of these names, which leave the parts out."""
    counts = (integer(usage.get(name)) for usage in recorded if _is_vendors(usage) for name in names)
    return any(known == count for known in counts)


def _is_vendors(usage: Mapping[str, Any]) -> bool:
    """Return whether this is the usage of an answer of Anthropic, Bedrock or Gemini."""
    return not _VENDOR_NAMES.isdisjoint(usage)


def _groups(recorded: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return an object with counts, and the objects in it that have more of them."""
    usage = recorded.get("usage")
    inner: Mapping[str, Any] = usage if isinstance(usage, dict) else recorded
    return [inner, *(inner[key] for key in _WITHIN if isinstance(inner.get(key), dict))]


def _count(groups: Iterable[Mapping[str, Any]], names: Iterable[str]) -> int | None:
    counts = (integer(group.get(name)) for group in groups for name in names)
    return next((count for count in counts if count is not None and 0 <= count <= COUNT_MAX), None)


_FIRST_TOKEN: dict[str, float] = {
    "gen_ai.response.time_to_first_chunk": 1e3,
    "gen_ai.response.time_to_first_token": 1e3,
    "gen_ai.server.time_to_first_token": 1e3,
    "gen_ai.client.operation.time_to_first_chunk": 1e3,
    "ai.response.msToFirstChunk": 1.0,
    "ai.stream.msToFirstChunk": 1.0,
    "ttft_ms": 1.0,
}
"""Milliseconds in the unit of each attribute."""
# Strands writes its milliseconds to the attribute that the conventions have for seconds.
_IN_MILLISECONDS = "strands."
_FIRST_TOKEN_AT = "langfuse.observation.completion_start_time"  # noqa: S105 - an attribute's name


def first_token_ms(span: SpanView, start_ns: int, duration_ms: float) -> float | None:
    """Return the milliseconds from a call's start to its first token; None where they are not recorded."""
    recorded_ms = _recorded_ms(span)
    recorded_ms = _ms_since(span, start_ns) if recorded_ms is None else recorded_ms
    # A time after the call's end is no time of it: a clock, or a unit, that is another's.
    return round(recorded_ms, 3) if recorded_ms is not None and 0 <= recorded_ms <= duration_ms + 1 else None


def _recorded_ms(span: SpanView) -> float | None:
    for key, ms in _FIRST_TOKEN.items():
        value = span.attributes.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return value * (1.0 if span.scope.startswith(_IN_MILLISECONDS) else ms)
    return None


def _ms_since(span: SpanView, start_ns: int) -> float | None:
    text = span.text(_FIRST_TOKEN_AT)
    try:
        # Some write the text as JSON, in quotes.
        when = datetime.fromisoformat(text.strip('"')) if text else None
        return when.timestamp() * 1e3 - start_ns / 1e6 if when and when.tzinfo else None
    except (ValueError, OverflowError):
        return None
