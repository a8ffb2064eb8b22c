"""Replays with comparisons that once used a worker's processor for minutes: now they end within the budget."""

from __future__ import annotations

from typing import Any

from sqlalchemy import update

from app.models import cases
from tests.integration.replays.recording import finished, start
from tests.support.operations import numbers_that_collide_by_index
from tests.support.waiting import wait_until
from tests.support.world import World

TOO_LONG = "too long to compare"


def prompt(world: World, model: str, *tools: dict[str, Any]) -> int:
    world.container.services.models.sync_catalogue()
    config = {"tools": [{"name": "get_rows", "description": "", "effect": "read"} | tool for tool in tools]}
    body = {"name": "Dear", "value": "Be brief.", "languageModelName": model, "languageModelConfig": config}
    created = world.post("/api/v1/prompts", json=body)
    assert created.status_code == 201, created.text
    prompt_id: int = created.json["prompt"]["id"]
    return prompt_id


def case(world: World, prompt_id: int, question: str, *steps: dict[str, Any], **document: Any) -> int:
    """Return the id of a test case that was stored before its limits were set."""
    written = {"question": "Who?", "expectedAnswer": "Me."}
    made = world.post(f"/api/v1/prompts/{prompt_id}/test-cases", json=written)
    assert made.status_code == 201, made.text
    stored = {"turns": [{"user": question, "steps": list(steps)}], **document}
    change = update(cases.test_cases).where(cases.test_cases.c.id == made.json["id"])
    with world.container.database.write() as connection:
        connection.execute(change.values(document=stored, fingerprint=""))
    case_id: int = made.json["id"]
    return case_id


def played(world: World, case_id: int) -> dict[str, Any]:
    """Return the replay after its end; until then, other requests are answered."""
    replay_id = start(world, case_id)
    answered = 0

    def ended() -> bool:
        nonlocal answered
        answered += world.get("/api/v1/prompts").status_code == 200
        return bool(world.get(f"/api/v1/replays/{replay_id}").json["finishedAt"])

    wait_until(ended, f"replay {replay_id}")
    assert answered
    return finished(world, replay_id)


def verdicts(replay: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(step["result"], step.get("reason")) for turn in replay["turns"] for step in turn["steps"]]


def answer(text: str, **check: Any) -> dict[str, Any]:
    return {"kind": "answer", "text": text, "check": check}


def test_twelve_thousand_numbers_that_were_recorded_are_compared_with_as_many_others(world: World) -> None:
    asked, recorded = (" ".join(map(str, range(first, first + 12_000))) for first in (20_000, 50_000))
    case_id = case(world, prompt(world, "echo"), asked, answer(recorded, answer="facts"))

    replay = played(world, case_id)

    assert replay["status"] == "passed", "the user's words need no other source"
    assert len(replay["turns"][0]["steps"][0]["facts"]["kept"]) == 0


def test_an_answer_of_a_megabyte_of_numbers_needs_review(world: World) -> None:
    asked, recorded = (" ".join(map(str, range(first, first + 70_000))) for first in (100_000, 500_000))
    case_id = case(world, prompt(world, "echo"), asked, answer(recorded, answer="meaning"))

    replay = played(world, case_id)

    assert (replay["status"], verdicts(replay)) == ("needs_review", [("needs_review", TOO_LONG)])


def test_six_thousand_matchers_are_looked_up_in_six_thousand_keys(world: World) -> None:
    rows = {f"k{n}": n for n in range(6_000)}
    matchers = {f"/k{n}": "any" for n in range(6_000)}
    step = {"kind": "tool_call", "name": "get_rows", "arguments": rows, "result": "ok", "check": {}}
    rules = {"get_rows": {"arguments": matchers}}
    case_id = case(world, prompt(world, "demo-agent", {}), "Go", step, answer("ok"), tools=rules)

    assert played(world, case_id)["status"] == "passed"


def test_arguments_with_numbers_that_collide_with_their_indexes_are_looked_up_like_others(world: World) -> None:
    step = {"kind": "tool_call", "name": "get_rows", "arguments": numbers_that_collide_by_index(16_000), "check": {}}
    case_id = case(world, prompt(world, "echo", {}), "Go", step, answer("Go"))

    assert verdicts(played(world, case_id)) == [("failed", "get_rows was never called"), ("passed", None)]
