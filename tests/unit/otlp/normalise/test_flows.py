"""Langflow, NeMo Guardrails, answers in events without choices, and results that are marked as errors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.otlp.normalise import Normalised, SpanView, ToolResponse
from app.otlp.normalise.convention import Event
from app.otlp.normalise.toolio import is_marked_as_error

ODD = [None, 7, True, "[{", "[]", "{}", '{"Chat Output (a)": 7}', '{"Chat Output (a)": {"message": 7}}']


def normal(attributes: dict[str, Any], *events: Event, failed: bool = False) -> Normalised:
    return Normalised(SpanView("span", "scope", attributes, lambda: list(events), failed=failed))


@pytest.mark.parametrize("value", ODD)
def test_a_flow_of_langflow_with_odd_values_has_no_words(value: Any) -> None:
    flow = normal({"langflow.trace_type": "chain", "outputs": value})
    question = normal({"trace_type": "chain", "trace_name": "Chat Input (a)", "inputs": value})

    assert flow.is_agent
    assert question.is_agent
    assert flow.output_messages is None
    assert question.input_messages is None


def test_a_component_of_langflow_is_no_agent() -> None:
    assert not normal({"trace_type": "chain", "trace_name": "Prompt (a)", "inputs": "{}"}).is_agent


@pytest.mark.parametrize("content", [None, 7, "", ["a"]])
def test_a_guarded_request_without_words_has_none(content: Any) -> None:
    guarded = normal(
        {"span.kind": "server", "gen_ai.operation.name": "guardrails"},
        ("guardrails.user_message", {"content": content}),
        ("guardrails.utterance.bot.started", {"content": content}),
    )

    assert guarded.is_agent
    assert (guarded.input_messages, guarded.output_messages) == (None, None)


CALL = {"gen_ai.operation.name": "responses", "gen_ai.request.model": "m"}
ASKED: Event = ("gen_ai.user.message", {"gen_ai.event.content": '{"text": "Hi"}'})
SAID: Event = ("gen_ai.assistant.message", {"gen_ai.event.content": '{"text": "Hello"}'})


@pytest.mark.parametrize(
    ("events", "failed", "given", "answered"),
    [
        ((ASKED, SAID), False, ["Hi"], ["Hello"]),
        ((ASKED, SAID, ("exception", {})), False, ["Hi"], ["Hello"]),
        ((ASKED, SAID, ASKED), False, ["Hi", "Hello", "Hi"], []),
        ((ASKED, SAID), True, ["Hi", "Hello"], []),
        ((SAID,), False, ["Hello"], []),
        ((ASKED, SAID, ("gen_ai.choice", {"message": "Bye"})), False, ["Hi", "Hello"], ["Bye"]),
    ],
)
def test_the_last_messages_of_a_model_are_answers_if_there_is_no_choice(
    events: tuple[Event, ...], failed: bool, given: list[str], answered: list[str]
) -> None:
    call = normal(CALL, *events, failed=failed)

    assert [message.text for message in call.input_messages or ()] == given
    assert [message.text for message in call.output_messages or ()] == answered


@pytest.mark.parametrize(
    ("listed", "responses"),
    [
        ([{"type": "function", "id": "a", "output": {"sky": "rain"}}], [ToolResponse("a", "", {"sky": "rain"})]),
        (
            [{"id": "a", "output": "x"}, 7, {"id": "b", "output": "y"}],
            [ToolResponse("a", "", "x"), ToolResponse("b", "", "y")],
        ),
        ([{"id": 7}], []),
        (7, []),
        ([], []),
    ],
)
def test_results_of_several_tools_in_one_event_are_read(listed: Any, responses: list[ToolResponse]) -> None:
    event: Event = ("gen_ai.tool.message", {"gen_ai.event.content": json.dumps({"tool_call_outputs": listed})})

    messages = normal(CALL, event).input_messages or ()

    assert [response for message in messages for response in message.responses] == responses


@pytest.mark.parametrize(
    ("result", "marked"),
    [
        ({"content": [{"type": "text", "text": "no"}], "isError": True}, True),
        ('{"content": "no", "is_error": true}', True),
        ({"content": "no", "tool_call_id": "c", "status": "error"}, True),
        ({"content": "no", "status": "error"}, False),
        ({"content": "no", "isError": "true"}, False),
        ({"isError": True}, False),
        ("isError", False),
        ('{"content": "isError', False),
        (None, False),
        (7, False),
    ],
)
def test_a_result_is_an_error_if_it_is_marked_as_one(result: Any, marked: bool) -> None:
    assert is_marked_as_error(result) is marked


@pytest.mark.parametrize(("field", "read"), [({"city": "Oslo"}, {"city": "Oslo"}), ({}, {})])
def test_the_attributes_of_an_event_are_the_arguments_of_a_tool(field: dict[str, Any], read: Any) -> None:
    ran = normal(
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"},
        ("gen_ai.tool.input", field),
        ("gen_ai.tool.output", {"sky": "rain"}),
    )

    assert (ran.tool.arguments, ran.tool.result) == (read, {"sky": "rain"})


@pytest.mark.parametrize("action", [7, {"city": "Oslo"}, {"kind": 7, "city": "Oslo"}])
def test_an_argument_named_action_stays(action: Any) -> None:
    ran = normal({"lmnr.span.type": "TOOL", "lmnr.span.input": json.dumps({"action": action})})
    assert ran.tool.arguments == {"action": action}
