"""Batches of spans and of log records that grow in one way each: the recorded ones, and made ones."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from copy import copy
from pathlib import Path
from typing import Any

from tests.support.exports import export, pairs_of, span, value_of
from tests.unit.sessions import test_build_costs as built

RECORDED = Path(__file__).parents[2] / "data/otlp"
_NUMBER = re.compile(r"(?<=\.)0(?=\.)")
Make = Callable[[int], bytes]

MADE: tuple[Make, ...] = (
    built.many_spans,
    built.a_chain_of_parents,
    built.a_circle_of_parents,
    built.calls_within_one_that_says_much,
    built.calls_within_one_that_counts_much,
    built.tools_within_tools,
    built.attributes_of_one_key,
    built.numbered_messages,
    built.one_resource_without_a_prompt,
    built.json_in_json,
    built.calls_in_messages,
    built.calls_of_one_id,
    built.equal_calls_and_tool_spans,
    built.responses_without_calls,
)


def logs() -> dict[str, Make]:
    """Return the makers of batches of log records by their names."""
    return {path.stem: _records_of(json.loads(path.read_bytes())) for path in (RECORDED / "logs").glob("*.logs.json")}


def longer_lists(size: int) -> list[bytes]:
    """Return all recorded batches with longer lists of messages, tools and parts."""
    return [
        json.dumps({"resourceSpans": [_stretched(group, size // 8) for group in groups]}).encode()
        for groups in _recorded_groups()
    ]


def other_forms(size: int) -> list[bytes]:
    """Return batches with as many texts, lines, calls and pieces in the forms of single vendors."""
    texts, call = json.dumps(["t"] * size), {"name": "t", "arguments": {}}
    event = {"gen_ai.event.content": '{"role": "assistant", "content": "t"}'}
    pieces = json.dumps([{"role": "model", "parts": [{"text": "t"}]}] * size)
    tools = json.dumps([{"type": "t", "data": {"name": "t"}}] * size)
    arguments = {f"honeyhive_inputs.a{n}": "t" for n in range(size)}
    pieces_of_replicate = {f"gen_ai.completion.{n}.content": "t" for n in range(size)}
    cli = {"gen_ai.operation.name": "llm_call", "gen_ai.agent.name": "gemini-cli", "gen_ai.output.messages": pieces}
    return [
        chat({"gen_ai.response.text": texts, "gen_ai.response.tool_calls": json.dumps([call] * size)}),
        export(span(cli)),
        export(span({"haystack.agent.step.llm.input": tools}, name="haystack.agent.step.llm")),
        export(
            span({"lk.chat_ctx": "{}", "lk.response.text": "", "lk.response.function_calls": json.dumps([call] * size)})
        ),
        export(span({f"a{n}": "t" for n in range(size)} | arguments | {"honeyhive_event_type": "model"})),
        export(span(arguments | {"honeyhive_event_type": "tool"})),
        export(
            span({"gen_ai.prompt.0.user": "t"} | pieces_of_replicate), scope="opentelemetry.instrumentation.replicate"
        ),
        chat({}, events=events("gen_ai.content.prompt", {"gen_ai.prompt": texts}, 1)),
        chat({}, events=events("gen_ai.content.prompt", {"gen_ai.prompt": "user: a\nb\n" * size}, 1), scope="openlit"),
        export(
            span(
                {"gen_ai.operation.name": "process_thread_run", "gen_ai.thread.id": "t"},
                events=events("gen_ai.assistant.message", event, size),
            )
        ),
    ]


def moved_messages(size: int) -> bytes:
    """Return a batch of a record with as many messages in its body."""
    messages = {"messages": [{"role": "user", "content": {"content": "t"}}] * size}
    record = {
        "traceId": "1" * 32,
        "spanId": "1" * 16,
        "eventName": "tracer",
        "body": value_of({"input": messages, "output": messages}),
    }
    return json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}).encode()


def records_of_codex(size: int) -> bytes:
    """Return a batch of as many questions to Codex, and of a tool's result with as many attributes."""
    many = {"event.name": "codex.tool_result", "conversation.id": "c"} | {f"k{n}": "v" for n in range(size)}
    asked = {"event.name": "codex.user_prompt", "conversation.id": "c", "prompt": "a"}
    records = [{"timeUnixNano": str(n + 1), "attributes": pairs_of(asked if n else many)} for n in range(size)]
    return json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}).encode()


def records_of_coding_agents(size: int) -> bytes:
    """Return a batch of questions to Claude Code in as many sessions, and an answer of Gemini CLI in as many pieces."""
    piece = {"candidates": [{"content": {"parts": [{"text": "a"}]}}]}
    said = {"event.name": "gemini_cli.api_response", "session.id": "s", "response_text": json.dumps([piece] * size)}
    asked = [{"event.name": "user_prompt", "session.id": f"s{n}", "prompt": "a"} for n in range(size)]
    body = {"stringValue": "claude_code.user_prompt"}
    records = [
        {"timeUnixNano": "1", "attributes": pairs_of(said)},
        *({"timeUnixNano": str(n + 2), "body": body, "attributes": pairs_of(one)} for n, one in enumerate(asked)),
    ]
    return json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}).encode()


def _recorded_groups() -> Iterator[list[Any]]:
    for path in sorted(RECORDED.glob("*.1.json")):
        yield json.loads(path.read_bytes())["resourceSpans"]


def _records_of(batch: dict[str, Any]) -> Make:
    def make(size: int) -> bytes:
        return json.dumps({"resourceLogs": batch["resourceLogs"] * (size // 10)}).encode()

    return make


def _stretched(value: Any, times: int) -> Any:
    """Return a batch of which the attributes have their lists so many times, in JSON and numbered, too."""
    if isinstance(value, list):
        return [_stretched(entry, times) for entry in value]
    if not isinstance(value, dict):
        return value
    if not isinstance(value.get("attributes"), list):
        return {key: _stretched(inner, times) for key, inner in value.items()}
    pairs = [pair for attribute in value["attributes"] for pair in _longer(attribute, times)]
    return {key: pairs if key == "attributes" else _stretched(inner, times) for key, inner in value.items()}


def _longer(attribute: dict[str, Any], times: int) -> Iterator[dict[str, Any]]:
    key, longer = attribute["key"], copy(attribute)
    match attribute["value"]:
        case {"stringValue": str(text)} if text[:1] in ("[", "{"):
            longer["value"] = {"stringValue": _longer_json(text, times)}
        case {"arrayValue": {"values": list(values)}}:
            longer["value"] = {"arrayValue": {"values": values * times}}
    yield longer
    if _NUMBER.search(key):
        for number in range(100, 100 + times):
            yield {**attribute, "key": _NUMBER.sub(str(number), key, count=1)}


def _longer_json(text: str, times: int) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if isinstance(value, dict):
        return json.dumps({key: inner * times if isinstance(inner, list) else inner for key, inner in value.items()})
    return json.dumps([_longer_parts(entry, times) for entry in value[:1]] + value * times)


def _longer_parts(entry: Any, times: int) -> Any:
    if not isinstance(entry, dict):
        return entry
    return {key: inner * times if isinstance(inner, list) else inner for key, inner in entry.items()}


def chat(attributes: dict[str, Any], scope: str = "test", **fields: Any) -> bytes:
    """Return a batch of one model call."""
    return export(span({"gen_ai.operation.name": "chat"} | attributes, **fields), scope=scope)


def events(name: str, attributes: dict[str, Any], size: int) -> list[dict[str, Any]]:
    return [{"name": name, "timeUnixNano": "1", "attributes": pairs_of(attributes)}] * size
