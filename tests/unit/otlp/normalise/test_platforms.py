"""The spans of observation platforms: kinds, words, models and tokens in their own attributes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.otlp.normalise import NormalisedMessage, ToolUse
from tests.support.normalized_spans import normal

ASKED = json.dumps([{"role": "user", "content": "Hi"}])
HELLO = (NormalisedMessage("assistant", "Hello"),)
CALLS = {
    "braintrust": {
        "braintrust.span_attributes": '{"type": "llm", "name": "Completion"}',
        "braintrust.input_json": ASKED,
        "braintrust.output_json": '[{"message": {"role": "assistant", "content": "Hello"}}]',
        "braintrust.metadata": '{"model": "gpt-4o", "provider": "openai"}',
        "braintrust.metrics": '{"prompt_tokens": 7, "completion_tokens": 3}',
    },
    "braintrust, Anthropic's words": {
        "braintrust.span_attributes": '{"type": "llm"}',
        "braintrust.input_json": ASKED,
        "braintrust.output_json": '{"role": "assistant", "content": [{"type": "text", "text": "Hello"}]}',
        "braintrust.metadata": '{"model": "gpt-4o", "provider": "openai"}',
        "braintrust.metrics": '{"prompt_tokens": 7, "completion_tokens": 3}',
    },
    "cozeloop": {
        "cozeloop.span_type": "model",
        "cozeloop.input": json.dumps({"messages": json.loads(ASKED)}),
        "cozeloop.output": '{"choices": [{"message": {"role": "assistant", "content": "Hello"}}]}',
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.system": "openai",
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 3,
    },
    "langtrace": {
        "langtrace.service.type": "llm",
        "llm.model": "gpt-4o",
        "gen_ai.system": "openai",
        "llm.prompts": ASKED,
        "llm.responses": '[{"role": "assistant", "content": "Hello"}]',
        "llm.token.counts": '{"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}',
    },
    "voltagent": {
        "span.type": "llm",
        "entity.type": "agent",
        "llm.model": "gpt-4o",
        "llm.provider": "openai",
        "llm.messages": ASKED,
        "output": "Hello",
        "llm.usage.prompt_tokens": 7,
        "llm.usage.completion_tokens": 3,
    },
    "honeyhive": {
        "honeyhive_event_type": "model",
        "honeyhive_config.model": "gpt-4o",
        "honeyhive_config.provider": "openai",
        "honeyhive_inputs.chat_history": ASKED,
        "honeyhive_inputs.temperature": 0.2,
        "honeyhive_outputs.role": "assistant",
        "honeyhive_outputs.content": "Hello",
        "honeyhive_metadata.prompt_tokens": 7,
        "honeyhive_metadata.completion_tokens": 3,
    },
    "honeyhive, a function of one text": {
        "honeyhive_event_type": "model",
        "honeyhive_config.model": "gpt-4o",
        "honeyhive_config.provider": "openai",
        "honeyhive_inputs.question": "Hi",
        "honeyhive_inputs.retries": 3,
        "honeyhive_outputs.result": "Hello",
        "honeyhive_metrics.prompt_tokens": 7,
        "honeyhive_metrics.completion_tokens": 3,
    },
    "traceai": {
        "fi.span.kind": "LLM",
        "llm.model_name": "gpt-4o",
        "llm.provider": "openai",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "Hi",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "Hello",
        "llm.token_count.prompt": 7,
        "llm.token_count.completion": 3,
    },
    "traceai, later names": {
        "fi.span.kind": "LLM",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.provider.name": "openai",
        "gen_ai.input.messages.0.message.role": "user",
        "gen_ai.input.messages.0.message.content": "Hi",
        "gen_ai.output.messages.0.message.role": "assistant",
        "gen_ai.output.messages.0.message.content": "Hello",
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 3,
    },
    "cloudflare": {
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.model.provider": "openai",
        "gen_ai.prompt_json": ASKED,
        "gen_ai.completion_json": '{"choices": [{"message": {"role": "assistant", "content": "Hello"}}]}',
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 3,
    },
    "quarkus": {
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.system": "openai",
        "gen_ai.content.prompt": "Hi",
        "gen_ai.content.completion": "Hello",
        "gen_ai.usage.prompt_tokens": 7,
        "gen_ai.usage.completion_tokens": 3,
    },
}


@pytest.mark.parametrize("recorded", CALLS.values(), ids=CALLS)
def test_a_model_call_has_its_words_its_model_and_its_tokens(recorded: dict[str, Any]) -> None:
    call = normal(recorded)

    assert call.is_chat
    assert (call.input_messages, call.output_messages) == ((NormalisedMessage("user", "Hi"),), HELLO)
    assert (call.model, call.provider) == ("gpt-4o", "openai")
    assert (call.tokens.prompt, call.tokens.completion) == (7, 3)


@pytest.mark.parametrize(
    "recorded",
    [
        {
            "braintrust.span_attributes": '{"type": "tool"}',
            "braintrust.input": '{"city": "Oslo"}',
            "braintrust.output": "7",
        },
        {"cozeloop.span_type": "tool", "cozeloop.input": '{"city": "Oslo"}', "cozeloop.output": "7"},
        {"entity.type": "tool", "input": '{"city": "Oslo"}', "output": "7", "tool.name": "weather"},
        {
            "agentops.span.kind": "tool",
            "agentops.entity.name": "weather",
            "agentops.task.input": '{"args": [], "kwargs": {"city": "Oslo"}}',
            "agentops.task.output": "7",
        },
        {"fi.span.kind": "TOOL", "tool.name": "weather", "input.value": '{"city": "Oslo"}', "output.value": "7"},
        {"honeyhive_event_type": "tool", "honeyhive_inputs.city": "Oslo", "honeyhive_outputs.result": 7},
    ],
    ids=["braintrust", "cozeloop", "voltagent", "agentops", "traceai", "honeyhive"],
)
def test_a_tool_has_its_name_its_arguments_and_its_result(recorded: dict[str, Any]) -> None:
    ran = normal(recorded, name="weather")

    assert ran.is_tool
    assert ran.tool == ToolUse("weather", None, {"city": "Oslo"}, 7)


def test_a_result_of_honeyhive_has_the_values_within_it() -> None:
    result = {
        "honeyhive_outputs.result.city": "Oslo",
        "honeyhive_outputs.result.days.0.celsius": 4,
        "honeyhive_outputs.result.days.1.celsius": 5,
    }
    ran = normal({"honeyhive_event_type": "tool", "honeyhive_event_name": "weather"} | result, name="app.weather")

    assert ran.tool == ToolUse("weather", None, {}, {"city": "Oslo", "days": [{"celsius": 4}, {"celsius": 5}]})


@pytest.mark.parametrize("kind", ["tool", "model"])
def test_a_kind_that_honeyhive_guesses_is_no_kind(kind: str) -> None:
    assert normal({"honeyhive_event_type": kind, "http.request.method": "GET"}).operation == ""


@pytest.mark.parametrize("kind", ["web", "sql", "interaction"])
def test_kinds_that_other_programs_write_are_not_those_of_a_platform(kind: str) -> None:
    assert normal({"span.type": kind, "input": "Hi"}).operation == ""


@pytest.mark.parametrize("metadata", ["[", "7", '{"model": 7}', '"gpt"', "gpt", None])
def test_metadata_of_another_form_never_fails(metadata: Any) -> None:
    call = normal({"braintrust.span_attributes": '{"type": "llm"}', "braintrust.metadata": metadata})

    assert call.is_chat
    assert call.provider in (None, "7", "gpt", "[")


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"promptTokenCount": 7, "candidatesTokenCount": 3}, (7, 3)),
        ({"promptTokenCount": 7, "candidatesTokenCount": 3, "thoughtsTokenCount": 2}, (7, 5)),
        ({"prompt_token_count": 7, "candidates_token_count": 3}, (7, 3)),
        ({"promptTokenCount": 7, "candidatesTokenCount": -1}, (7, 0)),
        ({"promptTokenCount": "x"}, (0, 0)),
        ([], (0, 0)),
    ],
)
def test_adk_for_java_has_its_tokens_in_the_response_only(usage: Any, counts: tuple[int, int]) -> None:
    recorded = {
        "gcp.vertex.agent.llm_request": "{}",
        "gcp.vertex.agent.llm_response": json.dumps({"usageMetadata": usage, "usage_metadata": usage}),
    }

    tokens = normal(recorded, name="call_llm").tokens
    named = normal(recorded | {"gen_ai.usage.input_tokens": 1, "gen_ai.usage.output_tokens": 2}, name="call_llm").tokens

    assert (tokens.prompt, tokens.completion) == counts
    assert (named.prompt, named.completion) == (1, 2)


@pytest.mark.parametrize(("kind", "text"), [("application/json", "Hello"), ("text/plain", '"Hello"')])
def test_an_output_that_is_json_by_its_media_type_has_no_quotes(kind: str, text: str) -> None:
    recorded = {"openinference.span.kind": "LLM", "output.value": '"Hello"', "output.mime_type": kind}

    assert normal(recorded).output_messages == (NormalisedMessage("assistant", text),)
