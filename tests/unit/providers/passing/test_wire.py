"""What is passed on of a program's conversation, in the format of each vendor."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest

from app.chat import Answer
from app.errors import Invalid, ProviderError
from app.providers.passing.anthropic import Messages
from app.providers.passing.google import GenerateContent
from app.providers.passing.openai import ChatCompletions, Responses
from app.providers.passing.wire import STREAM_BYTES, STREAM_GROWTH, NoChat, PassingWire, Results
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


def completion(message: dict[str, Any], **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "c", "model": "m", "choices": [choice], **more}


def response(*output: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": "r", "status": "completed", "output": list(output), **more}


def calls(number: int, id_size: int = 0) -> list[dict[str, Any]]:
    function = {"name": "weather", "arguments": '{"city": "Rome"}'}
    return [{"id": f"call_{n}" + "x" * id_size, "type": "function", "function": function} for n in range(number)]


def parts(number: int, text: str = "a") -> list[dict[str, Any]]:
    return [{"type": "output_text", "text": text, "annotations": []} for _ in range(number)]


HOSTILE: dict[str, tuple[str, Any]] = {
    "a long id and many keys": (
        "chat completions",
        lambda n: completion({f"k{i}": 1 for i in range(n)}, id="x" * 10 * n),
    ),
    "a long id and many calls": ("chat completions", lambda n: completion({"tool_calls": calls(n)}, id="x" * 10 * n)),
    "a long unknown field and many calls": (
        "chat completions",
        lambda n: completion({"tool_calls": calls(n)}, provider="x" * 10 * n, service_tier={"a": "x" * 10 * n}),
    ),
    "a long index": (
        "chat completions",
        lambda n: {"choices": [{"index": ["x" * 10 * n], "message": {"tool_calls": calls(n)}}]},
    ),
    "many choices": (
        "chat completions",
        lambda n: completion({}) | {"id": "\0" * 10 * n, "choices": [{"message": {}}] * n},
    ),
    "a long id of an item and many parts": (
        "responses",
        lambda n: response({"type": "message", "id": "x" * 10 * n, "content": parts(n)}),
    ),
    "an object as the id of an item": (
        "responses",
        lambda n: response({"type": "message", "id": ["x" * 10 * n], "content": parts(n)}),
    ),
    "many items and long instructions": ("responses", lambda n: response(*[{}] * n, instructions="x" * 10 * n)),
    "many blocks": (
        "messages",
        lambda n: {"id": "x" * 10 * n, "usage": {"a": "x" * 10 * n}, "content": [{"type": "text"}] * n},
    ),
    "many parts": (
        "generateContent",
        lambda n: {"responseId": "x" * 10 * n, "candidates": [{"content": {"parts": [{"text": "a"}] * n}}]},
    ),
}


@pytest.mark.parametrize("size", [50, 800, 3000])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_stream_is_at_most_some_times_its_answer_or_is_refused(name: str, size: int) -> None:
    wire, answer = HOSTILE[name]
    received = answer(size)

    frames = []
    with suppress(ProviderError):
        frames = [WIRES[wire].stream(received, {"stream": True})]

    assert sum(map(len, frames)) <= STREAM_GROWTH * len(json.dumps(received)) + STREAM_BYTES


def test_the_events_of_an_answer_that_is_refused_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    wire, made = ChatCompletions(), []
    monkeypatch.setattr(ChatCompletions, "frame", lambda self, event: made.append(event) or b"x" * 1000)

    with pytest.raises(ProviderError, match="can't be streamed"):
        wire.stream({"choices": [{"message": {}}] * 100_000}, {})

    assert len(made) < 15_000


HONEST: dict[str, tuple[str, Any]] = {
    "a text of a million characters": ("responses", response({"type": "message", "content": parts(1, "a" * 10**6)})),
    "many long texts": (
        "responses",
        response({"type": "message", "id": "i" * 400, "content": parts(300, "word " * 99)}),
    ),
    "a thousand calls": (
        "responses",
        response(
            *(
                {"type": "function_call", "id": f"fc_{'0' * 48}", "call_id": call["id"], **call["function"]}
                for call in calls(1000)
            )
        ),
    ),
    "a thousand calls in chat completions": ("chat completions", completion({"tool_calls": calls(1000)})),
    "many answers": (
        "chat completions",
        {"id": "chatcmpl-1", "choices": [{"index": n, "message": {"content": "Hi."}} for n in range(128)]},
    ),
    "a thousand calls in messages": (
        "messages",
        {"content": [{"type": "tool_use", "id": call["id"], "name": "weather", "input": {}} for call in calls(1000)]},
    ),
}


@pytest.mark.parametrize("name", HONEST)
def test_a_large_answer_is_streamed(name: str) -> None:
    wire, received = HONEST[name]

    assert len(WIRES[wire].stream(received, {"stream": True})) > len(json.dumps(received)) / 2


def test_each_chunk_has_the_short_fields_of_its_answer() -> None:
    fields = {"id": "c", "created": 7, "model": "m", "system_fingerprint": "f", "service_tier": None}

    stream = WIRES["chat completions"].stream(completion({"content": "Hi."}, **fields), {})

    chunks = [json.loads(line.removeprefix("data: ")) for line in stream.decode().split("\n\n")[:-2]]
    assert len(chunks) == 3
    assert [chunk | fields for chunk in chunks] == chunks


@pytest.mark.parametrize("value", [True, 1, "true", {}])
def test_a_response_in_the_background_is_refused(value: Any) -> None:
    with pytest.raises(Invalid, match="background: "):
        WIRES["responses"].check({"input": "Hi", "background": value})


@pytest.mark.parametrize("body", [{}, {"background": False}, {"background": None}])
def test_a_response_that_is_not_in_the_background_is_passed_on(body: dict[str, Any]) -> None:
    WIRES["responses"].check({"input": "Hi", **body})


@pytest.mark.parametrize(
    ("name", "body", "most"),
    [
        ("chat completions", {}, 100),
        ("chat completions", {"max_tokens": 7}, 7),
        ("chat completions", {"max_completion_tokens": 8, "max_tokens": 7, "n": 3}, 24),
        ("chat completions", {"max_tokens": 10**9, "n": 2}, 200),
        ("chat completions", {"max_tokens": "7", "n": -1}, 100),
        ("responses", {"max_output_tokens": 7}, 7),
        ("messages", {"max_tokens": 7}, 7),
        ("generateContent", {"generationConfig": {"maxOutputTokens": 7, "candidateCount": 2}}, 14),
        ("generateContent", {"generation_config": {"max_output_tokens": 7}}, 7),
        ("generateContent", {"generationConfig": [7]}, 100),
    ],
)
def test_a_request_limits_what_a_model_can_write(name: str, body: dict[str, Any], most: int) -> None:
    assert WIRES[name].most_written(body, 100) == most


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


def test_a_stream_brings_the_call_of_a_custom_tool() -> None:
    sent = response({"type": "custom_tool_call", "id": "i", "call_id": "c", "name": "refund", "input": "order 7"})

    stream = WIRES["responses"].stream(sent, {"stream": True})

    assert streamed(WIRES["responses"], sent, {"stream": True}).tool_calls[0].arguments == "order 7"
    assert b"event: response.custom_tool_call_input.delta" in stream
    assert b'"item":{"type":"custom_tool_call","id":"i","call_id":"c","name":"refund","input":""}' in stream
