"""Codex's log records become spans of the conventions, the same however they are sent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.otlp.codex import ATTRIBUTES_MAX, spans_of_records
from app.otlp.decode import decode
from app.otlp.span import Span
from tests.support.exports import pairs_of
from tests.support.protobuf import logs

SECOND_NS = 10**9
AT_NS = 1_795_000_000 * SECOND_NS
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def record(name: str, recorded: dict[str, Any], **fields: Any) -> dict[str, Any]:
    named = {"event.name": name, "conversation.id": "c1", "model": "gpt-5.1-codex"} | recorded
    return {
        "observedTimeUnixNano": str(AT_NS),
        "eventName": "event codex-rs/otel/src/lib.rs:7",
        "attributes": pairs_of(named),
    } | fields


def prompt(text: str = "Hi", **fields: Any) -> dict[str, Any]:
    return record("codex.user_prompt", {"prompt": text, "prompt_length": "2"}, **fields)


def spans(*records: dict[str, Any], protobuf: bool = False, prompt_id: int = 7) -> list[Span]:
    export = {"resourceLogs": [{"scopeLogs": [{"scope": {"name": "codex_otel.log_only"}, "logRecords": records}]}]}
    body = logs(export) if protobuf else json.dumps(export).encode()
    decoded = [decode(batch, prompt_id) for batch in spans_of_records(body, prompt_id, protobuf=protobuf)]
    assert not any(piece.rejected for piece in decoded)
    return [span for piece in decoded for span in piece.spans]


USED = {"event.kind": "response.completed", "input_token_count": "9", "output_token_count": "3"}
RAN = {"tool_name": "shell", "call_id": "c", "arguments": "{}", "output": "ok", "success": "true"}
STEPS = [
    prompt(),
    record("codex.agent_response", {"response": "Hello"}),
    record("codex.sse_event", USED | {"cached_token_count": 4, "reasoning_token_count": 1}),
    record("codex.tool_result", RAN | {"duration_ms": "1500"}),
]


def test_each_record_of_a_step_is_a_span_with_the_names_of_the_conventions() -> None:
    asked, answered, called, ran = (dict(span.attributes) for span in spans(*STEPS))

    assert asked["gen_ai.input.messages"] == '[{"role":"user","content":"Hi"}]'
    assert answered["gen_ai.output.messages"] == '[{"role":"assistant","content":"Hello"}]'
    assert called["gen_ai.request.model"] == "gpt-5.1-codex"
    assert [called[f"gen_ai.usage.{name}"] for name in ("input_tokens", "output_tokens")] == [9, 3]
    assert (called["gen_ai.usage.cache_read.input_tokens"], called["gen_ai.usage.reasoning.output_tokens"]) == (4, 1)
    assert (ran["gen_ai.tool.name"], ran["gen_ai.tool.call.result"]) == ("shell", "ok")
    # The words are in the span once, so that they are masked once.
    assert not {"prompt", "response", "arguments", "output"} & (asked | answered | ran).keys()


def test_a_tool_has_the_time_that_it_took() -> None:
    (ran,) = spans(STEPS[3])
    assert (ran.start_ns, ran.end_ns) == (AT_NS - 1_500_000_000, AT_NS)


def test_records_in_protobuf_and_sent_again_are_the_same_spans() -> None:
    first = [(span.trace_id, span.span_id, span.start_ns) for span in spans(*STEPS)]
    again = [(span.trace_id, span.span_id, span.start_ns) for span in spans(*STEPS, protobuf=True)]

    assert first == again
    assert len({span_id for _, span_id, _ in first}) == 4
    assert len({trace_id for trace_id, _, _ in first}) == 1


def test_records_of_another_conversation_or_prompt_are_of_another_trace() -> None:
    other = record("codex.user_prompt", {"prompt": "Hi", "conversation.id": "c2"})
    traces = {spans(prompt())[0].trace_id, spans(other)[0].trace_id, spans(prompt(), prompt_id=8)[0].trace_id}
    assert len(traces) == 3


def test_records_that_name_a_trace_are_of_that_trace() -> None:
    (asked,) = spans(prompt(traceId=TRACE, spanId=SPAN))
    assert (asked.trace_id.hex(), asked.parent_span_id) == (TRACE, bytes.fromhex(SPAN))


@pytest.mark.parametrize(
    ("failed", "message"),
    [
        (record("codex.api_request", {"error.message": "429"}), "429"),
        (record("codex.sse_event", {"event.kind": "response.failed", "error.message": "overloaded"}), "overloaded"),
        (record("codex.tool_result", RAN | {"success": "false"}), ""),
    ],
)
def test_a_failed_step_is_a_failed_span(failed: dict[str, Any], message: str) -> None:
    (span,) = spans(failed)
    assert span.failed
    assert json.loads(bytes(span.raw))["status"]["message"] == message


def test_a_record_without_a_time_has_that_of_its_event() -> None:
    written = {"prompt": "Hi", "event.timestamp": "2026-11-18T11:06:40.500Z"}
    (asked,) = spans(record("codex.user_prompt", written, observedTimeUnixNano=None))
    assert asked.start_ns == 1_795_000_000 * SECOND_NS + SECOND_NS // 2


@pytest.mark.parametrize(
    "other",
    [
        record("codex.api_request", {"http.response.status_code": 200}),
        record("codex.sse_event", {"event.kind": "response.output_text.delta"}),
        record("codex.tool_decision", {"tool_name": "shell", "decision": "approved"}),
        record("codex.conversation_starts", {}),
        record("gen_ai.choice", {}),
        record("codex.user_prompt", {"conversation.id": 7}),
        record("codex.user_prompt", {}, observedTimeUnixNano=None),
        record("codex.user_prompt", {}, attributes=[]),
        {"eventName": "codex."},
        record("codex.user_prompt", {f"attribute {number}": 1 for number in range(ATTRIBUTES_MAX)}),
    ],
)
def test_other_records_are_no_spans(other: dict[str, Any]) -> None:
    assert spans(other) == []


def test_a_malformed_record_is_left_out() -> None:
    assert len(spans({"attributes": "x"}, prompt())) == 1  # type: ignore[dict-item]


def test_a_redacted_prompt_is_no_word_of_the_user() -> None:
    (asked,) = spans(prompt("[REDACTED]"))
    assert "gen_ai.input.messages" not in asked.attributes


def of_claude(name: str, recorded: dict[str, Any], **fields: Any) -> dict[str, Any]:
    named = {"event.name": name, "session.id": "s1"} | recorded
    body = {"stringValue": f"claude_code.{name}"}
    return {"timeUnixNano": str(AT_NS), "body": body, "attributes": pairs_of(named)} | fields


def of_gemini(name: str, recorded: dict[str, Any], **fields: Any) -> dict[str, Any]:
    named = {"event.name": f"gemini_cli.{name}", "session.id": "s1"} | recorded
    return {"timeUnixNano": str(AT_NS), "attributes": pairs_of(named)} | fields


COUNTED = {"model": "opus", "input_tokens": 2, "output_tokens": 3, "cache_read_tokens": 5, "cache_creation_tokens": 7}


@pytest.mark.parametrize("protobuf", [False, True])
def test_records_of_claude_code_without_a_trace_are_spans(protobuf: bool) -> None:
    ran = {"tool_name": "Bash", "tool_use_id": "t", "tool_input": "{}", "success": "false", "error": "no"}
    steps = [
        of_claude("user_prompt", {"prompt": "Hi"}),
        of_claude("api_request", COUNTED),
        of_claude("tool_result", ran),
        of_claude("assistant_response", {"response": "Hello"}),
        of_claude("tool_decision", {"tool_name": "Bash"}),
    ]

    asked, called, tool, answered = spans(*steps, protobuf=protobuf)

    assert asked.attributes["gen_ai.input.messages"] == '[{"role":"user","content":"Hi"}]'
    assert [called.attributes[f"gen_ai.usage.{name}"] for name in ("input_tokens", "output_tokens")] == [14, 3]
    assert (tool.attributes["gen_ai.tool.call.arguments"], tool.failed, asked.failed) == ("{}", True, False)
    assert answered.attributes["gen_ai.output.messages"] == '[{"role":"assistant","content":"Hello"}]'
    assert not {"prompt", "tool_input", "response"} & {*asked.attributes, *tool.attributes, *answered.attributes}


@pytest.mark.parametrize("make", [of_claude, of_gemini])
def test_records_complete_spans_if_their_session_has_a_trace(make: Any) -> None:
    traced = make("user_prompt", {"prompt": "Hi"}, traceId=TRACE, spanId=SPAN)

    assert spans(traced, make("user_prompt", {"prompt": "And?"})) == []
    assert len(spans(traced, make("user_prompt", {"prompt": "Other", "session.id": "s2"}))) == 1


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        (
            '[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]},{"candidates":[{"content":{"parts":[{"text":"b"}]}}]}]',
            "ab",
        ),
        ('[{"candidates":[{"content":{"parts":[{"text":"t","thought":true},{"text":"a"}]}}]}]', "a"),
        ('[{"candidates":[{"content":{"parts":[{"text":"a"},{"functionCall":{"name":"f"}}]}}]}]', None),
        ('[{"candidates":[]},7,{"candidates":[{"content":{"parts":[7,{"text":7}]}}]}]', None),
        ("[{", None),
        ("", None),
    ],
)
def test_the_answer_of_gemini_cli_is_joined(pieces: str, words: str | None) -> None:
    (called,) = spans(of_gemini("api_response", {"model": "g", "input_token_count": 1, "response_text": pieces}))

    expected = None if words is None else json.dumps([{"role": "assistant", "content": words}], separators=(",", ":"))
    assert called.attributes.get("gen_ai.output.messages") == expected


@pytest.mark.parametrize("words", ["<REDACTED>", "", "[REDACTED]"])
def test_redacted_questions_of_claude_code_have_no_words(words: str) -> None:
    (asked,) = spans(of_claude("user_prompt", {"prompt": words}))
    assert "gen_ai.input.messages" not in asked.attributes


@pytest.mark.parametrize("session", [None, 7, True])
def test_records_of_claude_code_without_a_session_are_ignored(session: Any) -> None:
    assert spans(of_claude("user_prompt", {"prompt": "Hi", "session.id": session})) == []
