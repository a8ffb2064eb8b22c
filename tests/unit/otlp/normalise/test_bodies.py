"""Log records with all messages of a span in their body, as AWS's distribution of OpenTelemetry moves them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.chat import ToolCall
from app.otlp.logs import decode_logs, events_of
from app.otlp.normalise import NormalisedMessage, ToolUse
from app.otlp.normalise.bodies import has_messages
from tests.support.exports import value_of
from tests.support.normalized_spans import normal
from tests.support.protobuf import logs as in_protobuf

ASKED = {"role": "user", "content": "Hi"}


def record(body: Any, name: str = "strands.telemetry.tracer") -> bytes:
    fields = {"traceId": "1" * 32, "spanId": "2" * 16, "eventName": name, "body": value_of(body)}
    return json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [fields]}]}]}).encode()


def side(*messages: Any) -> dict[str, Any]:
    return {"messages": list(messages)}


def events(body: Any, *, protobuf: bool = False) -> Any:
    batch = record(body)
    decoded = decode_logs(in_protobuf(batch) if protobuf else batch, 7, protobuf=protobuf, limit=10**6)
    return events_of([(1, stored.raw) for stored in decoded.records]).get(1, [])


@pytest.mark.parametrize("protobuf", [False, True])
@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        (ASKED, {"role": "assistant", "content": "Hello"}),
        ({"role": "user", "content": {"content": "Hi"}}, {"role": "assistant", "content": {"message": "Hello"}}),
        (
            {"role": "user", "content": {"content": '[{"text": "Hi"}]'}},
            {"role": "assistant", "content": {"message": '[{"text": "Hello"}]', "finish_reason": "end_turn"}},
        ),
    ],
    ids=["texts", "in an object", "Bedrock's blocks"],
)
def test_the_messages_of_a_body_are_those_of_its_span(asked: Any, answered: Any, protobuf: bool) -> None:
    moved = events({"input": side(asked), "output": side(answered)}, protobuf=protobuf)

    call = normal({"gen_ai.operation.name": "chat"}, events=moved)

    assert call.input_messages == (NormalisedMessage("user", "Hi"),)
    assert call.output_messages == (NormalisedMessage("assistant", "Hello"),)


def test_a_model_s_calls_are_in_its_output() -> None:
    use = '[{"toolUse": {"toolUseId": "c", "name": "t", "input": {"a": 1}}}]'
    moved = events({"output": side({"role": "assistant", "content": {"message": use, "finish_reason": "tool_use"}})})

    messages = normal({"gen_ai.operation.name": "chat"}, events=moved).output_messages

    assert [message.calls for message in messages or ()] == [(ToolCall("c", "t", {"a": 1}),)]


def test_a_tool_s_arguments_and_result_are_a_message_each() -> None:
    called = {"role": "tool", "content": {"role": "tool", "content": '{"a": 1}', "id": "c"}}
    returned = {"role": "tool", "content": {"message": '[{"json": {"b": 2}}]', "id": "c"}}

    ran = normal(
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"},
        events=events({"input": side(called), "output": side(returned)}),
    )

    assert ran.tool == ToolUse("t", None, {"a": 1}, {"b": 2})


@pytest.mark.parametrize(
    "body",
    [
        "text",
        {},
        {"input": {"messages": []}},
        {"input": {"messages": "Hi"}},
        {"input": {"messages": [7]}},
        {"input": side({"role": "thermostat", "content": "Hi"})},
        {"input": side({"content": "Hi"})},
        {"input": [ASKED]},
    ],
)
def test_records_with_another_body_are_ignored(body: Any) -> None:
    assert not has_messages(body)
    assert events(body) == []


def test_a_record_with_a_name_of_the_conventions_is_read_by_its_name() -> None:
    batch = record({"input": side(ASKED)}, "gen_ai.user.message")
    (stored,) = decode_logs(batch, 7, protobuf=False, limit=10**6).records

    [(name, _)] = events_of([(1, stored.raw)])[1]

    assert name == "gen_ai.user.message"
