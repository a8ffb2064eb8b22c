"""The tokens of caches and of reasoning are parts of the other counts, however a library counts them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.otlp.normalise import Normalised, SpanView, tokens
from app.otlp.normalise.convention import COUNT_MAX
from app.otlp.normalise.tokens import TokenCounts, counts_of, first_token_ms

READ, WRITTEN = "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_creation.input_tokens"
REASONING, TOTAL = "gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.total_tokens"


def view(attributes: dict[str, Any]) -> SpanView:
    return SpanView("chat", "", attributes)


@pytest.mark.parametrize(
    ("attributes", "counts"),
    [
        ({}, TokenCounts(100, 20)),
        ({READ: 60, REASONING: 15}, TokenCounts(100, 20, 60, 0, 15)),
        ({READ: 600, WRITTEN: 50}, TokenCounts(750, 20, 600, 50)),
        ({READ: 60, WRITTEN: 10, TOTAL: 190}, TokenCounts(170, 20, 60, 10)),
        ({REASONING: 15, TOTAL: 135}, TokenCounts(100, 35, 0, 0, 15)),
        ({REASONING: 300}, TokenCounts(100, 320, 0, 0, 300)),
        ({READ: 60, REASONING: 15, TOTAL: 195}, TokenCounts(160, 35, 60, 0, 15)),
        ({READ: 60, TOTAL: 120}, TokenCounts(100, 20, 60)),
        ({"ai.usage.cachedInputTokens": 7, "ai.usage.reasoningTokens": 3}, TokenCounts(100, 20, 7, 0, 3)),
        ({"llm.token_count.prompt_details.cache_read": 8}, TokenCounts(100, 20, 8)),
        (
            {"langfuse.observation.usage_details": '{"input_cache_read": 8, "output_reasoning": 2}'},
            TokenCounts(100, 20, 8, 0, 2),
        ),
        (
            {"langsmith.metadata.usage_metadata": '{"input_token_details": {"cache_read": 8, "cache_creation": 1}}'},
            TokenCounts(100, 20, 8, 1),
        ),
        (
            {"genkit:output": '{"usage": {"cachedContentTokens": 8, "thoughtsTokens": 2}}'},
            TokenCounts(100, 20, 8, 0, 2),
        ),
        ({"genkit:output": "[" * 100_000}, TokenCounts(100, 20)),
        ({"mlflow.chat.tokenUsage": '{"cache_read_input_tokens": "many"}'}, TokenCounts(100, 20)),
        ({READ: 10**13}, TokenCounts(100, 20)),
    ],
)
def test_parts_are_in_what_they_are_part_of(attributes: dict[str, Any], counts: TokenCounts) -> None:
    assert counts_of(view(attributes), 100, 20) == counts


READ_NAMES = [
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
]
WRITTEN_NAMES = [
    "agentscope.usage.cache_creation_input_tokens",
    "gen_ai.usage.input_tokens.cache_creation",
    "gen_ai.usage.input_tokens.cache_write",
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_write.input_tokens",
    "gen_ai.usage.cache_creation_input_tokens",
    "gen_ai.usage.cache_write_input_tokens",
    "gen_ai.usage.cache_write_tokens",
    "gen_ai.usage.cache_creation_tokens",
    "gen_ai.usage.details.cache_write_tokens",
    "gen_ai.usage.details.cache_creation_input_tokens",
    "gen_ai.usage.prompt_tokens_details.cache_write",
    "llm.token_count.prompt_details.cache_write",
    "llm.usage.cache_creation_input_tokens",
    "cache_creation_tokens",
    "ai.usage.inputTokenDetails.cacheWriteTokens",
]
REASONING_NAMES = [
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
]
KINDS = (READ_NAMES, TokenCounts(100, 20, 8)), (WRITTEN_NAMES, TokenCounts(100, 20, 0, 8))
NAMED = [
    (name, counts) for names, counts in (*KINDS, (REASONING_NAMES, TokenCounts(100, 20, 0, 0, 8))) for name in names
]


@pytest.mark.parametrize(("name", "counts"), NAMED)
def test_each_name_of_a_part_is_read(name: str, counts: TokenCounts) -> None:
    assert counts_of(view({name: 8}), 100, 20) == counts
    assert counts_of(view({name: "8"}), 100, 20) == counts
    assert counts_of(view({name: "many"}), 100, 20) == TokenCounts(100, 20)


@pytest.mark.parametrize(("short", "prompt"), [(100, 130), (130, 100), (None, 100)])
def test_a_count_with_claude_code_s_short_name_leaves_out_what_the_cache_has(short: int | None, prompt: int) -> None:
    attributes = {"input_tokens": short, "cache_read_tokens": 20, "cache_creation_tokens": 10}

    assert counts_of(view(attributes), 100, 5) == TokenCounts(prompt, 5, 20, 10)


def test_the_table_has_all_names_that_are_read() -> None:
    assert {name for name, _ in NAMED} == set().union(*tokens._PARTS)


@pytest.mark.parametrize(
    ("name", "usage"),
    [
        ("braintrust.metrics", {"prompt_cached_tokens": 8, "completion_reasoning_tokens": 2}),
        ("gcp.vertex.agent.llm_response", {"usageMetadata": {"cachedContentTokenCount": 8, "thoughtsTokenCount": 2}}),
        ("gen_ai.usage.raw", {"prompt_tokens_details": {"cached_tokens": 8}, "output_reasoning": 2}),
        ("metadata.usage_object", {"prompt_tokens_details": {"cached_tokens": 8}, "reasoning_tokens": 2}),
    ],
)
def test_parts_are_read_from_an_object_with_all_counts(name: str, usage: Any) -> None:
    assert counts_of(view({name: json.dumps(usage)}), 100, 20) == TokenCounts(100, 20, 8, 0, 2)


@pytest.mark.parametrize(
    ("attributes", "found"),
    [
        ({"gen_ai.response.time_to_first_chunk": 0.25}, 250),
        ({"gen_ai.server.time_to_first_token": 0.5}, 500),
        ({"ai.response.msToFirstChunk": 321.5}, 321.5),
        ({"langfuse.observation.completion_start_time": '"1970-01-01T00:00:01.125Z"'}, 125),
        ({"langfuse.observation.completion_start_time": "soon"}, None),
        ({"gen_ai.server.time_to_first_token": 500}, None),
        ({"ai.response.msToFirstChunk": float("nan")}, None),
        ({"ai.response.msToFirstChunk": -1}, None),
        ({}, None),
    ],
)
def test_the_time_to_the_first_token_is_in_milliseconds_and_within_the_call(
    attributes: dict[str, Any], found: float | None
) -> None:
    assert first_token_ms(view(attributes), 1_000_000_000, 2000) == found


def gemini(**usage: int) -> dict[str, Any]:
    return {"google": {"usageMetadata": usage}}


@pytest.mark.parametrize(
    ("metadata", "counts"),
    [
        # Anthropic's input_tokens leaves out what is cached, as the SDK does.
        ({"anthropic": {"usage": {"input_tokens": 200, "cache_read_input_tokens": 20}}}, TokenCounts(220, 30, 20)),
        # The SDK has added them already.
        (
            {"anthropic": {"usage": {"input_tokens": 180, "cache_read_input_tokens": 20}}},
            TokenCounts(200, 30, 20, 0, 0),
        ),
        (
            gemini(candidatesTokenCount=30, thoughtsTokenCount=7),
            TokenCounts(200, 37, 0, 0, 7),
        ),
        (
            gemini(candidatesTokenCount=23, thoughtsTokenCount=7),
            TokenCounts(200, 30, 0, 0, 7),
        ),
        ({"openai": {"usage": {"input_tokens": 200}}}, TokenCounts(200, 30)),
        ({"anthropic": "text", "google": None}, TokenCounts(200, 30)),
        ([1], TokenCounts(200, 30)),
    ],
)
def test_the_vendors_usage_in_the_ai_sdks_metadata(metadata: Any, counts: TokenCounts) -> None:
    attributes = {"ai.response.providerMetadata": json.dumps(metadata)}
    assert counts_of(view(attributes), 200, 30) == counts


@pytest.mark.parametrize(
    ("usage", "prompt", "completion"),
    [
        ('{"input": 3, "output": 2}', 3, 2),
        ('{"input": -3, "output": 2}', 0, 2),
        (f'{{"input": {COUNT_MAX + 1}, "input_tokens": 3, "output": 1e300}}', 3, 0),
        (f'{{"input": 3, "input_cached": {2**64}, "input_audio": 4}}', 7, 0),
        (f'{{"input": {COUNT_MAX}, "input_cached": {COUNT_MAX}}}', COUNT_MAX, 0),
    ],
)
def test_a_platforms_counts_are_at_most_what_is_believed(usage: str, prompt: int, completion: int) -> None:
    span = {"langfuse.observation.type": "generation", "langfuse.observation.usage_details": usage}

    assert Normalised(view(span)).tokens[:2] == (prompt, completion)
