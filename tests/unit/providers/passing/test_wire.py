"""What is passed on of a program's conversation, in the format of each vendor."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.chat import Answer
from app.providers.passing.anthropic import Messages
from app.providers.passing.google import GenerateContent
from app.providers.passing.openai import ChatCompletions, Responses
from app.providers.passing.wire import NoChat, PassingWire, Results
from tests.fakes import wire as fake
from tests.fakes.wire import Asked, Reply

WIRES: dict[str, PassingWire] = {
    "chat completions": ChatCompletions(),
    "responses": Responses(),
    "messages": Messages(),
    "generateContent": GenerateContent(),
}
VENDORS = {"messages": "ANTHROPIC", "generateContent": "GOOGLE"}
REPLIES = {
    "words": Reply(text="It is 31 °C in Rome."),
    "calls": Reply(tool_calls=[("weather", {"city": "Rome"}), ("weather", {"city": "Köln"})]),
    "words and a call": Reply(text="Let me see.", tool_calls=[("weather", {"city": "Rome"})]),
    "thoughts": Reply(text="Done.", reasoning="I think so.", reasoning_tokens=3),
    "cut off": Reply(text="It is", truncated=True),
    "refused": Reply(refusal="I can't help with that."),
    "nothing": Reply(text=""),
}


def received(name: str, reply: Reply) -> Any:
    asked = Asked(VENDORS.get(name, "OPENAI"), "m", False, "How hot?", 5, "key", True, name == "responses")
    return json.loads(fake.body(asked, reply))


def whole(wire: PassingWire, sent: Any) -> Answer:
    decoder = type(wire).make_decoder()
    decoder.read_whole(sent)
    return decoder.end()


def streamed(wire: PassingWire, sent: Any, body: dict[str, Any]) -> Answer:
    """Read the stream as the vendor's own client would."""
    decoder = type(wire).make_decoder()
    for frame in wire.stream(sent, body).decode().split("\n\n"):
        lines = [line.removeprefix("data: ") for line in frame.splitlines() if line.startswith("data: ")]
        if lines == ["[DONE]"]:
            decoder.read_done()
        elif lines:
            decoder.read_event(json.loads(lines[0]))
    return decoder.end()


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
@pytest.mark.parametrize("name", WIRES)
def test_a_stream_brings_what_the_whole_answer_has(name: str, reply: Reply) -> None:
    sent = received(name, reply)

    answer = streamed(WIRES[name], sent, {"stream": True, "stream_options": {"include_usage": True}})

    assert answer == whole(WIRES[name], sent)


def pairs(ids: list[str]) -> list[tuple[str, str]]:
    return list(zip(ids, "ab", strict=True))


CONVERSATIONS: dict[str, dict[str, Any]] = {
    "chat completions": {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": True, "seed": 1},
    "responses": {"model": "m", "input": "Hi", "stream": True, "store": False},
    "messages": {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": True, "top_k": 3},
    "generateContent": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "cachedContent": "c"},
}
ANSWERED: dict[str, Any] = {
    "chat completions": lambda body, ids: (
        [message["role"] for message in body["messages"]] == ["user", "assistant", "tool", "tool"]
        and [(each["tool_call_id"], each["content"]) for each in body["messages"][2:]] == pairs(ids)
    ),
    "responses": lambda body, ids: (
        body["input"][0] == {"role": "user", "content": "Hi"}
        and [(each["call_id"], each["output"]) for each in body["input"][-2:]] == pairs(ids)
    ),
    "messages": lambda body, ids: (
        [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
        and [(each["tool_use_id"], each["content"]) for each in body["messages"][-1]["content"]] == pairs(ids)
    ),
    "generateContent": lambda body, ids: (
        [content["role"] for content in body["contents"]] == ["user", "model", "user"]
        and [part["functionResponse"]["response"] for part in body["contents"][-1]["parts"]]
        == [{"result": "a"}, {"result": "b"}]
    ),
}


@pytest.mark.parametrize("name", WIRES)
def test_the_results_of_calls_are_added_to_an_unchanged_request(name: str) -> None:
    wire, body = WIRES[name], CONVERSATIONS[name]
    sent = received(name, REPLIES["calls"])
    ids = [call.id for call in whole(wire, sent).tool_calls]
    asked = wire.whole(body)

    after = wire.continued(asked, Results(sent, ["a", "b"]))

    assert "stream" not in after
    assert ANSWERED[name](after, ids), after
    kept = asked.keys() - {"messages", "input", "contents"}
    assert {key: after[key] for key in kept} == {key: body[key] for key in kept}


SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
OFFERING: dict[str, dict[str, Any]] = {
    "chat completions": {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "developer", "content": [{"text": "Be kind."}]},
        ],
        "tools": [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}, {"type": "web_search"}],
    },
    "responses": {
        "instructions": "Be brief.",
        "input": [{"role": "system", "content": [{"type": "input_text", "text": "Be kind."}]}],
        "tools": [{"type": "function", "name": "weather", "parameters": SCHEMA}, {"type": "web_search", "name": "web"}],
    },
    "messages": {
        "system": [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind."}],
        "tools": [{"name": "weather", "input_schema": SCHEMA}, {"type": "web_search_20250305", "name": "web_search"}],
    },
    "generateContent": {
        "systemInstruction": {"parts": [{"text": "Be brief."}, {"text": "Be kind."}]},
        "tools": [{"functionDeclarations": [{"name": "weather", "parameters": SCHEMA}]}, {"googleSearch": {}}],
    },
}


@pytest.mark.parametrize("name", WIRES)
def test_the_programs_own_instruction_and_functions_are_read(name: str) -> None:
    body = OFFERING[name]

    assert WIRES[name].instruction(body) == "Be brief.\nBe kind."
    assert [(tool.name, tool.parameters) for tool in WIRES[name].tools(body)] == [("weather", SCHEMA)]


@pytest.mark.parametrize("name", WIRES)
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"messages": 1, "tools": "x", "input": 2},
        {"tools": [None, 1, {}, {"function": {"name": 7}}], "messages": [1]},
    ],
)
def test_a_request_of_another_shape_has_no_instruction_and_no_functions(name: str, body: dict[str, Any]) -> None:
    assert WIRES[name].instruction(body) == ""
    assert list(WIRES[name].tools(body)) == []


@pytest.mark.parametrize(
    ("sent", "tokens"),
    [
        ({"usage": {"prompt_tokens": 7, "total_tokens": 7}}, 7),
        ({"usage": {"prompt_tokens": "7"}}, 0),
        ({"usage": [7]}, 0),
        ({}, 0),
        ([], 0),
    ],
)
def test_the_usage_of_what_is_no_chat_is_read(sent: Any, tokens: int) -> None:
    decoder = NoChat()

    decoder.read_whole(sent)

    assert decoder.end().tokens.total == tokens
