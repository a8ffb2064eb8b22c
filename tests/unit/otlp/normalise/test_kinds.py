"""The types of parts, under the names and in the spellings of those who write them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.chat import ToolCall
from app.otlp.normalise.kinds import kind_of
from app.otlp.normalise.messages import read_messages
from app.otlp.normalise.parts import ContentParts, read_parts
from app.otlp.normalise.responses import ToolResponse

KEYS = ["type", "$type", "kind", "part_kind"]


@pytest.fixture(params=KEYS)
def key(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def parts(key: str, spelling: str, **fields: Any) -> ContentParts:
    return read_parts([{key: spelling} | fields])


@pytest.mark.parametrize("spelling", ["tool_use", "toolUse", "toolUseBlock", "ToolUseBlock", "ServerToolUseBlock"])
def test_a_block_with_a_call_is_a_call(key: str, spelling: str) -> None:
    read = parts(key, spelling, id="c1", name="find", input={"id": 7})
    assert read.calls == [ToolCall("c1", "find", {"id": 7}, hosted=spelling.startswith("Server"))]


@pytest.mark.parametrize("spelling", ["tool_result", "toolResult", "toolResultBlock", "ToolResultBlock"])
def test_a_block_with_a_result_is_a_response(key: str, spelling: str) -> None:
    read = parts(key, spelling, toolUseId="c1", content=[{"type": "TextBlock", "text": "Oslo"}])
    assert read.responses == [ToolResponse("c1", result="Oslo")]


@pytest.mark.parametrize("spelling", ["text", "textBlock", "TextBlock"])
def test_a_block_with_a_text_is_a_text(key: str, spelling: str) -> None:
    assert parts(key, spelling, text="Hi").texts == ["Hi"]


@pytest.mark.parametrize("spelling", ["thinking", "thinkingBlock", "ThinkingBlock"])
def test_a_block_with_a_thought_is_reasoning(key: str, spelling: str) -> None:
    read = parts(key, spelling, thinking="Hm.", signature="s")
    assert (read.reasoning, read.texts) == (["Hm."], [])


@pytest.mark.parametrize("spelling", ["imageBlock", "ImageBlock"])
def test_a_block_with_an_image_is_an_image(key: str, spelling: str) -> None:
    (media,) = parts(key, spelling, source={"type": "base64", "media_type": "image/png", "data": "AAAA"}).media
    assert (media.kind, media.media_type, media.data) == ("image", "image/png", "AAAA")


def test_blocks_that_are_written_as_one_text_are_read() -> None:
    blocks = [{"type": "TextBlock", "text": "I look."}, {"type": "ToolUseBlock", "id": "c1", "name": "f", "input": {}}]
    read = read_parts(json.dumps(blocks))
    assert (read.texts, [call.name for call in read.calls]) == (["I look."], ["f"])


def test_blocks_that_are_the_messages_have_the_role_of_their_type() -> None:
    blocks = [
        {"type": "ToolUseBlock", "id": "c1", "name": "f", "input": {}},
        {"type": "ToolResultBlock", "tool_use_id": "c1", "content": "4"},
    ]
    assert [message.role for message in read_messages(blocks) or ()] == ["assistant", "tool"]


def test_contents_of_microsoft_extensions_ai_are_a_call_and_its_response() -> None:
    read = read_parts(
        [
            {"$type": "functionCall", "callId": "c1", "name": "find", "arguments": {"id": 7}},
            {"$type": "functionResult", "callId": "c1", "result": "Oslo"},
        ]
    )
    assert read.calls == [ToolCall("c1", "find", {"id": 7})]
    assert read.responses == [ToolResponse("c1", result="Oslo")]


@pytest.mark.parametrize(
    ("part", "kind"), [({}, None), ({"type": None}, None), ({"type": 3}, ""), ({"type": []}, None)]
)
def test_a_part_without_a_type_has_no_kind(part: dict[str, Any], kind: str | None) -> None:
    assert kind_of(part) == kind


def test_a_word_that_is_only_the_suffix_is_no_kind() -> None:
    assert kind_of({"type": "Block"}) == ""
