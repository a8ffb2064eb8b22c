"""Messages of every vendor and framework read alike."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.chat import ToolCall
from app.otlp.normalise.media import Media
from app.otlp.normalise.messages import Memo, NormalisedMessage, read_messages, read_text
from app.otlp.normalise.responses import ToolResponse

PARIS = ToolCall("c1", "get_weather", {"city": "Paris"})
USER = NormalisedMessage("user", "Hi")
ASSISTANT = NormalisedMessage("assistant", "Hello", (PARIS,))
TOLD = NormalisedMessage("tool", responses=(ToolResponse("c1", result=18),))
TOLD_BY_USER = NormalisedMessage("user", responses=TOLD.responses)

SHAPES: dict[str, tuple[Any, list[NormalisedMessage]]] = {
    "GenAI parts": (
        [
            {"role": "user", "parts": [{"type": "text", "content": "Hi"}]},
            {
                "role": "assistant",
                "parts": [
                    {"type": "text", "content": "Hello"},
                    {"type": "tool_call", "id": "c1", "name": "get_weather", "arguments": {"city": "Paris"}},
                ],
                "finish_reason": "tool_call",
            },
        ],
        [USER, ASSISTANT],
    ),
    "OpenAI chat": (
        {
            "model": "gpt",
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "image_url", "image_url": {}}]},
                {
                    "role": "assistant",
                    "content": "Hello",
                    "tool_calls": [
                        {
                            "id": "c1",
                            "type": "function",
                            "function": {"name": "get_weather", "arguments": '{"city":"Paris"}'},
                        }
                    ],
                },
            ],
        },
        [NormalisedMessage("user", "Hi", media=(Media("image"),)), ASSISTANT],
    ),
    "OpenAI response": (
        {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}}], "usage": {}},
        [NormalisedMessage("assistant", "Hello")],
    ),
    "OpenAI Responses items": (
        [
            {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
            {"type": "reasoning", "summary": []},
            {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "c1",
                "name": "get_weather",
                "arguments": '{"city":"Paris"}',
            },
            {"type": "function_call_output", "call_id": "c1", "output": "18"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]},
        ],
        [
            USER,
            NormalisedMessage("assistant"),
            NormalisedMessage("assistant", None, (PARIS,)),
            TOLD,
            NormalisedMessage("assistant", "Hello"),
        ],
    ),
    "Anthropic": (
        [
            {"role": "user", "content": "Hi"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm"},
                    {"type": "text", "text": "Hello"},
                    {"type": "tool_use", "id": "c1", "name": "get_weather", "input": {"city": "Paris"}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "18"}]},
        ],
        [USER, NormalisedMessage("assistant", "Hello", (PARIS,), "hm"), TOLD_BY_USER],
    ),
    "Gemini": (
        {
            "contents": [
                {"role": "user", "parts": [{"text": "Hi"}]},
                {
                    "role": "model",
                    "parts": [
                        {"text": "hm", "thought": True},
                        {"text": "Hel"},
                        {"text": "lo"},
                        {"function_call": {"id": "c1", "name": "get_weather", "args": {"city": "Paris"}}},
                    ],
                },
                {"role": "user", "parts": [{"function_response": {"name": "get_weather", "response": {}}}]},
            ]
        },
        [
            USER,
            NormalisedMessage("assistant", "Hello", (PARIS,), "hm"),
            NormalisedMessage("user", responses=(ToolResponse("", "get_weather", {}),)),
        ],
    ),
    "Bedrock": (
        [
            {"role": "user", "content": [{"text": "Hi"}]},
            {
                "role": "assistant",
                "content": [
                    {"text": "Hello"},
                    {"toolUse": {"toolUseId": "c1", "name": "get_weather", "input": {"city": "Paris"}}},
                ],
            },
            {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "18"}]}}]},
        ],
        [USER, ASSISTANT, TOLD_BY_USER],
    ),
    "Vercel": (
        [
            {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Hello"},
                    {"type": "tool-call", "toolCallId": "c1", "toolName": "get_weather", "args": {"city": "Paris"}},
                ],
            },
            {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c1", "result": 18}]},
        ],
        [USER, ASSISTANT, TOLD],
    ),
    "LangChain messages": (
        {
            "messages": [
                [
                    {"type": "human", "content": "Hi"},
                    {
                        "type": "ai",
                        "content": "Hello",
                        "tool_calls": [{"name": "get_weather", "args": {"city": "Paris"}, "id": "c1"}],
                    },
                ]
            ]
        },
        [USER, ASSISTANT],
    ),
    "LangChain constructors": (
        [
            {
                "lc": 1,
                "type": "constructor",
                "id": ["langchain", "schema", "messages", "HumanMessage"],
                "kwargs": {"content": "Hi", "type": "human"},
            },
            {
                "lc": 1,
                "type": "constructor",
                "id": ["langchain", "schema", "messages", "AIMessage"],
                "kwargs": {
                    "content": "Hello",
                    "tool_calls": [{"name": "get_weather", "args": {"city": "Paris"}, "id": "c1", "type": "tool_call"}],
                },
            },
        ],
        [USER, ASSISTANT],
    ),
    "LangChain generations": (
        {"generations": [[{"text": "Hello", "message": {"type": "ai", "content": "Hello"}}]]},
        [NormalisedMessage("assistant", "Hello")],
    ),
    "pydantic-ai events": (
        [
            {"event.name": "gen_ai.user.message", "role": "user", "content": "Hi"},
            {
                "event.name": "gen_ai.choice",
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "Hello",
                    "tool_calls": [
                        {
                            "id": "c1",
                            "type": "function",
                            "function": {"name": "get_weather", "arguments": {"city": "Paris"}},
                        }
                    ],
                },
            },
        ],
        [USER, ASSISTANT],
    ),
    "role and text": ({"messages": [["user", "Hi"]]}, [USER]),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_is_read_as_json_and_as_value(shape: str) -> None:
    value, messages = SHAPES[shape]

    assert read_messages(value) == tuple(messages)
    assert read_messages(json.dumps(value)) == tuple(messages)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_remembered_of_one_model_call_is_read_alike_of_the_next(shape: str) -> None:
    value, messages = SHAPES[shape]
    memo: Memo = {}

    for _ in range(2):
        assert read_messages(json.dumps(value), memo=memo) == tuple(messages)


@pytest.mark.parametrize("value", [None, "", "[", '[{"role":"user"', "plain", "5", 5, {}, [], "[]", "null", True])
def test_what_holds_no_messages_is_none(value: Any) -> None:
    assert read_messages(value) is None


def test_text_is_a_message_but_cut_json_is_not() -> None:
    assert read_text("Hi", "user") == (USER,)
    assert read_text('[{"role":"us', "user") is None
    assert read_text(" ", "user") is None


def test_blank_parts_are_left_out() -> None:
    parts = [{"type": "text", "content": " "}, {"type": "text", "content": ""}]

    assert read_messages([{"role": "user", "parts": parts}]) == (NormalisedMessage("user"),)


def test_a_list_that_a_person_typed_stays_text() -> None:
    typed = '[{"type": "apple"}]'

    assert read_messages([{"role": "user", "content": typed}]) == (NormalisedMessage("user", typed),)


def test_parts_written_as_json_text_are_parts() -> None:
    content = json.dumps([{"type": "text", "text": "Hi"}])

    assert read_messages([{"role": "user", "content": content}]) == (USER,)


def test_arguments_that_are_no_json_stay_text() -> None:
    call = {"type": "tool_call", "id": "c", "name": "t", "arguments": '{"city": "Par'}

    (message,) = read_messages([{"role": "assistant", "parts": [call]}]) or ()

    assert message.calls == (ToolCall("c", "t", '{"city": "Par'),)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "content",
                    "parts",
                    "type",
                    "text",
                    "tool_calls",
                    "function",
                    "name",
                    "message",
                    "kwargs",
                    "id",
                ]
            ),
            inner | st.sampled_from(["user", "text", "tool_call", "function_call", "ai"]),
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(json_values)
def test_no_value_breaks_the_reader(value: Any) -> None:
    messages = read_messages(value)

    assert messages is None or all(isinstance(message.role, str) for message in messages)
