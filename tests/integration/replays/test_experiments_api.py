"""Experiments over the API: their verdicts, what they play, and what they play again."""

from __future__ import annotations

from typing import Any

from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.recording import prompt
from tests.integration.runs.test_runs_streaming import events
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


def test_the_events_tell_of_each_change_and_end_with_the_whole(world: World, upstream: Upstream) -> None:
    prompt_id = prompt(world)
    echo_case(world, prompt_id)
    upstream.choose = lambda body: Reply(text="Ping", latency_s=0.2)
    path = start(world, prompt_id)

    answer = world.get(f"{path}/events")

    assert answer.headers["Content-Type"].startswith("text/event-stream")
    found = events(answer)
    assert {kind for kind, _, _ in found[:-1]} <= {"progress"}
    assert [(kind, number) for kind, number, _ in found[-1:]] == [("done", "end")]
    assert found[-1][2] == world.get(path).json
    assert world.get(f"{path}/events", headers={"Last-Event-ID": "end"}).status_code == 204
