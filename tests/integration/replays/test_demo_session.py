"""The demo: a recorded session with tools, a test case, and a replay that shows every result, from the first start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from app.services.operations import demo
from app.services.operations.demo import DemoSession
from tests.integration.replays.recording import finished, results
from tests.support.deployment import EmbeddedServer
from tests.support.exports import export, span
from tests.support.waiting import wait_until
from tests.support.world import World


def seeded(world: World) -> int:
    """The demo's prompt, seeded twice."""
    services = world.container.services
    prompt = services.prompt_editor.create(
        project_id=world.project_id, organization_id=world.organization_id, new=demo.PROMPT
    )
    session = DemoSession(
        database=world.container.database,
        now=world.container.now,
        ingest=services.ingest,
        test_cases=services.test_cases,
        replays=services.replays,
    )
    for _ in range(2):
        session.seed(project_id=world.project_id, prompt_id=prompt.prompt_id)
    return prompt.prompt_id


def test_the_demo_is_one_session_one_test_case_and_one_replay(world: World) -> None:
    prompt_id = seeded(world)

    (session,) = world.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json["entries"]
    (case,) = world.get(f"/api/v1/prompts/{prompt_id}/test-cases").json["testCases"]
    (replay,) = world.get(f"/api/v1/prompts/{prompt_id}/replays").json["replays"]
    assert (session["turns"], case["sessionId"], replay["testCaseId"]) == (3, session["id"], case["id"])


def test_the_demos_session_is_not_the_first_trace_of_a_project(world: World) -> None:
    prompt_id = seeded(world)

    def has_trace() -> bool:
        return world.container.services.overview.progress(project_id=world.project_id).has_trace

    assert not has_trace()
    world.send(export(span({"service.prompt.id": prompt_id})))
    assert has_trace()


def test_the_demos_session_costs_nothing_and_lacks_no_price(world: World) -> None:
    (entry,) = world.get(f"/api/v1/prompts/{seeded(world)}/logs?type=otel").json["entries"]

    session = world.get(f"/api/v1/sessions/{entry['id']}").json

    assert (session["cost"]["total"], session["unpricedModels"]) == (0, [])


def test_the_demos_replay_fails_at_the_changed_argument(world: World) -> None:
    (replay,) = world.get(f"/api/v1/prompts/{seeded(world)}/replays").json["replays"]
    world.container.replay_delivery.send([replay["id"]])

    played = finished(world, replay["id"])

    assert results(played) == [["passed", "passed"], ["failed", "ignored"], ["not_run", "not_run"]]
    assert played["turns"][1]["steps"][0]["diff"][0]["path"] == "/city"
    assert played["status"] == "failed"


def test_a_first_start_plays_the_demo_and_a_second_adds_nothing(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        client = server.client()
        (prompt,) = client.get("/api/v1/prompts").json()["prompts"]
        path = f"/api/v1/prompts/{prompt['id']}/replays"

        def replays() -> Any:
            listed = client.get(path).json()["replays"]
            return listed if listed and listed[0]["finishedAt"] else None

        first = wait_until(replays, "the demo's replay")
        server.process.terminate()
        server.process.start()

        assert wait_until(replays, "the second start") == first
        assert client.get("/api/v1/prompts").json()["prompts"][0]["_count"] == {"testCases": 1}
