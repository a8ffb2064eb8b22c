"""Mastra's messages, and those of agents, workflows and turns around model calls."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.otlp.decode import decode
from app.otlp.normalise import NormalisedMessage, ToolUse
from app.sessions.build import build_session
from app.sessions.types import Turn
from tests.support.exports import export, span
from tests.support.normalized_spans import normal

ASKED = [{"role": "user", "content": "Hi"}]


@pytest.mark.parametrize("asked", ["Hi", json.dumps(ASKED), json.dumps({"messages": ASKED}), str(ASKED)])
@pytest.mark.parametrize("kind", ["agent_run", "model_generation", "workflow_run"])
def test_mastra_names_the_input_by_the_kind_of_its_span(asked: str, kind: str) -> None:
    recorded = {"mastra.span.type": kind, f"mastra.{kind}.input": asked, f"mastra.{kind}.output": '{"text": "Hello"}'}

    agent = normal(recorded)

    assert agent.is_agent
    assert agent.input_messages == (NormalisedMessage("user", "Hi"),)
    assert agent.output_messages == (NormalisedMessage("assistant", "Hello"),)


def test_mastra_s_tools_have_arguments_and_a_result() -> None:
    recorded = {"mastra.span.type": "tool_call", "mastra.tool_call.input": '{"a": 1}', "mastra.tool_call.output": "2"}

    assert normal(recorded).tool == ToolUse(None, None, {"a": 1}, 2)
    assert normal({"mastra.span.type": "agent_run", "mastra.agent_run.input": "Hi"}).tool == ToolUse()


def turn(*spans: dict[str, Any]) -> Turn:
    (built,) = build_session([decode(export(*spans)).spans])
    return built


def around(operation: str, number: int, parent: int | None = None, output: str = "Hello") -> dict[str, Any]:
    recorded = {
        "gen_ai.operation.name": operation,
        "gen_ai.input.messages": json.dumps(ASKED),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "content": output}] if output else []),
    }
    return span(recorded, spanId=f"{number:016x}", **({"parentSpanId": f"{parent:016x}"} if parent else {}))


@pytest.mark.parametrize("operation", ["invoke_agent", "invoke_workflow", "handle_conversation_turn"])
def test_the_words_around_model_calls_without_any_are_the_turn_s(operation: str) -> None:
    built = turn(around(operation, 1), span({"gen_ai.operation.name": "chat"}, spanId=f"{2:016x}"))

    assert (built.user, [step.text for step in built.steps]) == ("Hi", ["Hello"])
    assert built.warnings == ()


def test_the_answer_is_that_of_the_outermost_with_an_answer() -> None:
    both = turn(around("invoke_workflow", 1), around("invoke_agent", 2, 1, "Inner"))
    inner = turn(around("invoke_workflow", 1, output=""), around("invoke_agent", 2, 1, "Inner"))

    assert [step.text for step in both.steps] == ["Hello"]
    assert [step.text for step in inner.steps] == ["Inner"]
