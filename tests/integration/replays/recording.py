"""Prompts with tools, recorded sessions of them, and replays waited for: what the tests of replays share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.support.conversations import RecordedCall, RecordedTurn, export
from tests.support.waiting import wait_until
from tests.support.world import World

START_NS = 1_760_000_000_000_000_000


def tool(name: str, argument: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return {"name": name, "description": "", "parameters": parameters}


TOOLS = [tool("weather", "city"), tool("book", "hotel")]
ROME = RecordedCall("weather", {"city": "Rome"}, {"degrees": 31})
HOT = RecordedTurn("How hot is Rome?", "It is 31 °C in Rome.", (ROME,))
BOOKED = RecordedTurn("Book the Hassler.", "Done.", (RecordedCall("book", {"hotel": "Hassler"}, "ok"),))
THANKS = RecordedTurn("Thanks!", "You are welcome.")


def prompt(world: World, model: str = "gpt-4o-mini", **fields: Any) -> int:
    """A committed prompt with two tools."""
    body = {
        "name": "Concierge",
        "value": "Be {{tone}}.",
        "languageModelName": model,
        "languageModelConfig": {"tools": TOOLS},
        "placeholders": [{"key": "tone", "values": [{"name": "kind", "content": "kind", "isDefault": True}]}],
        **fields,
    }
    created = world.post("/api/v1/prompts", json=body)
    assert created.status_code == 201, created.text
    prompt_id: int = created.json["prompt"]["id"]
    return prompt_id


def record(world: World, prompt_id: int, turns: Sequence[RecordedTurn] = (HOT, BOOKED, THANKS)) -> str:
    """The id of a session that was sent as an exporter sends it."""
    sent = world.send(export(prompt_id, "conversation", turns, start_ns=START_NS))
    assert (sent.status_code, sent.json) == (200, {"partialSuccess": {}})
    entries = world.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json["entries"]
    session_id: str = entries[0]["id"]
    return session_id


def make_case(world: World, session_id: str, **body: Any) -> dict[str, Any]:
    made = world.post(f"/api/v1/sessions/{session_id}/test-cases", json=body)
    assert made.status_code == 201, made.text
    case: dict[str, Any] = made.json
    return case


def start(world: World, test_case_id: int, **body: Any) -> int:
    accepted = world.post(f"/api/v1/test-cases/{test_case_id}/replays", json=body)
    assert accepted.status_code == 202, accepted.text
    assert accepted.headers["Location"] == f"/api/v1/replays/{accepted.json['id']}"
    replay_id: int = accepted.json["id"]
    return replay_id


def finished(world: World, replay_id: int) -> dict[str, Any]:
    def ended() -> Any:
        replay = world.get(f"/api/v1/replays/{replay_id}").json
        return replay if replay["finishedAt"] else None

    replay: dict[str, Any] = wait_until(ended, f"replay {replay_id}")
    return replay


def replayed(world: World, test_case_id: int, **body: Any) -> dict[str, Any]:
    return finished(world, start(world, test_case_id, **body))


def results(replay: dict[str, Any]) -> list[list[str]]:
    return [[step["result"] for step in turn["steps"]] for turn in replay["turns"]]


def calibrate(world: World, test_case_id: int, **body: Any) -> dict[str, Any]:
    """Calibrate a test case, and return the calibration when it has ended."""
    accepted = world.post(f"/api/v1/test-cases/{test_case_id}/calibrations", json=body)
    assert accepted.status_code == 202, accepted.text
    assert accepted.json.keys() == {"id", "status", "testCaseId"}
    assert accepted.headers["Location"] == f"/api/v1/calibrations/{accepted.json['id']}"
    return ended_calibration(world, accepted.json["id"])


def ended_calibration(world: World, calibration_id: int) -> dict[str, Any]:
    path = f"/api/v1/calibrations/{calibration_id}"

    def ended() -> Any:
        found = world.get(path).json
        return found if found["status"] not in ("queued", "running") else None

    calibration: dict[str, Any] = wait_until(ended, path)
    return calibration
