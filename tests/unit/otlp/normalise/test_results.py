"""Results of tools in messages of the user, as Anthropic's client sends them and OpenInference numbers them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.otlp.normalise import ToolResponse
from tests.support.normalized_spans import normal

NUMBERED = {
    "openinference.span.kind": "LLM",
    "llm.input_messages.0.message.role": "user",
    "llm.input_messages.0.message.content": "Both?",
    "llm.input_messages.1.message.role": "user",
    "llm.input_messages.1.message.tool_call_id": "c2",
    "llm.input_messages.1.message.content": "two",
}
RESULTS = [
    {"type": "tool_result", "tool_use_id": "c1", "content": "one"},
    {"type": "tool_result", "tool_use_id": "c2", "content": "two"},
]
REQUEST = {"model": "m", "messages": [{"role": "user", "content": "Both?"}, {"role": "user", "content": RESULTS}]}


def answered(attributes: dict[str, Any]) -> list[tuple[str, str]]:
    messages = normal(attributes).input_messages or ()
    assert [message.text for message in messages if message.role == "user" and message.text] == ["Both?"]
    responses: list[ToolResponse] = [response for message in messages for response in message.responses]
    return [(response.call_id, response.result) for response in responses]


def test_the_request_has_the_results_for_which_a_numbered_message_has_no_room() -> None:
    assert answered(NUMBERED | {"input.value": json.dumps(REQUEST)}) == [("c1", "one"), ("c2", "two")]


WITHOUT_RESULTS = {"messages": [{"role": "user", "content": "Both?"}, {"role": "user", "content": "ToolResult(two)"}]}


@pytest.mark.parametrize(
    "request_", ["", "__REDACTED__", json.dumps(REQUEST)[:-40], "{}", "[1]", json.dumps(WITHOUT_RESULTS)]
)
def test_without_the_request_a_result_is_no_word_of_the_user(request_: str) -> None:
    assert answered(NUMBERED | {"input.value": request_}) == [("c2", "two")]
