"""Calls and their results in the types of vendors: run by the program, or by the vendor itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.chat import ToolCall
from app.otlp.normalise.calls import read_call
from app.otlp.normalise.messages import read_messages
from app.otlp.normalise.responses import read_response

RESULTS: list[tuple[dict[str, Any], Any]] = [
    ({"type": "custom_tool_call_output", "call_id": "c1", "output": "1"}, 1),
    ({"type": "shell_call_output", "call_id": "c1", "output": "done"}, "done"),
    ({"type": "mcp_tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "ok"}]}, "ok"),
    ({"type": "server_tool_result", "tool_call_id": "c1", "output": {"a": 1}}, {"a": 1}),
    ({"type": "web_search_tool_result", "tool_use_id": "c1", "content": [{"url": "u"}]}, [{"url": "u"}]),
    (
        {"type": "server_tool_call_response", "id": "c1", "server_tool_call_response": {"type": "x", "hits": 1}},
        {"hits": 1},
    ),
    ({"type": "server_tool_call_response", "id": "c1", "server_tool_call_response": {"type": "x", "output": "1"}}, 1),
    ({"type": "tool_call_response", "id": "c1", "response": json.dumps(json.dumps({"a": 1}))}, {"a": 1}),
]
CALLS: list[tuple[dict[str, Any], str, Any, bool]] = [
    ({"type": "custom_tool_call", "call_id": "c1", "name": "run", "input": "print(1)"}, "run", "print(1)", False),
    (
        {"type": "local_shell_call", "call_id": "c1", "action": {"command": ["ls"]}},
        "local_shell",
        {"action": {"command": ["ls"]}},
        False,
    ),
    ({"type": "mcp_call", "id": "c1", "name": "read", "arguments": '{"a": 1}'}, "read", {"a": 1}, True),
    ({"type": "mcp_tool_use", "id": "c1", "name": "read", "input": {"a": 1}}, "read", {"a": 1}, True),
    (
        {"type": "web_search_call", "id": "c1", "status": "completed", "action": {"query": "q"}},
        "web_search",
        {"action": {"query": "q"}},
        True,
    ),
    (
        {"type": "server_tool_call", "id": "c1", "name": "w", "server_tool_call": {"type": "w", "query": "q"}},
        "w",
        {"query": "q"},
        True,
    ),
    (
        {"type": "server_tool_call", "id": "c1", "server_tool_call": {"type": "w", "arguments": {"q": 1}}},
        "w",
        {"q": 1},
        True,
    ),
    ({"type": "tool_call", "id": "c1", "name": "w", "builtin": True, "arguments": {}}, "w", {}, True),
    ({"type": "tool-call", "toolCallId": "c1", "toolName": "w", "input": {}, "providerExecuted": True}, "w", {}, True),
    (
        {"type": "tool-getWeather", "toolCallId": "c1", "state": "input-available", "input": {"a": 1}},
        "getWeather",
        {"a": 1},
        False,
    ),
    (
        {"type": "tool_call", "id": "c1", "name": "w", "arguments": json.dumps(json.dumps({"a": 1}))},
        "w",
        {"a": 1},
        False,
    ),
]


@pytest.mark.parametrize(("part", "name", "arguments", "hosted"), CALLS)
def test_a_call_of_any_type_has_its_name_and_arguments(
    part: dict[str, Any], name: str, arguments: Any, hosted: bool
) -> None:
    call = read_call(part)

    assert call is not None
    assert (call.id, call.name, call.arguments, call.hosted) == ("c1", name, arguments, hosted)


@pytest.mark.parametrize(("part", "result"), RESULTS)
def test_a_response_of_any_type_has_its_result(part: dict[str, Any], result: Any) -> None:
    response = read_response(part)

    assert response is not None
    assert (response.call_id, response.result, response.error) == ("c1", result, None)


@pytest.mark.parametrize(
    ("part", "result", "error"),
    [
        ({"type": "mcp_call", "id": "c1", "name": "read", "arguments": "{}", "output": "ok"}, "ok", None),
        ({"type": "mcp_call", "id": "c1", "name": "read", "arguments": "{}", "error": "no file"}, None, "no file"),
        ({"type": "code_interpreter_call", "id": "c1", "code": "1", "outputs": [{"logs": "1"}]}, [{"logs": "1"}], None),
        (
            {"type": "tool-read", "toolCallId": "c1", "state": "output-available", "input": {}, "output": "ok"},
            "ok",
            None,
        ),
        (
            {"type": "tool-read", "toolCallId": "c1", "state": "output-error", "input": {}, "errorText": "no"},
            None,
            "no",
        ),
        ({"toolInvocation": {"toolCallId": "c1", "toolName": "read", "args": {}, "result": "ok"}}, "ok", None),
    ],
)
def test_a_part_may_have_a_call_and_its_result(part: dict[str, Any], result: Any, error: str | None) -> None:
    (message,) = read_messages([{"role": "assistant", "content": [part]}], "assistant") or ()
    (call,), (response,) = message.calls, message.responses

    assert call.id == response.call_id == "c1"
    assert (response.result, response.error) == (result, error)


@pytest.mark.parametrize(
    "part", [{"type": "mcp_call", "id": "c1", "name": "read"}, {"type": "phone_call"}, {"type": []}]
)
def test_a_call_without_a_result_has_no_response(part: dict[str, Any]) -> None:
    assert read_response(part) is None


@pytest.mark.parametrize(
    "item",
    [
        {"type": "custom_tool_call", "call_id": "c1", "name": "run", "input": "1"},
        {"type": "mcp_call", "id": "c1", "name": "run", "arguments": "{}", "output": "1"},
        {"type": "reasoning", "summary": []},
    ],
)
def test_an_item_that_names_no_role_is_the_model_s(item: dict[str, Any]) -> None:
    messages = read_messages([item]) or ()

    assert [message.role for message in messages] == ["assistant"]


MESSAGE = {"role": "user", "parts": [{"type": "text", "content": "Hi"}]}


@pytest.mark.parametrize(
    "value",
    [
        [json.dumps(MESSAGE)],
        json.dumps([json.dumps(MESSAGE)]),
        json.dumps(json.dumps([MESSAGE])),
        json.dumps({"messages": json.dumps([MESSAGE])}),
        [repr(MESSAGE)],
        repr([MESSAGE]),
        repr({"messages": [("human", "Hi")]}),
    ],
)
def test_messages_that_were_encoded_within_json_are_read(value: Any) -> None:
    assert [(message.role, message.text) for message in read_messages(value) or ()] == [("user", "Hi")]


@pytest.mark.parametrize("text", ['{"a": 1}', "[1, 2]", '{"role": "admin", "content": 5}', '["user"]', "Hi"])
def test_texts_in_a_list_that_are_no_messages_stay_texts(text: str) -> None:
    assert [message.text for message in read_messages([text]) or ()] == [text]


def test_a_function_may_be_only_a_name() -> None:
    asked = {"id": "c1", "type": "function", "function": "look", "arguments": '{"a": 1}'}

    assert read_call(asked) == ToolCall("c1", "look", {"a": 1})
