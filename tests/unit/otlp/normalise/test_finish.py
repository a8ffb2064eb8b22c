"""The reasons for which a model stopped."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.chat import ToolCall
from app.otlp.normalise.finish import asks_for_tools, recorded_reason
from app.sessions.steps import answer_text, text_with_calls
from tests.support.normalized_spans import normal

TOOLS = ["tool_calls", "tool_call", "tool-calls", "tool_use", "function_call", "TOOL_CALL", "FinishReason.TOOL_CALLS"]
CALL = {"gen_ai.completion.0.function_call.name": "get_weather", "gen_ai.completion.0.function_call.arguments": "{}"}


def chat(reason: Any = None, content: str | None = "Let me look.", **attributes: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, "finish_reason": reason}
    return {"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps([message])} | attributes


@pytest.mark.parametrize("reason", TOOLS)
def test_a_message_that_ended_for_tools_is_no_answer(reason: str) -> None:
    outputs = normal(chat(reason)).output_messages

    assert asks_for_tools({"stopReason": reason})
    assert (answer_text(outputs), text_with_calls(outputs)) == (None, "Let me look.")


@pytest.mark.parametrize("reason", ["stop", "end_turn", "STOP", "length", None, 5, "t" * 1000])
def test_a_message_that_ended_otherwise_is_an_answer(reason: Any) -> None:
    assert answer_text(normal(chat(reason)).output_messages) == "Let me look."


@pytest.mark.parametrize("name", ["gen_ai.response.finish_reasons", "ai.response.finishReason", "llm.finish_reason"])
@pytest.mark.parametrize("value", ["tool_calls", ["tool_calls"], '["stop", "tool_calls"]', "['tool_calls']"])
def test_the_span_may_have_the_reason(name: str, value: Any) -> None:
    assert recorded_reason({name: value}) is True
    assert answer_text(normal(chat(**{name: value})).output_messages) is None


@pytest.mark.parametrize("content", ["Let me look.", None, ""])
@pytest.mark.parametrize("reason", ["tool_calls", None])
def test_calls_may_be_recorded_by_another_convention_than_the_words(content: str | None, reason: str | None) -> None:
    outputs = normal(chat(reason, content) | CALL).output_messages or ()

    assert [call for message in outputs for call in message.calls] == [ToolCall("", "get_weather", {})]
    assert answer_text(outputs) is None


def test_a_call_that_stopped_by_itself_has_no_calls_of_another_convention() -> None:
    outputs = normal(chat("stop", **{"gen_ai.response.finish_reasons": ["stop"]}) | CALL).output_messages

    assert answer_text(outputs) == "Let me look."


def test_without_a_reason_nothing_is_known() -> None:
    assert recorded_reason({}) is None
    assert recorded_reason({"gen_ai.response.finish_reasons": []}) is None
    assert recorded_reason({"gen_ai.response.finish_reasons": ["tool_calls", "stop"]}) is False
