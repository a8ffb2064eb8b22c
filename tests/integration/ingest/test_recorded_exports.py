"""The batches that real SDKs exported give the sessions that were said of them, over HTTP, on each backend."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

import pytest

from tests.support.world import World

DATA = Path(__file__).parents[2] / "data" / "otlp"
EXPECTED: dict[str, Any] = json.loads((DATA / "expected.json").read_text())
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


@pytest.mark.parametrize("run", EXPECTED)
def test_an_export_gives_the_sessions_that_it_recorded(world: World, run: str) -> None:
    ids = {4242: world.prompt(), 4243: world.prompt()}
    traces: dict[str, str] = {}

    for request in EXPECTED[run]["requests"]:
        batch = json.loads((DATA / request["file"]).read_text())
        answer = world.send(rewritten(batch, ids, traces))
        assert answer.status_code in request["status"], answer.text
        rejected = answer.json["partialSuccess"].get("rejectedSpans", "0")
        assert rejected in request["rejectedSpans"]

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
    """As the expectation writes them: it says that a tool failed, not with which words."""
    return [{k: bool(v) if k == "error" else v for k, v in step.items() if k != "error" or v} for step in turn["steps"]]


def turn_of(expected: dict[str, Any], traces: dict[str, str]) -> dict[str, Any]:
    return expected | {"traceId": traces[expected["traceId"]], "offeredTools": names(expected["offeredTools"])}
