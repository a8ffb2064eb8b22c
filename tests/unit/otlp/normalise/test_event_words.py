"""Words and tokens in events of which the names show what they are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.chat import ToolCall
from app.otlp.normalise import Normalised, NormalisedMessage, SpanView
from app.otlp.normalise.convention import Event

ARGUMENTS = {"city": "Oslo"}


def with_events(attributes: dict[str, Any], *events: Event, name: str = "span") -> Normalised:
    return Normalised(SpanView(name, "acme", attributes, lambda: list(events)))


@pytest.mark.parametrize("kind", [{"span.type": "inference"}, {"acme.operation.type": "llm.invoke"}])
def test_the_words_of_a_model_call_are_in_events(kind: dict[str, Any]) -> None:
    texts = [json.dumps({"system": "Be brief."}), json.dumps({"human": "Hello?"})]

    span = with_events(
        kind, ("data.input", {"input": texts}), ("data.output", {"response": json.dumps({"ai": "Hi."}), "other": 1})
    )

    assert span.is_chat
    assert span.input_messages == (NormalisedMessage("system", "Be brief."), NormalisedMessage("user", "Hello?"))
    assert span.output_messages == (NormalisedMessage("assistant", "Hi."),)


def test_a_call_has_the_role_of_the_model_as_its_key() -> None:
    asked = {"tool_id": "c1", "tool_name": "look", "tool_arguments": json.dumps(ARGUMENTS)}

    span = with_events({"span.type": "inference"}, ("data.output", {"response": json.dumps({"tools": [asked]})}))

    assert span.output_messages == (NormalisedMessage("assistant", None, (ToolCall("c1", "look", ARGUMENTS),)),)


def test_an_event_has_the_role_of_its_text() -> None:
    prompt = ("ai.prompt", {"ai.prompt.role": "system", "ai.prompt.content": "Be brief."})

    span = with_events({"ai.operation.type": "llm.invoke"}, prompt, ("ai.completion", {"ai.completion.content": "Hi."}))

    assert span.input_messages == (NormalisedMessage("system", "Be brief."),)
    assert span.output_messages == (NormalisedMessage("assistant", "Hi."),)


@pytest.mark.parametrize(
    ("attributes", "events"),
    [
        ({"acme.operation.type": "tool.invoke"}, [("a.input", {"a.input": ARGUMENTS}), ("a.output", {"a.output": 1})]),
        (
            {"span.type": "agentic.tool.invocation"},
            [("data.input", {"input": str(ARGUMENTS)}), ("done", {"result": 1})],
        ),
        ({"tool.name": "look"}, [("tool_call", {"tool.args": json.dumps(ARGUMENTS)}), ("done", {"tool.result": "1"})]),
    ],
)
def test_the_words_of_a_tool_are_in_events(attributes: dict[str, Any], events: list[Event]) -> None:
    span = with_events(attributes, ("exception", {"exception.input": "no word of the tool"}), *events, name="look")

    assert span.is_tool
    assert (span.tool.name, span.tool.arguments, span.tool.result) == ("look", ARGUMENTS, 1)


def test_a_bare_type_of_another_program_is_no_model_call() -> None:
    assert not with_events({"span.type": "inference"}, ("cache.hit", {"key": "a"})).is_chat


def test_a_span_that_names_a_tool_and_is_named_after_something_else_is_no_tool() -> None:
    assert not with_events({"tool.name": "look"}, name="register tools").is_tool
    assert with_events({"tool.name": "look", "tool.call_id": "c1"}, name="runtime.tool.call").is_tool


def test_tokens_of_a_model_call_are_in_an_event() -> None:
    chat = {"gen_ai.operation.name": "chat"}
    counts = {"gen_ai.usage.input_tokens": 40, "gen_ai.usage.output_tokens": 17, "gen_ai.usage.thoughts_tokens": 10}

    assert with_events(chat, ("gen_ai.usage", counts)).tokens == (40, 17, 0, 0, 10)
    assert with_events(chat, ("metadata", {"prompt_tokens": 4, "completion_tokens": 2})).tokens[:2] == (4, 2)
    assert with_events(chat | {"gen_ai.usage.input_tokens": 1}, ("gen_ai.usage", counts)).tokens[:2] == (1, 0)
    assert with_events(chat, ("metadata", {"prompt_tokens": "many"})).tokens == (0, 0, 0, 0, 0)


def test_messages_are_spread_over_an_event() -> None:
    asked = ("gen_ai.user.message", {"messages.0.role": "user", "messages.0.content": "Hello?"})
    again = {"messages.0.role": "user", "messages.0.content": "Hello?", "messages.1.role": "tool"}
    answered = ("gen_ai.assistant.message", {"choices.0.message.role": "assistant", "choices.0.message.content": "Hi."})

    span = with_events({"gen_ai.operation.name": "chat"}, asked, ("gen_ai.tool.message", again), answered)

    assert [message.role for message in span.input_messages or ()] == ["user", "tool"]
    assert span.output_messages == (NormalisedMessage("assistant", "Hi."),)


def test_an_event_with_details_has_plain_texts() -> None:
    details = {"gen_ai.input.messages": "Hello?", "gen_ai.output.messages": "Hi."}

    span = with_events({"gen_ai.operation.name": "chat"}, ("gen_ai.client.inference.operation.details", details))

    assert span.input_messages == (NormalisedMessage("user", "Hello?"),)
    assert span.output_messages == (NormalisedMessage("assistant", "Hi."),)
