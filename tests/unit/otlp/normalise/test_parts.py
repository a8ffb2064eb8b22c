"""The parts of messages: texts in JSON, calls with their responses, and words after them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.chat import ToolCall
from app.otlp.normalise.messages import NormalisedMessage, read_messages
from app.otlp.normalise.parts import read_parts, read_segments
from app.otlp.normalise.responses import ToolResponse
from app.sessions.steps import answer_text

TEXT = {"type": "text", "text": "Hi"}


@pytest.mark.parametrize(
    "content",
    [
        [TEXT],
        TEXT,
        [{"text": "Hi"}],
        [{"text": "Hi"}, {"cachePoint": {"type": "default"}, "type": "cachePoint"}],
        *(
            [TEXT, {"type": kind, kind: {"data": "AAAA"}}]
            for kind in ("input_audio", "document", "video_url", "citation")
        ),
    ],
)
@pytest.mark.parametrize("write", [json.dumps, lambda value: json.dumps(json.dumps(value)), repr])
def test_content_written_as_a_text_is_read_as_parts(content: Any, write: Any) -> None:
    assert read_parts(write(content)).texts == ["Hi"]


@pytest.mark.parametrize(
    "typed",
    [
        '[{"type": "apple"}]',
        '[{"id": 1}, {"id": 2}]',
        '{"text": "Hi"}',
        '{"type": "circle", "radius": 3}',
        '[{"text": "Hi", "language": "en"}]',
        "[1](https://example.com)",
        '[{"text": "Hi"}',
        "{name}",
        "[]",
    ],
)
def test_lists_and_objects_that_a_person_typed_stay_text(typed: str) -> None:
    assert read_parts(typed).texts == [typed]


def test_calls_and_responses_of_bedrock_written_as_a_text_are_read() -> None:
    call = {"toolUse": {"toolUseId": "c1", "name": "find", "input": {"id": 7}}}
    response = {"toolResult": {"toolUseId": "c1", "content": [{"text": "Oslo"}]}}

    assert read_parts(json.dumps([{"text": "Hm."}, call])).calls == [ToolCall("c1", "find", {"id": 7})]
    assert read_parts(json.dumps([response])).responses == [ToolResponse("c1", result="Oslo")]


CALL = {"type": "tool_call", "id": "s1", "name": "web_search", "arguments": '{"query": "news"}'}
RESPONSE = {"type": "tool_call_response", "id": "s1", "response": {"hits": 1}}
WRITTEN = {"type": "text", "content": "Here it is."}
BEFORE = {"type": "text", "content": "Let me search."}


@pytest.mark.parametrize(
    ("parts", "answer"),
    [
        ([BEFORE, CALL, RESPONSE, WRITTEN], "Here it is."),
        ([CALL, RESPONSE, WRITTEN, WRITTEN], "Here it is.Here it is."),
        ([CALL, RESPONSE, WRITTEN, CALL | {"id": "s2"}], None),
        ([BEFORE, CALL, RESPONSE], None),
        ([BEFORE, CALL], None),
        ([BEFORE, CALL | {"builtin": True}], "Let me search."),
        ([WRITTEN], "Here it is."),
    ],
)
def test_the_words_after_the_last_response_are_the_answer(parts: list[Any], answer: str | None) -> None:
    messages = read_messages([{"role": "assistant", "parts": parts}], "assistant")

    assert answer_text(messages) == answer


def test_a_message_of_the_user_stays_one() -> None:
    messages = read_messages([{"role": "user", "parts": [RESPONSE, WRITTEN]}])

    assert messages == (NormalisedMessage("user", "Here it is.", responses=(ToolResponse("s1", "", {"hits": 1}),)),)


def test_segments_have_all_parts_in_their_order() -> None:
    picture = {"type": "image", "source": {"type": "base64", "data": "AAAA"}}
    first, second = read_segments([BEFORE, CALL, RESPONSE, picture, WRITTEN])

    assert (first.texts, [call.name for call in first.calls], len(first.media)) == (
        ["Let me search."],
        ["web_search"],
        1,
    )
    assert (second.texts, second.calls) == (["Here it is."], [])


SPOKEN = [
    {"type": "input_audio", "transcript": "Hi", "input_audio": {"format": "wav"}},
    {"type": "input_audio", "input_audio": {"transcript": "Hi", "data": "AAAA"}},
    {"type": "audio", "audio": {"id": "a1", "transcript": "Hi"}},
    {"inputTranscription": {"text": "Hi"}},
]


@pytest.mark.parametrize("part", SPOKEN)
def test_spoken_words_are_the_text_of_their_transcript(part: dict[str, Any]) -> None:
    assert read_parts([part]).texts == ["Hi"]


def test_the_audio_of_a_message_has_its_words() -> None:
    message = {"role": "assistant", "content": None, "audio": {"id": "a1", "transcript": "Hi"}}

    assert read_messages([message], "assistant") == (NormalisedMessage("assistant", "Hi"),)


OUTPUTS: list[tuple[list[dict[str, Any]], str | None]] = [
    ([{"role": "assistant", "content": "hello"}, {"role": "human", "content": "hi"}], "hello"),
    ([{"role": "assistant", "content": "hello"}, {"role": "SYSTEM", "content": "s"}], "hello"),
    ([{"role": "ai", "content": "hello"}, {"role": "ai", "parts": [{"type": "reasoning", "content": "hm"}]}], "hello"),
    ([{"role": "assistant", "parts": [CALL]}, {"role": "tool", "tool_call_id": "s1", "content": "3"}], None),
    ([{"role": "assistant", "parts": [CALL]}, {"role": "user", "parts": [RESPONSE]}], None),
    ([{"role": "user", "content": "hi"}], None),
]


@pytest.mark.parametrize(("outputs", "answer"), OUTPUTS)
def test_the_answer_is_the_last_message_of_the_model(outputs: list[dict[str, Any]], answer: str | None) -> None:
    assert answer_text(read_messages(outputs, "assistant")) == answer
