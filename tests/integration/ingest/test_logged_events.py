"""Log records that are no messages of the conventions: Claude Code's words, and the exceptions of model calls."""

from __future__ import annotations

import secrets
from typing import Any

import pytest

from tests.integration.ingest.test_log_records import chat, record, said, send, turn
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.exports import export, span
from tests.support.protobuf import traces
from tests.support.world import World

EXCEPTION = "gen_ai.client.operation.exception"
PREFIX = "claude_code."


def claude(kind: str, parent: dict[str, Any] | None = None, **attributes: Any) -> dict[str, Any]:
    """A span of Claude Code, within `parent`."""
    trace_id = parent["traceId"] if parent else secrets.token_hex(16)
    ids = {"traceId": trace_id, "spanId": secrets.token_hex(8), "parentSpanId": parent and parent["spanId"]}
    whole = span({"span.type": kind, **attributes}, name=f"{PREFIX}{kind}", **ids)
    return whole | {"attributes": whole["attributes"][1:]}


def spoken(of: dict[str, Any], name: str, **attributes: Any) -> dict[str, Any]:
    """A record as Claude Code sends it: the body is the whole name, the attribute lacks the prefix."""
    body = {"stringValue": f"{PREFIX}{name}"}
    return record(of, "", {"event.name": name, **attributes}, body=body)


@pytest.mark.parametrize("first", ["spans", "records"])
@pytest.mark.parametrize("on", ["llm_request", "interaction"])
def test_the_words_of_claude_code_are_those_of_its_turn(world: World, first: str, on: str) -> None:
    prompt_id = world.prompt()
    interaction = claude("interaction")
    request = claude("llm_request", interaction, **{"gen_ai.request.model": "claude-sonnet-4-5", "output_tokens": 3})
    holder = request if on == "llm_request" else interaction
    records = [spoken(holder, "user_prompt", prompt="Where?"), spoken(holder, "assistant_response", response="Here.")]
    if first == "records":
        world.log(records, prompt_id)
    world.send_to(prompt_id, traces(export(interaction, request)))
    if first == "spans":
        world.log(records, prompt_id)

    assert said(world, prompt_id) == ("Where?", ["Here."])
    assert turn(world, prompt_id)["warnings"] == []


@EMBEDDED_CONTAINER
@pytest.mark.parametrize(
    ("attributes", "response"),
    [({}, "<REDACTED>"), ({}, ""), ({"stop_reason": "tool_use"}, "Let me look.")],
)
def test_a_redacted_response_and_text_before_a_tool_are_no_answers(
    world: World, attributes: dict[str, Any], response: str
) -> None:
    prompt_id, request = world.prompt(), claude("llm_request", user_prompt="Where?", **attributes)
    send(world, prompt_id, request)
    world.log([spoken(request, "assistant_response", response=response)], prompt_id)

    assert said(world, prompt_id) == ("Where?", [])


@EMBEDDED_CONTAINER
def test_a_record_of_claude_code_may_have_its_whole_name_as_that_of_the_event(world: World) -> None:
    prompt_id, request = world.prompt(), claude("llm_request", user_prompt="Where?")
    send(world, prompt_id, request)
    world.log([record(request, f"{PREFIX}assistant_response", {"response": "Here."})], prompt_id)
    world.log([record(request, f"{PREFIX}api_request", {"response": "Nowhere."})], prompt_id)

    assert said(world, prompt_id) == ("Where?", ["Here."])


@pytest.mark.parametrize("first", ["span", "record"])
def test_a_logged_exception_is_the_error_of_its_model_call(world: World, first: str) -> None:
    prompt_id = world.prompt()
    failed = chat(**{"error.type": "RateLimitError"}) | {"status": {"code": 2}}
    logged = record(failed, EXCEPTION, {"exception.type": "RateLimitError", "exception.message": "Try again in 20 s."})
    if first == "record":
        world.log([logged], prompt_id)
    send(world, prompt_id, failed)
    if first == "span":
        world.log([logged], prompt_id)

    assert [shown["error"] for shown in turn(world, prompt_id)["spans"]] == ["Try again in 20 s."]


@EMBEDDED_CONTAINER
def test_a_logged_exception_counts_also_if_the_span_has_its_messages(world: World) -> None:
    event = {"name": "gen_ai.user.message", "attributes": [{"key": "content", "value": {"stringValue": "Where?"}}]}
    failed = chat() | {"status": {"code": 2}, "events": [event]}
    prompt_id = world.prompt()
    send(world, prompt_id, failed)
    world.log([record(failed, EXCEPTION, {"exception.message": "No quota."}), record(failed)], prompt_id)

    found = turn(world, prompt_id)
    assert (found["user"], found["spans"][0]["error"]) == ("Where?", "No quota.")
