"""The text of a stream of server-sent events, recorded as the output of a model call."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.chat import ToolCall
from app.otlp.normalise import Messages, Normalised, NormalisedMessage, SpanView

CALL = ToolCall("c1", "get_weather", {"city": "Oslo"})


def stream(*chunks: Any, end: str = "") -> str:
    return "\n\n".join(f"data: {json.dumps(chunk)}" for chunk in chunks) + end


def delta(**fields: Any) -> dict[str, Any]:
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": fields}]}


def read_as(text: str, mime_type: str) -> Messages | None:
    attributes = {"openinference.span.kind": "LLM", "output.value": text, "output.mime_type": mime_type}
    return Normalised(SpanView("chat", "app", attributes)).output_messages


def read(text: str) -> NormalisedMessage:
    (message,) = read_as(text, "application/json") or ()
    return message


def piece(**fields: Any) -> dict[str, Any]:
    return delta(tool_calls=[{"index": 0, **fields}])


def test_the_chunks_of_a_completion_are_one_message() -> None:
    words = (delta(content="It "), delta(content="rains."))
    begin = (delta(role="assistant", content=""), delta(reasoning_content="Hm."))

    message = read(stream(*begin, *words, {"choices": []}, end="\n\ndata: [DONE]\n\n"))

    assert (message.text, message.reasoning, message.calls) == ("It rains.", "Hm.", ())


def test_the_pieces_of_a_call_are_one_call() -> None:
    begin = piece(id="c1", type="function", function={"name": "get_weather", "arguments": ""})
    parts = (piece(function={"arguments": '{"city":'}), piece(function={"arguments": '"Oslo"}'}))

    assert read(stream(begin, *parts)).calls == (CALL,)


def test_the_blocks_of_anthropic_are_one_message() -> None:
    use = {"type": "tool_use", "id": "c1", "name": "get_weather", "input": {}}
    events = [
        {"type": "message_start", "message": {"role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "I look."}},
        {"type": "content_block_start", "index": 1, "content_block": use},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"city":'}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '"Oslo"}'}},
    ]

    message = read("event: message_start\n" + stream(*events))

    assert (message.text, message.calls) == ("I look.", (CALL,))


def test_the_last_event_of_a_response_has_all_of_it() -> None:
    output = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It rains."}]}]

    message = read(stream({"type": "response.created"}, {"type": "response.completed", "response": {"output": output}}))

    assert message.text == "It rains."


def test_the_parts_of_gemini_are_one_message() -> None:
    chunks = [{"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}}]} for text in ("It ", "rains.")]

    assert read(stream(*chunks)).text == "It rains."


@pytest.mark.parametrize(
    "text",
    [
        "data: the rain in Oslo",
        "data: [1, 2]",
        "event: rain",
        stream({"choices": None}, {"candidates": [1]}, {"index": 0, "content_block": [], "delta": "x"}),
        stream({"type": "response.completed", "response": "x"}, {"choices": [{"delta": {"tool_calls": "x"}}]}),
    ],
)
def test_a_text_that_is_no_stream_stays_as_it_was_written(text: str) -> None:
    assert read(text).text == text


def test_a_stream_that_a_model_repeats_as_its_answer_is_its_answer() -> None:
    text = stream(piece(id="c1", function={"name": "get_weather", "arguments": "{}"}))

    (message,) = read_as(text, "text/plain") or ()

    assert (message.text, message.calls) == (text, ())
