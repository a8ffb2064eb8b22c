"""Experiments over the API: their verdicts, and what they look like while they go on and after that."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.experimenting import (
    PING,
    PONG,
    behave,
    case,
    changed_prompt,
    ended,
    experiment,
    held_baseline,
    run,
    statuses,
    verdict,
)
from tests.integration.replays.recording import prompt
from tests.integration.runs.test_runs_streaming import events
from tests.support.waiting import wait_until
from tests.support.world import World, new_world


def test_sides_that_pass_alike_pass_with_the_least_replays_and_report_what_would_have_shown(
    world: World, upstream: Upstream
) -> None:
    prompt_id = changed_prompt(world, cases=2)
    behave(upstream, PING)

    found = run(world, prompt_id)

    assert verdict(found) == ("finished", "passed")
    assert found["reason"] == "A step that fails more than 44 % of the time would have shown."
    assert found["detectable"] == pytest.approx(1 - 0.1**0.25)
    assert found["progress"] == {"done": 16, "total": 16}
    # A replay that an earlier test left may still ask something else.
    asked = [request.body["messages"][-1]["content"] for request in upstream.requests]
    assert sum(question.startswith("Ping") for question in asked) == 16
    assert [each["class"] for each in found["testCases"]] == ["stable_pass"] * 2
    for side in (found["testCases"][0]["candidate"], found["testCases"][0]["baseline"]):
        assert (side["runs"], side["passed"], side["passRate"], side["passK"]) == (4, 4, 1, [1, 1, 1, 1])
        assert (len(set(side["replayIds"])), side["failedReplayIds"], side["reused"]) == (4, [], 0)
        assert side["interval"] == [pytest.approx(0.5101, abs=1e-4), 1]
        assert 0 < side["latency"]["p50"] <= side["latency"]["p95"]
        assert side["tokens"]["total"] > 0
    sides = [side for each in found["testCases"] for side in (each["candidate"], each["baseline"])]
    assert found["cost"]["total"] == pytest.approx(sum(side["cost"]["total"] for side in sides))
    assert found["tokens"]["total"] == sum(side["tokens"]["total"] for side in sides)
    assert (found["classes"], found["reused"], found["models"]) == ({"stable_pass": 2}, 0, [])


def test_it_shows_what_was_asked_for_with_the_defaults(world: World, upstream: Upstream) -> None:
    prompt_id = changed_prompt(world)
    behave(upstream, PING)
    found = run(world, prompt_id)
    head = world.get(f"/api/v1/prompts/{prompt_id}").json["commitHash"]

    assert {name: found[name] for name in ("repeats", "detect", "alpha")} == {
        "repeats": {"min": 4, "max": 40},
        "detect": 0.5,
        "alpha": 0.05,
    }
    assert [found[name] for name in ("minPassRate", "maxCost", "maxSlowdown")] == [None, None, None]
    assert (found["candidate"]["kind"], found["candidate"]["commitHash"]) == ("draft", None)
    assert (found["baseline"]["kind"], found["baseline"]["commitHash"]) == ("version", head)
    assert found["candidate"]["fingerprint"] != found["baseline"]["fingerprint"]
    assert found["url"].endswith(f"/projects/{world.project_id}/experiments/{found['id']}")
    replay = world.get(f"/api/v1/replays/{found['testCases'][0]['baseline']['replayIds'][0]}").json
    assert replay["candidate"] == found["baseline"]


def test_repeats_follow_from_what_must_not_slip_through(world: World) -> None:
    prompt_id = prompt(world, model="echo")
    case(world, prompt_id)
    assert run(world, prompt_id, detect=0.33)["repeats"] == {"min": 6, "max": 60}
    assert run(world, prompt_id, repeats={"min": 2})["repeats"] == {"min": 2, "max": 20}
    assert run(world, prompt_id, detect=0.9, repeats={"max": 3})["repeats"] == {"min": 1, "max": 3}


def test_a_draft_that_always_breaks_a_step_fails(world: World, upstream: Upstream) -> None:
    prompt_id = changed_prompt(world, cases=2)
    behave(upstream, PONG)

    found = run(world, prompt_id)

    assert verdict(found) == ("finished", "failed")
    assert found["classes"] == {"regressed": 2}
    assert found["pValue"] < 0.05
    worse = found["testCases"][0]
    assert (worse["candidate"]["passed"], worse["candidate"]["passRate"]) == (0, 0)
    assert worse["candidate"]["failedReplayIds"] == worse["candidate"]["replayIds"]
    assert worse["baseline"]["passRate"] == 1


def test_a_step_that_breaks_one_time_in_three_fails(world: World, upstream: Upstream) -> None:
    prompt_id = changed_prompt(world)
    behave(upstream, lambda number: PONG if number % 3 == 1 else PING)

    found = run(world, prompt_id, detect=0.33)

    assert verdict(found) == ("finished", "failed"), found["reason"]
    assert 6 < found["testCases"][0]["candidate"]["runs"] <= 60


def test_what_needs_review_has_neither_passed_nor_failed(world: World) -> None:
    prompt_id = prompt(world, model="echo")
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"assertionType": "MANUAL"})
    case(world, prompt_id)
    found = run(world, prompt_id, baseline=None)
    assert verdict(found) == ("finished", "inconclusive")
    assert found["reason"] == "Too few replays were decided in the test case: 4 replays need review."
    assert (found["baseline"], found["minPassRate"]) == (None, 1)
    assert found["testCases"][0]["baseline"] is None
    assert found["testCases"][0]["candidate"]["passed"] == 0


def test_without_a_version_there_is_no_baseline(world: World) -> None:
    prompt_id = prompt(world, model="echo", commit=False)
    case(world, prompt_id)
    found = run(world, prompt_id)
    assert verdict(found) == ("finished", "passed")
    assert (found["baseline"], found["minPassRate"]) == (None, 1)


def test_other_models_are_compared_on_the_same_tests(world: World, upstream: Upstream) -> None:
    prompt_id = changed_prompt(world)

    def choose(body: dict[str, Any]) -> Reply:
        return PONG if body["model"] == "gpt-4.1-mini" else PING

    upstream.choose = choose
    found = run(world, prompt_id, languageModelNames=["gpt-4.1-mini", "gpt-4o-mini"])

    assert verdict(found) == ("finished", "passed")
    assert [each["languageModelName"] for each in found["models"]] == ["gpt-4.1-mini", "gpt-4o-mini"]
    worse, same = (each["testCases"][0] for each in found["models"])
    assert (worse["class"], worse["candidate"]["passed"]) == ("regressed", 0)
    assert same == found["testCases"][0], "the candidate's own model is not played twice"
    assert {request.body["model"] for request in upstream.requests} == {"gpt-4.1-mini", "gpt-4o-mini"}


def test_the_list_is_the_newest_first_and_has_no_test_cases(world: World) -> None:
    prompt_id = prompt(world, model="echo")
    case(world, prompt_id)
    paths = [experiment(world, prompt_id) for _ in range(3)]
    whole = [ended(world, path) for path in reversed(paths)]
    listed = f"/api/v1/prompts/{prompt_id}/experiments"

    first = world.get(f"{listed}?limit=2").json
    rest = world.get(f"{listed}?limit=2&cursor={first['nextCursor']}").json

    for each in whole:
        del each["testCases"], each["models"]
    assert first["experiments"] + rest["experiments"] == whole
    assert rest["nextCursor"] is None


def test_one_that_goes_on_shows_what_is_there(world: World, upstream: Upstream) -> None:
    prompt_id = changed_prompt(world)
    with held_baseline(upstream):
        path = experiment(world, prompt_id)
        found = half(world, path)
        assert world.post(f"{path}/cancel").status_code == 200

    assert (found["status"], found["verdict"], found["finishedAt"]) == ("running", None, None)
    assert found["progress"] == {"done": 4, "total": 8}
    assert found["testCases"][0]["candidate"]["runs"] == 4
    assert found["testCases"][0]["baseline"]["passRate"] is None
    assert found["classes"] == {"undecided": 1}


def test_one_that_is_cancelled_keeps_what_it_has(world: World, upstream: Upstream) -> None:
    prompt_id = changed_prompt(world)
    with held_baseline(upstream):
        path = experiment(world, prompt_id)
        half(world, path)
        cancelled = world.post(f"{path}/cancel")

    assert cancelled.status_code == 200
    assert verdict(cancelled.json) == ("cancelled", None)
    assert cancelled.json["testCases"][0]["candidate"]["passed"] == 4
    assert world.get(path).json == cancelled.json
    assert statuses(world, prompt_id) == {"cancelled": 4, "passed": 4}
    again = world.post(f"{path}/cancel")
    assert (again.status_code, again.json["error"]) == (409, "The experiment has ended: cancelled.")


def half(world: World, path: str) -> dict[str, Any]:
    """The experiment when the four replays of its candidate have ended."""

    def reached() -> Any:
        found = world.get(path).json
        return found if found["progress"]["done"] == 4 else None

    found: dict[str, Any] = wait_until(reached, path)
    return found


def test_the_events_report_each_change_and_end_with_the_whole(world: World, upstream: Upstream) -> None:
    prompt_id = changed_prompt(world)
    upstream.choose = lambda body: Reply(text="Ping", latency_s=0.2)
    path = experiment(world, prompt_id)

    answer = world.get(f"{path}/events")

    assert answer.headers["Content-Type"].startswith("text/event-stream")
    found = events(answer)
    assert {kind for kind, _, _ in found[:-1]} <= {"progress"}
    assert [(kind, number) for kind, number, _ in found[-1:]] == [("done", "end")]
    assert found[-1][2] == world.get(path).json
    assert world.get(f"{path}/events", headers={"Last-Event-ID": "end"}).status_code == 204


def test_foreign_experiments_are_not_there(world: World) -> None:
    prompt_id, stranger = prompt(world, model="echo"), new_world(world.container)
    case(world, prompt_id)
    path = experiment(world, prompt_id)
    ended(world, path)
    foreign = [stranger.get(path), stranger.get(f"{path}/events"), stranger.post(f"{path}/cancel")]
    foreign += [stranger.get(f"/api/v1/prompts/{prompt_id}/experiments")]
    foreign += [stranger.post(f"/api/v1/prompts/{prompt_id}/experiments", json={})]
    assert {each.status_code for each in foreign} == {404}
