"""The batches that real SDKs exported give the expected sessions, over HTTP."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from tests.support import protobuf
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.steps import without_measures
from tests.support.world import World

DATA = Path(__file__).parents[2] / "data" / "otlp"
EXPECTED: dict[str, Any] = json.loads((DATA / "expected.json").read_text())
Send = Callable[[World, Any], tuple[int, str]]
SHOWN_OF_TURN = ("user", "placeholders", "offeredTools", "promptVersion")


def rewritten(batch: Any, ids: dict[int, int], traces: dict[str, str]) -> Any:
    """The batch with prompts of ours, and trace ids that no other test has."""
    if isinstance(batch, list):
        return [rewritten(item, ids, traces) for item in batch]
    if not isinstance(batch, dict):
        return batch
    if batch.get("key") == "service.prompt.id":
        kind, value = next(iter(batch["value"].items()))
        new = ids[int(value)]
        return {"key": "service.prompt.id", "value": {kind: str(new) if isinstance(value, str) else new}}
    fresh = {key: rewritten(value, ids, traces) for key, value in batch.items()}
    if "traceId" in fresh:
        fresh["traceId"] = traces.setdefault(fresh["traceId"], secrets.token_hex(16))
    return fresh


def names(tools: list[Any] | None) -> list[str] | None:
    return None if tools is None else [tool if isinstance(tool, str) else tool["name"] for tool in tools]


def as_json(world: World, batch: Any) -> tuple[int, str]:
    answer = world.send(batch)
    return answer.status_code, answer.json["partialSuccess"].get("rejectedSpans", "0")


def to_another_prompt(world: World, batch: Any) -> tuple[int, str]:
    """In protobuf, to the address of a prompt that no span names; a span without a prompt is not rejected there."""
    answer = world.send_to(world.prompt(), protobuf.traces(batch))
    return answer.status_code, str(ExportTraceServiceResponse.FromString(answer.content).partial_success.rejected_spans)


@EMBEDDED_CONTAINER
@pytest.mark.parametrize("send", [as_json, to_another_prompt])
@pytest.mark.parametrize("run", EXPECTED)
def test_an_export_gives_the_sessions_that_it_recorded(world: World, run: str, send: Send) -> None:
    ids = {4242: world.prompt(), 4243: world.prompt()}
    traces: dict[str, str] = {}

    for request in EXPECTED[run]["requests"]:
        batch = json.loads((DATA / request["file"]).read_text())
        status, rejected = send(world, rewritten(batch, ids, traces))
        assert status in request["status"]
        assert rejected in request["rejectedSpans"] or send is to_another_prompt

    check_sessions(world, run, ids, traces)


@EMBEDDED_CONTAINER
@pytest.mark.parametrize("run", [run for run in EXPECTED if run not in {"nm.two_prompts", "nm.partial_prompt_id"}])
def test_spans_that_name_no_prompt_give_the_same_sessions_at_its_address(world: World, run: str) -> None:
    ids = {4242: world.prompt(), 4243: world.prompt()}
    traces: dict[str, str] = {}

    for request in EXPECTED[run]["requests"]:
        batch = json.loads((DATA / request["file"]).read_text().replace("service.prompt.id", "app.unused"))
        answer = world.send_to(ids[4242], protobuf.traces(rewritten(batch, ids, traces)))
        assert (answer.status_code, answer.content) == (200, b"")

    check_sessions(world, run, ids, traces)


def check_sessions(world: World, run: str, ids: dict[int, int], traces: dict[str, str]) -> None:
    shown = [session for prompt_id in ids.values() for session in sessions_of(world, prompt_id)]
    if run != "nm.two_prompts":
        assert len(shown) == len(EXPECTED[run]["sessions"])
    for expected in EXPECTED[run]["sessions"]:
        found = [session for session in shown if session["conversationId"] == expected["conversationId"]]
        assert merged(found) == [turn_of(turn, traces) for turn in expected["turns"]]


def sessions_of(world: World, prompt_id: int) -> list[dict[str, Any]]:
    logs = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"]
    return [world.get(f"/api/v1/sessions/{entry['id']}").json for entry in logs]


def merged(sessions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The turns; those of a trace that two prompts share are one, as the expectation counts them."""
    turns: dict[str, dict[str, Any]] = {}
    for turn in sorted((turn for session in sessions for turn in session["turns"]), key=lambda t: t["startedAt"]):
        one = {"traceId": turn["traceId"], "steps": steps_of(turn), "spans": len(turn["spans"])}
        one |= {key: turn[key] for key in SHOWN_OF_TURN} | {"offeredTools": names(turn["offeredTools"])}
        if known := turns.get(turn["traceId"]):
            one |= {"steps": known["steps"] + one["steps"], "spans": known["spans"] + one["spans"]}
            one |= {"user": known["user"]}
        turns[turn["traceId"]] = one
    return list(turns.values())


def steps_of(turn: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the steps in the form of the expectation: errors as flags, without costs."""
    told = [without_measures(step) for step in turn["steps"]]
    return [{k: bool(v) if k == "error" else v for k, v in step.items() if k != "error" or v} for step in told]


def turn_of(expected: dict[str, Any], traces: dict[str, str]) -> dict[str, Any]:
    return expected | {"traceId": traces[expected["traceId"]], "offeredTools": names(expected["offeredTools"])}
