"""Spans in names that only their library has."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.chat import ToolCall
from app.otlp.normalise import NormalisedMessage, SpanView
from app.otlp.normalise.own_names import in_common_names
from tests.support.normalized_spans import normal

ASKED = [{"role": "user", "content": "Hello?"}]


@pytest.mark.parametrize(
    ("names", "ends"),
    [
        (("acme.span.kind", "acme.input", "acme.output"), ("acme.model", "acme.usage.input_tokens")),
        (("acme.span_type", "acme.inputs", "acme.outputs"), ("acme.llm.model", "acme.usage.prompt_tokens")),
        (("acme.span.type", "acme.span.input", "acme.span.output"), ("acme.model_name", "acme.llm.input_token_count")),
        (("span_type", "inputs", "output"), ("llm.response.model", "llm.usage.prompt_tokens")),
    ],
)
@pytest.mark.parametrize("kind", ["llm", "LLM", "generation"])
def test_a_model_call_is_read_by_the_ends_of_its_names(
    names: tuple[str, str, str], ends: tuple[str, str], kind: str
) -> None:
    attributes = {names[0]: kind, names[1]: json.dumps({"messages": ASKED}), names[2]: "Hi.", ends[0]: "m", ends[1]: 7}

    span = normal(attributes)

    assert span.is_chat
    assert (span.model, span.tokens.prompt) == ("m", 7)
    assert span.input_messages == (NormalisedMessage("user", "Hello?"),)
    assert span.output_messages == (NormalisedMessage("assistant", "Hi."),)


def test_a_tool_has_the_name_that_its_library_recorded() -> None:
    recorded = {
        "acme.span.type": "tool",
        "acme.tool.name": "look",
        "acme.span.input": '{"a": 1}',
        "acme.span.output": "2",
    }

    use = normal(recorded, name="wrapper").tool

    assert (use.name, use.arguments, use.result) == ("look", {"a": 1}, 2)
    assert normal({"acme.span.type": "tool"}, name="look").tool_name == "look"


def test_tokens_that_are_counted_without_the_cache_are_summed() -> None:
    counts = {"non_cached_input_tokens": 5, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 2}

    tokens = normal({"acme.span_kind": "llm"} | {f"acme.usage.{name}": count for name, count in counts.items()}).tokens

    assert (tokens.prompt, tokens.cache_read, tokens.cache_write) == (10, 3, 2)


def test_an_operation_that_is_the_name_of_the_span_is_none() -> None:
    recorded = {"gen_ai.operation.name": "look", "acme.span.kind": "tool", "gen_ai.tool.name": "look"}

    assert normal(recorded).operation == "execute_tool"
    assert normal(recorded | {"gen_ai.operation.name": "embeddings"}).operation == "embeddings"
    assert normal({"gen_ai.operation.name": "look"}).operation == "look"


@pytest.mark.parametrize(
    "attributes",
    [
        *({"span.kind": "client"}, {"acme.span.kind": "chain"}, {"acme.span.kind": 7}, {"acme.span.kind": "l" * 10**6}),
        *({"acme.kind": "llm"}, {"acme.span.kind": ["llm"]}, {"http.request.method": "GET"}, {}),
    ],
)
def test_spans_that_show_no_kind_are_left_as_they_are(attributes: dict[str, Any]) -> None:
    assert in_common_names(SpanView("span", "test", attributes)) is None
    assert not normal(attributes).operation


def test_a_span_that_is_named_after_a_model_call_needs_words() -> None:
    words = {"input": json.dumps({"messages": ASKED}), "output": "Hi.", "usage": json.dumps({"input_tokens": 7})}

    span = normal(words, name="model_call")

    assert span.is_chat
    assert span.tokens.prompt == 7
    assert not normal({}, name="model_call").operation
    assert not normal(words, name="anything").operation


def test_values_are_spread_over_attributes_below_their_name() -> None:
    asked = {"acme.data.inputs.prompt.0.role": "user", "acme.data.inputs.prompt.0.content": "Hello?"}
    call = '@ag.type=json:{"id": "c1", "function": {"name": "look", "arguments": "{}"}}'
    answered = {"acme.data.outputs.completion.0.tool_calls.0": call}

    span = normal({"acme.type.node": "chat", **asked, **answered})

    assert span.input_messages == (NormalisedMessage("user", "Hello?"),)
    assert span.output_messages == (NormalisedMessage("assistant", None, (ToolCall("c1", "look", {}),)),)


def test_a_tool_has_arguments_and_a_result_below_their_names() -> None:
    node = {"acme.type.node": "tool", "acme.data.inputs.city": "Oslo"}

    use = normal(node | {"acme.data.outputs.sky": "rain"}, name="look").tool

    assert (use.name, use.arguments, use.result) == ("look", {"city": "Oslo"}, {"sky": "rain"})
    assert normal(node | {"acme.data.outputs.__default__": "rain"}).tool.result == "rain"


@pytest.mark.parametrize("ends", [("entity.name", "entity.input"), ("tool_name", "span.input")])
def test_a_tool_is_named_by_its_entity(ends: tuple[str, str]) -> None:
    use = normal({"acme.span.kind": "tool", f"acme.{ends[0]}": "look", f"acme.{ends[1]}": '{"a": 1}'}, name="x").tool

    assert (use.name, use.arguments) == ("look", {"a": 1})


def test_a_traced_model_call_has_its_request_as_input_and_its_completion_as_output() -> None:
    completion = {
        "object": "chat.completion",
        "choices": [{"message": {"role": "assistant", "content": "Hi."}}],
        "usage": {"prompt_tokens": 4, "completion_tokens": 2},
    }
    words = {"input.value": json.dumps({"messages": ASKED}), "output.value": json.dumps(completion)}

    span = normal(words | {"span_type": "function_call_async"}, name="LLM call")

    assert span.is_chat
    assert span.tokens[:2] == (4, 2)
    assert span.output_messages == (NormalisedMessage("assistant", "Hi."),)
    assert not normal(words, name="handle request").is_chat
