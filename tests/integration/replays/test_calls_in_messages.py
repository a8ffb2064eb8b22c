"""An agent with an instrumentation that records only model calls: its tool calls are steps that a replay answers."""

from __future__ import annotations

import json
from typing import Any

from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.recording import make_case, prompt, replayed, results
from tests.support.exports import export, span
from tests.support.steps import without_measures
from tests.support.world import World

USER = {"role": "user", "parts": [{"type": "text", "content": "How hot is Rome?"}]}
ASKED = {"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"city": "Rome"}}
TOLD = {"type": "tool_call_response", "id": "c1", "response": {"degrees": 31}}
ANSWER = {"role": "assistant", "parts": [{"type": "text", "content": "It is 31 °C in Rome."}]}


def record(world: World, prompt_id: int) -> str:
    asked = {"role": "assistant", "parts": [ASKED]}
    calls = [([USER], [asked]), ([USER, asked, {"role": "tool", "parts": [TOLD]}], [ANSWER])]
    spans = [model_call(prompt_id, number, *messages) for number, messages in enumerate(calls, 1)]
    sent = world.send(json.loads(export(*spans)))
    assert (sent.status_code, sent.json) == (200, {"partialSuccess": {}})
    session_id: str = world.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json["entries"][0]["id"]
    return session_id


def model_call(prompt_id: int, number: int, inputs: list[Any], outputs: list[Any]) -> dict[str, Any]:
    said = {"gen_ai.input.messages": json.dumps(inputs), "gen_ai.output.messages": json.dumps(outputs)}
    attributes = {"service.prompt.id": prompt_id, "gen_ai.operation.name": "chat", **said}
    times = {"startTimeUnixNano": str(number * 10**9), "endTimeUnixNano": str(number * 10**9 + 5)}
    return span(attributes, spanId=f"{number:016x}", traceId=f"{prompt_id:032x}", **times)


def test_a_call_that_is_only_in_messages_is_a_step_of_the_session(world: World) -> None:
    session_id = record(world, prompt(world))

    (turn,) = world.get(f"/api/v1/sessions/{session_id}").json["turns"]

    assert turn["warnings"] == []
    assert [without_measures(step) for step in turn["steps"]] == [
        {
            "kind": "tool_call",
            "spanId": f"{1:016x}",
            "name": "weather",
            "arguments": {"city": "Rome"},
            "result": {"degrees": 31},
            "error": None,
            "source": "messages",
            "answered": True,
        },
        {"kind": "answer", "spanId": f"{2:016x}", "text": "It is 31 °C in Rome."},
    ]


def test_a_replay_checks_and_answers_it(world: World, upstream: Upstream) -> None:
    case = make_case(world, record(world, prompt(world)))
    upstream.script(Reply(tool_calls=[("weather", {"city": "Rome"})]), Reply(text="It is 31 °C in Rome."))

    replay = replayed(world, case["id"])

    assert results(replay) == [["passed", "passed"]]
    assert json.loads(upstream.requests[1].body["messages"][-1]["content"]) == {"degrees": 31}
    assert case["turns"][0]["steps"][0]["batch"]


def test_a_draft_that_calls_nothing_fails(world: World, upstream: Upstream) -> None:
    case = make_case(world, record(world, prompt(world)))
    upstream.script(Reply(text="It is 31 °C in Rome."))

    assert results(replayed(world, case["id"])) == [["failed", "passed"]]
