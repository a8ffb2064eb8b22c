"""Mastra's messages, and those of agents, workflows and turns around model calls."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.chat import ToolCall
from app.otlp.decode import decode
from app.otlp.normalise import NormalisedMessage, ToolUse
from app.sessions.build import build_session
from app.sessions.types import Turn
from tests.support.exports import export, pairs_of, span
from tests.support.normalized_spans import normal

ASKED = [{"role": "user", "content": "Hi"}]
CHAT = {"gen_ai.operation.name": "chat"}


@pytest.mark.parametrize("asked", ["Hi", json.dumps(ASKED), json.dumps({"messages": ASKED}), str(ASKED)])
@pytest.mark.parametrize("kind", ["agent_run", "model_generation", "workflow_run"])
def test_mastra_names_the_input_by_the_kind_of_its_span(asked: str, kind: str) -> None:
    recorded = {"mastra.span.type": kind, f"mastra.{kind}.input": asked, f"mastra.{kind}.output": '{"text": "Hello"}'}

    agent = normal(recorded)

    assert agent.is_agent
    assert agent.input_messages == (NormalisedMessage("user", "Hi"),)
    assert agent.output_messages == (NormalisedMessage("assistant", "Hello"),)


def test_mastra_s_tools_have_arguments_and_a_result() -> None:
    recorded = {"mastra.span.type": "tool_call", "mastra.tool_call.input": '{"a": 1}', "mastra.tool_call.output": "2"}

    assert normal(recorded).tool == ToolUse(None, None, {"a": 1}, 2)
    assert normal({"mastra.span.type": "agent_run", "mastra.agent_run.input": "Hi"}).tool == ToolUse()


def turn(*spans: dict[str, Any]) -> Turn:
    (built,) = build_session([decode(export(*spans)).spans])
    return built


def around(operation: str, number: int, parent: int | None = None, output: str = "Hello") -> dict[str, Any]:
    recorded = {
        "gen_ai.operation.name": operation,
        "gen_ai.input.messages": json.dumps(ASKED),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "content": output}] if output else []),
    }
    return span(recorded, spanId=f"{number:016x}", **({"parentSpanId": f"{parent:016x}"} if parent else {}))


@pytest.mark.parametrize("operation", ["invoke_agent", "invoke_workflow", "handle_conversation_turn"])
def test_the_words_around_model_calls_without_any_are_the_turn_s(operation: str) -> None:
    built = turn(around(operation, 1), span({"gen_ai.operation.name": "chat"}, spanId=f"{2:016x}"))

    assert (built.user, [step.text for step in built.steps]) == ("Hi", ["Hello"])
    assert built.warnings == ()


def test_the_answer_is_that_of_the_outermost_with_an_answer() -> None:
    both = turn(around("invoke_workflow", 1), around("invoke_agent", 2, 1, "Inner"))
    inner = turn(around("invoke_workflow", 1, output=""), around("invoke_agent", 2, 1, "Inner"))

    assert [step.text for step in both.steps] == ["Hello"]
    assert [step.text for step in inner.steps] == ["Inner"]


@pytest.mark.parametrize("text", ["Hello", '["Hello"]', '["Hel", "lo"]'])
def test_sentry_has_the_text_and_the_calls_of_a_response_in_an_attribute_each(text: str) -> None:
    calls = [{"id": "c", "type": "function", "function": {"name": "t", "arguments": '{"a": 1}'}}]
    recorded = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.messages": json.dumps(ASKED),
        "gen_ai.response.text": text,
        "gen_ai.response.tool_calls": json.dumps(calls),
        "gen_ai.request.available_tools": '[{"name": "t"}]',
    }

    call = normal(recorded)

    assert call.input_messages == (NormalisedMessage("user", "Hi"),)
    assert call.output_messages == (NormalisedMessage("assistant", "Hello", (ToolCall("c", "t", {"a": 1}),)),)
    assert call.definitions == [{"name": "t"}]


@pytest.mark.parametrize("calls", ["{", "7", "[7]", '{"name": "t"}'])
def test_sentry_s_calls_of_another_form_never_hide_the_text(calls: str) -> None:
    recorded = {"gen_ai.operation.name": "chat", "gen_ai.response.text": "Hello", "gen_ai.response.tool_calls": calls}

    assert normal(recorded).output_messages == (NormalisedMessage("assistant", "Hello"),)


@pytest.mark.parametrize(("operation", "kind"), [("agent_call", "invoke_agent"), ("user_prompt", "invoke_agent")])
def test_gemini_cli_has_its_own_operations(operation: str, kind: str) -> None:
    assert normal({"gen_ai.agent.name": "gemini-cli", "gen_ai.operation.name": operation}).operation == kind
    assert normal({"gen_ai.agent.name": "other", "gen_ai.operation.name": operation}).operation == operation


def test_the_pieces_of_gemini_cli_s_stream_are_one_answer() -> None:
    pieces = [{"role": "model", "parts": [{"text": text}]} for text in ("Hel", "lo")]
    recorded = {"gen_ai.agent.name": "gemini-cli", "gen_ai.output.messages": json.dumps(pieces)}

    assert normal(recorded | {"gen_ai.operation.name": "llm_call"}).output_messages == (
        NormalisedMessage("assistant", "Hello"),
    )
    several = normal({"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps(pieces)})
    assert [message.text for message in several.output_messages or ()] == ["Hel", "lo"]


def test_azure_s_message_of_the_model_is_an_event_of_the_run() -> None:
    body = {"role": "assistant", "content": {"text": {"value": "Hello"}}}
    event = {
        "name": "gen_ai.assistant.message",
        "timeUnixNano": "1",
        "attributes": pairs_of({"gen_ai.event.content": json.dumps(body)}),
    }
    recorded = {"gen_ai.thread.id": "t", "gen_ai.operation.name": "process_thread_run"}

    built = turn(span(recorded, events=[event, event | {"attributes": []}]))

    assert [step.text for step in built.steps] == ["Hello"]
    assert built.conversation_id == "t"


@pytest.mark.parametrize("asked", ["Hi", json.dumps(ASKED), str(ASKED)])
def test_plain_input_and_output_are_the_words_of_a_model_call_without_others(asked: str) -> None:
    recorded = {"gen_ai.operation.name": "chat", "input": asked, "output": "Hello", "tools": '[{"name": "t"}]'}

    call = normal(recorded)

    assert call.input_messages == (NormalisedMessage("user", "Hi"),)
    assert call.output_messages == (NormalisedMessage("assistant", "Hello"),)
    assert call.definitions == [{"name": "t"}]
    named = normal(recorded | {"gen_ai.output.messages": '[{"role": "assistant", "content": "Other"}]'})
    assert named.output_messages == (NormalisedMessage("assistant", "Other"),)


@pytest.mark.parametrize("key", ["gen_ai.response.content", "gen_ai.response.output", "gen_ai.output"])
def test_words_are_read_in_attributes_that_the_conventions_lack(key: str) -> None:
    span = normal({"gen_ai.operation.name": "chat", "gen_ai.request.input": "Hi", key: "Hello"})

    assert span.input_messages == (NormalisedMessage("user", "Hi"),)
    assert span.output_messages == (NormalisedMessage("assistant", "Hello"),)


def test_an_output_may_be_calls_by_their_names() -> None:
    calls = [{"tool.name": "t", "tool.args": '{"a": 1}'}, {"tool.name": "u", "tool.args": {"a": 1}}, 7]

    recorded = {"gen_ai.operation.name": "call_llm", "gen_ai.output": json.dumps(calls), "gen_ai.output.type": "json"}

    expected = (ToolCall("", "t", {"a": 1}), ToolCall("", "u", {"a": 1}))
    assert [message.calls for message in normal(recorded).output_messages or ()] == [expected]
    typed = [
        normal(recorded | {"gen_ai.output.type": "text"}),
        normal(CHAT | {"gen_ai.response.content": json.dumps(calls)}),
    ]
    assert not any(message.calls for span in typed for message in span.output_messages or ())


@pytest.mark.parametrize("key", ["gen_ai.request.messages", "gen_ai.response.content", "gen_ai.response.text"])
def test_a_model_with_words_is_a_model_call(key: str) -> None:
    assert normal({"gen_ai.request.model": "m", key: "[]"}).is_chat
    assert not normal({"gen_ai.request.model": "m"}).operation


@pytest.mark.parametrize("ends", [("args", "result"), ("arguments", "output"), ("input", "result")])
def test_a_span_with_what_a_tool_was_given_is_a_tool(ends: tuple[str, str]) -> None:
    given, result = ends

    span = normal({"tool.name": "t", "tool.call_id": "c", f"tool.{given}": '{"a": 1}', f"tool.{result}": "2"})

    assert (span.operation, span.recorded_id) == ("execute_tool", "c")
    assert span.tool == ToolUse("t", "c", {"a": 1}, 2)
    assert not normal({"tool.name": "t", "tool.status": "ok"}).operation
    assert not normal({f"tool.{given}": "1"}).operation


def test_a_tool_without_an_operation_has_plain_names_of_input_and_output() -> None:
    recorded = {"gen_ai.tool.name": "t", "input": '{"a": 1}', "output": "2"}

    assert normal(recorded).tool == ToolUse("t", None, {"a": 1}, 2)
    assert normal(recorded | {"gen_ai.operation.name": "execute_tool"}).tool == ToolUse("t")


def test_arguments_beside_a_message_of_them_are_the_input() -> None:
    prompt = {"messages": [{"role": "user", "content": '{"a": 1}'}], "input": '{"a": 1}'}
    recorded = {"langsmith.span.kind": "tool", "gen_ai.operation.name": "tool", "gen_ai.prompt": json.dumps(prompt)}

    assert normal(recorded, name="t").tool == ToolUse("t", None, {"a": 1})
