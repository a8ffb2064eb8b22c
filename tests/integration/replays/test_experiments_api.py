"""Experiments over the API: their verdicts, what they play, and what they play again."""

from __future__ import annotations

from typing import Any

from tests.integration.replays.recording import prompt
from tests.support.waiting import wait_until
from tests.support.world import World


def start(world: World, prompt_id: int, **body: Any) -> str:
    accepted = world.post(f"/api/v1/prompts/{prompt_id}/experiments", json=body)
    assert accepted.status_code == 202, accepted.text
    assert accepted.json.keys() == {"id", "status", "promptId"}
    path: str = accepted.headers["Location"]
    assert path == f"/api/v1/experiments/{accepted.json['id']}"
    return path


def ended(world: World, path: str) -> dict[str, Any]:
    def found() -> Any:
        experiment = world.get(path).json
        return experiment if experiment["finishedAt"] else None

    experiment: dict[str, Any] = wait_until(found, path)
    return experiment


def echo_case(world: World, prompt_id: int, question: str = "Ping", answer: str = "Ping") -> int:
    made = world.post(f"/api/v1/prompts/{prompt_id}/test-cases", json={"question": question, "expectedAnswer": answer})
    assert made.status_code == 201, made.text
    case_id: int = made.json["id"]
    return case_id


def test_equal_sides_pass_with_the_least_replays_and_say_what_would_have_shown(world: World) -> None:
    prompt_id = prompt(world, model="echo")
    echo_case(world, prompt_id)

    found = ended(world, start(world, prompt_id))

    assert (found["status"], found["verdict"], found["reason"]) == (
        "finished",
        "passed",
        "A step that fails more than 44 % of the time would have shown.",
    )
    assert found["progress"] == {"done": 4, "total": 4}
