"""What traces of real SDKs record of an agent itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.otlp.decode import decode
from app.sessions import agents
from app.sessions.agents import RecordedAgent, recorded_agent
from tests.support.exports import export, span

RECORDED = Path(__file__).parents[2] / "data" / "otlp"
SUPPORT = "You are a support agent. Answer in a friendly tone, in english."
TOOLS = ["get_weather", "convert_temperature", "lookup_order"]


def recorded(name: str) -> RecordedAgent | None:
    return recorded_agent(decode((RECORDED / f"{name}.json").read_bytes(), 1).spans)


def of(*attributes: dict[str, Any]) -> RecordedAgent | None:
    spans = [
        span({"gen_ai.operation.name": "chat"} | each, traceId=f"{number:032x}", spanId=f"{number:016x}")
        for number, each in enumerate(attributes, 1)
    ]
    return recorded_agent(decode(export(*spans), 1).spans)


@pytest.mark.parametrize(
    ("name", "model", "tools"),
    [
        ("padk.tools_parallel.1", "gemini-2.5-flash", TOOLS),
        ("padko.tools_parallel.1", "gemini-2.5-flash", TOOLS),
        ("plfa.tools_parallel.1", "gpt-4o-mini", TOOLS),
        ("pst.tools_parallel.1", "gpt-4o-mini", None),
        ("ptlh.tools_parallel.1", "claude-sonnet-4-5", TOOLS),
        ("poil.tools_sequential.1", "gpt-4o-mini", TOOLS),
    ],
)
def test_the_instruction_model_and_tools_of_an_agent_are_found(name: str, model: str, tools: list[str] | None) -> None:
    found = recorded(name)

    assert found is not None
    assert found.instruction.startswith(SUPPORT)
    assert found.model == model
    if tools is not None:
        assert [tool["name"] for tool in found.tools] == tools


def test_parameters_come_from_single_attributes_or_from_one_with_all_as_json() -> None:
    said = {"gen_ai.system_instructions": '[{"type": "text", "content": "Be kind."}]'}
    one = of(said | {"gen_ai.request.temperature": 0.5, "gen_ai.request.stop_sequences": ["END"]})
    other = of(said | {"llm.invocation_parameters": '{"max_output_tokens": 9, "topP": 0.3, "seed": 4, "n": 1}'})

    assert one is not None
    assert one.parameters == {"temperature": 0.5, "stop": ["END"]}
    assert other is not None
    assert other.parameters == {"max_tokens": 9, "top_p": 0.3, "seed": 4}


def test_the_first_trace_with_an_instruction_counts_and_few_traces_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    kind, stern = ({"gen_ai.system_instructions": text} for text in ("Be kind.", "Be stern."))

    first = of({}, kind, stern)
    monkeypatch.setattr(agents, "TRACES_MAX", 1)

    assert first is not None
    assert first.instruction == "Be kind."
    assert of({}, kind) is None
    monkeypatch.setattr(agents, "BYTES_MAX", 10)
    assert of(kind) is None


@pytest.mark.parametrize("value", ["", "[]", "{}", [], {"parts": 3}, {"parts": []}, {"config": 3}, [[[[]]]], None])
def test_an_attribute_without_a_text_is_no_instruction(value: Any) -> None:
    names = ("gen_ai.system_instructions", "system_prompt", "response", "gcp.vertex.agent.llm_request")

    assert of(dict.fromkeys(names, value)) is None


SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}}
FORMAT = {"response_format": "json_schema", "json_schema": SCHEMA}


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        ({}, {}),
        ({"gen_ai.output.type": "text"}, {}),
        ({"gen_ai.output.type": "json"}, {"response_format": "json_object"}),
        ({"gen_ai.openai.request.response_format": "json_schema"}, {"response_format": "json_object"}),
        (
            {
                "llm.invocation_parameters": json.dumps(
                    {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}}
                )
            },
            FORMAT,
        ),
        (
            {"llm.invocation_parameters": json.dumps({"text": {"format": {"type": "json_schema", "schema": SCHEMA}}})},
            FORMAT,
        ),
        (
            {
                "llm.invocation_parameters": json.dumps(
                    {"response_mime_type": "application/json", "response_schema": SCHEMA}
                )
            },
            FORMAT,
        ),
        ({"response_format": 7}, {}),
        ({"llm.invocation_parameters": '{"response_format": [1], "text": {"format": 3}}'}, {}),
    ],
)
def test_the_format_of_answers_is_that_of_the_request(recorded: dict[str, Any], expected: dict[str, Any]) -> None:
    agent = of({"gen_ai.system_instructions": "Be kind.", **recorded})

    assert agent is not None
    assert agent.response_format == expected
