"""Converters make spans of any file, or a reason why there are none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reprise_formats.importers import CONVERTERS
from reprise_formats.importers.spans import ImportedSpan, Unreadable, to_otlp

AT_NS = 10**18
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = [
    *("id", "traceId", "trace_id", "type", "name", "startTime", "start_time", "input", "output"),
    *("usageDetails", "observations", "trace", "run_type", "extra", "inputs", "outputs", "parent_run_id"),
    *("error", "context", "attributes", "attributes.metadata", "context.trace_id", "context.span_id"),
    *("status_code", "messages", "tools", "preferred_output", "span_kind"),
]
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "tool", "system"])},
        optional={"content": JSON, "tool_calls": JSON},
    ),
    max_size=5,
)


@pytest.mark.parametrize("tool", CONVERTERS)
@given(
    record=st.dictionaries(st.sampled_from(FIELDS), JSON | MESSAGES | st.sampled_from(["llm", "tool", "GENERATION"]))
)
def test_any_record_gives_spans_or_a_reason(tool: str, record: dict[str, Any]) -> None:
    try:
        spans = [to_otlp(span, "x") for span in CONVERTERS[tool](record, AT_NS)]
    except Unreadable:
        return
    for span in map(json.loads, spans):
        assert int(span["startTimeUnixNano"]) > 0
        assert (len(span["traceId"]), len(span["spanId"])) == (32, 16)
        assert span["name"]


@pytest.mark.parametrize(
    ("tool", "record", "reason"),
    [
        ("langfuse", {}, "has neither traceId nor id"),
        ("langfuse", {"traceId": "t", "type": "SPAN"}, "has no id"),
        ("langfuse", {"traceId": "t", "id": "o"}, "has no type"),
        ("langsmith", {"run_type": "llm"}, "has no id"),
        ("phoenix", {"context": {"trace_id": "t"}}, "has no span_id"),
        ("openai-chat", {"prompt": "x"}, "has no list of messages"),
        ("openai-chat", {"messages": [{"role": "user"}]}, "has no message of the role assistant"),
    ],
)
def test_the_reason_names_what_is_missing(tool: str, record: dict[str, Any], reason: str) -> None:
    with pytest.raises(Unreadable, match=f"^{reason}$"):
        CONVERTERS[tool](record, AT_NS)


def attributes(tool: str, record: dict[str, Any]) -> dict[str, Any]:
    (span,) = CONVERTERS[tool](record, AT_NS)
    return {key: value for key, value in span.attributes.items() if value is not None}


def test_the_project_of_a_langsmith_run_is_not_its_conversation() -> None:
    run = {"id": "r", "session_id": "project", "extra": {"metadata": {"conversation_id": "c", "user_id": 7}}}

    assert attributes("langsmith", run) == {"gen_ai.conversation.id": "c", "user.id": "7"}


def test_objects_in_columns_may_be_json_text() -> None:
    run = {
        "id": "r",
        "run_type": "tool",
        "name": "find",
        "inputs": '{"input": "{\'order\': 1}"}',
        "outputs": '{"output": 7}',
    }

    found = attributes("langsmith", run)

    assert found["gen_ai.tool.call.arguments"] == "{'order': 1}"
    assert found["gen_ai.tool.call.result"] == "7"


def test_an_error_is_that_of_the_span() -> None:
    rows = {
        "langsmith": {"id": "r", "error": "Boom"},
        "langfuse": {"traceId": "t", "id": "o", "type": "TOOL", "level": "ERROR", "statusMessage": "Boom"},
        "phoenix": {"context": {"trace_id": "t", "span_id": "s"}, "status_code": "ERROR", "status_message": "Boom"},
    }
    for tool, record in rows.items():
        (span,) = CONVERTERS[tool](record, AT_NS)
        assert span.error == "Boom"
        assert json.loads(to_otlp(span, "x"))["status"] == {"code": 2, "message": "Boom"}


def test_a_conversation_of_many_calls_is_as_large_as_its_file() -> None:
    call = {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]}
    told = {"role": "tool", "tool_call_id": "c", "content": "x" * 1000}
    record: dict[str, Any] = {
        "messages": [{"role": "user", "content": "Go."}, *[call, told] * 500, {"role": "assistant", "content": "Done."}]
    }

    record["tools"] = [{"type": "function", "function": {"name": "f", "description": "x" * 100_000}}]

    sent = sum(len(to_otlp(span, "x")) for span in CONVERTERS["openai-chat"](record, AT_NS))

    assert sent < 5 * len(json.dumps(record))


def test_half_a_surrogate_pair_and_a_nul_can_be_sent() -> None:
    span = ImportedSpan("t\ud800", "s", None, "a\ud800\u0000", AT_NS, AT_NS, {"b": "\udfff😀"})

    found = json.loads(to_otlp(span, "x").decode("utf-8"))

    assert found["name"] == "a?\u0000"
    assert found["attributes"][0]["value"]["stringValue"] == "?😀"


def test_numbers_that_json_does_not_have_are_a_reason() -> None:
    span = ImportedSpan("t", "s", None, "x", AT_NS, AT_NS, {"b": float("inf")})

    with pytest.raises(Unreadable):
        to_otlp(span, "x")


def test_long_names_around_many_members_are_refused_before_they_are_made() -> None:
    ids = {"context": {"trace_id": "t", "span_id": "s"}}

    def attributes(length: int) -> dict[str, Any]:
        return {"k" * length: {str(n): 1 for n in range(5_000)}}

    [span] = CONVERTERS["phoenix"](ids | {"attributes": attributes(1_000)}, 1)
    assert len(span.attributes) >= 5_000
    with pytest.raises(Unreadable, match="has names of attributes with more than 8000000 characters"):
        CONVERTERS["phoenix"](ids | {"attributes": attributes(10_000)}, 1)
