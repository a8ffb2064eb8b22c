"""The items of OpenAI's Responses API, which OpenLLMetry for JavaScript records as one text of the user."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.chat import ToolCall
from app.otlp.normalise import Messages, NormalisedMessage, ToolResponse
from tests.support.normalized_spans import normal

OPENLLMETRY = "@traceloop/instrumentation-openai"
ITEMS = [
    {"role": "user", "content": "Where is it?"},
    {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "find", "arguments": '{"id": 7}'},
    {"type": "function_call_output", "call_id": "call_1", "output": "Oslo"},
]
READ = (
    NormalisedMessage("user", "Where is it?"),
    NormalisedMessage("assistant", calls=(ToolCall("call_1", "find", {"id": 7}),)),
    NormalisedMessage("tool", responses=(ToolResponse("call_1", result="Oslo"),)),
)


def messages_in(text: str, scope: str = OPENLLMETRY, response_id: str = "resp_1") -> Messages | None:
    said: list[dict[str, Any]] = [{"role": "user", "parts": [{"type": "text", "content": text}]}]
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.response.id": response_id,
        "gen_ai.input.messages": json.dumps(said),
    }
    return normal(attributes, scope=scope).input_messages


def test_they_are_read_as_messages() -> None:
    assert messages_in(json.dumps(ITEMS)) == READ


@pytest.mark.parametrize("text", ["Where is it?", "[{", "[{}, 1, null]", json.dumps(ITEMS)[:-1], "[{" * 10_000])
def test_other_texts_stay_the_words_of_the_user(text: str) -> None:
    assert messages_in(text) == (NormalisedMessage("user", text),)


@pytest.mark.parametrize("elsewhere", [{"scope": "shop"}, {"response_id": "chatcmpl-1"}])
def test_such_a_text_in_other_places_is_the_words_of_the_user(elsewhere: dict[str, str]) -> None:
    text = json.dumps(ITEMS)
    assert messages_in(text, **elsewhere) == (NormalisedMessage("user", text),)
