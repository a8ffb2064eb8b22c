"""Several candidates are compared with one baseline, corrected for their number, and ranked by what is shown."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.experimenting import GOOD, PING, PONG, case, run, verdict
from tests.integration.replays.recording import prompt
from tests.support.world import World


def answering(upstream: Upstream, **answers: Reply) -> None:
    """Answer each text of an instruction with its reply, any other with what passes."""

    def choose(body: dict[str, Any]) -> Reply:
        instruction = body["messages"][0]["content"]
        return next((reply for text, reply in answers.items() if text in instruction), PING)

    upstream.choose = choose


@pytest.fixture
def prompt_id(world: World) -> int:
    prompt_id = prompt(world, value=GOOD)
    case(world, prompt_id, "Ping 1")
    case(world, prompt_id, "Ping 2")
    return prompt_id


def named(name: str) -> dict[str, Any]:
    return {"name": name, "value": f"Be {name}."}


def test_candidates_are_ranked_by_what_is_shown(world: World, upstream: Upstream, prompt_id: int) -> None:
    answering(upstream, wordy=PONG)

    found = run(world, prompt_id, candidates=[named("wordy"), named("brief"), {"name": "mine"}])

    assert verdict(found) == ("finished", "passed")
    shown = [(each["name"], each["rank"], each["verdict"], each["classes"]) for each in found["candidates"]]
    assert shown == [
        ("brief", 1, "passed", {"stable_pass": 2}),
        ("mine", 1, "passed", {"stable_pass": 2}),
        ("wordy", 3, "failed", {"regressed": 2}),
    ]
    # The other fields are those of the first.
    first = {name: found["candidates"][0][name] for name in ("kind", "commitHash", "fingerprint")}
    assert found["candidate"] == first | {"external": None}
    assert found["testCases"] == found["candidates"][0]["testCases"]
    assert found["testCases"][0]["baseline"]["passed"] == found["testCases"][0]["baseline"]["runs"]
    # One failure in two is missed one time in ten by any of three candidates: 5 replays instead of 4.
    assert found["repeats"]["min"] == 5
    assert found["detectable"] == pytest.approx(1 - (0.1 / 3) ** (1 / 5))
    listed = world.get(f"/api/v1/prompts/{prompt_id}/experiments").json["experiments"][0]
    assert [each["name"] for each in listed["candidates"]] == ["brief", "mine", "wordy"]
    assert "testCases" not in listed["candidates"][0]


def test_the_baseline_is_played_once_for_all_and_equal_contents_share_their_replays(
    world: World, upstream: Upstream, prompt_id: int
) -> None:
    answering(upstream)

    found = run(world, prompt_id, candidates=[named("brief"), {**named("brief"), "name": "twin"}])

    assert found["progress"]["total"] == 2 * 2 * 5
    first, second = (each["testCases"][0]["candidate"]["replayIds"] for each in found["candidates"])
    assert first == second


def test_all_candidates_that_fail_fail_the_experiment(world: World, upstream: Upstream, prompt_id: int) -> None:
    answering(upstream, wordy=PONG, rude=PONG)

    found = run(world, prompt_id, candidates=[named("wordy"), named("rude")])

    assert (verdict(found), [each["verdict"] for each in found["candidates"]]) == (
        ("finished", "failed"),
        ["failed"] * 2,
    )


def test_a_guarded_label_moves_to_any_candidate_that_passed(world: World, upstream: Upstream, prompt_id: int) -> None:
    path = f"/api/v1/prompts/{prompt_id}"
    answering(upstream, wordy=PONG)
    versions = [world.get(path).json["commitHash"]]
    for name in ("wordy", "brief"):
        world.patch(path, json={"value": f"Be {name}."})
        versions.append(world.post(f"{path}/commit").json["commitHash"])
    world.put(f"{path}/labels/production", json={"commitHash": versions[0], "guarded": True})
    candidates = [{"name": "w", "commitHash": versions[1]}, {"name": "b", "commitHash": versions[2]}]

    found = run(world, prompt_id, candidates=candidates, baseline={"commitHash": versions[0]}, detect=0.25)

    moves = [
        world.put(f"{path}/labels/production", json={"commitHash": version, "experimentId": found["id"]})
        for version in versions[1:]
    ]
    assert [move.status_code for move in moves] == [409, 200]
    assert "it is failed, and must have passed" in moves[0].json["error"]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"candidates": []}, "candidates"),
        ({"candidates": [named(str(number)) for number in range(9)]}, "candidates"),
        ({"candidates": [{}]}, "candidates.0.name"),
        ({"candidates": [{"name": ""}]}, "candidates.0.name"),
        ({"candidates": [named("a"), named("a")]}, "candidates"),
        ({"candidates": [named("a")], "candidate": "draft"}, "candidates"),
        ({"candidates": [named("a")], "languageModelNames": ["echo"]}, "candidates"),
        ({"candidates": [{"name": "a", "colour": 1}]}, "candidates.0.colour"),
        ({"candidates": [named("a"), {"name": "b", "languageModelName": "nobody"}]}, "candidates.1.languageModelName"),
        ({"candidates": ["draft"]}, "candidates.0"),
    ],
)
def test_bad_candidates_are_named(world: World, prompt_id: int, body: dict[str, Any], path: str) -> None:
    refused = world.post(f"/api/v1/prompts/{prompt_id}/experiments", json=body)

    assert (refused.status_code, refused.json["error"].partition(": ")[0]) == (400, path)
    assert world.get(f"/api/v1/prompts/{prompt_id}/experiments").json["experiments"] == []


def test_a_forecast_names_a_candidate_that_equals_its_baseline(world: World, prompt_id: int) -> None:
    path = f"/api/v1/prompts/{prompt_id}/experiments/forecast"

    def compares_nothing(**body: Any) -> bool:
        found: bool = world.post(path, json={"detect": 0.5, **body}).json["comparesNothing"]
        return found

    assert compares_nothing()
    assert world.post(path, json={"detect": 0.01}).json["replays"] == {"min": 2, "max": 2}
    assert not compares_nothing(baseline=None)
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": "Be brief."})
    assert not compares_nothing()


def test_a_candidate_that_equals_its_baseline_is_played_once(world: World, upstream: Upstream, prompt_id: int) -> None:
    answering(upstream)

    same = run(world, prompt_id, detect=0.01)
    measured = run(world, prompt_id, detect=0.5, minPassRate=0.5)

    assert (same["verdict"], same["reason"]) == ("passed", "The candidate is the same as the baseline.")
    assert [case["candidate"]["runs"] for case in same["testCases"]] == [1, 1]
    assert {case["candidate"]["runs"] for case in measured["testCases"]} == {4}


def test_a_forecast_counts_replays_calls_and_costs_and_plays_nothing(
    world: World, upstream: Upstream, prompt_id: int
) -> None:
    answering(upstream)
    path = f"/api/v1/prompts/{prompt_id}/experiments/forecast"
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": "Be brief."})

    before = world.post(path, json={"detect": 0.5}).json
    found = run(world, prompt_id)
    after = world.post(path, json={"detect": 0.5}).json
    rarer = world.post(path, json={}).json

    assert before == {
        "detect": 0.5,
        "testCases": 2,
        "repeats": {"min": 4, "max": 40},
        "replays": {"min": 16, "max": 160},
        "reused": 0,
        "calls": {"min": 16, "max": 160},
        "cost": None,
        "comparesNothing": False,
    }
    assert (after["reused"], after["calls"], after["cost"]["min"]) == (16, {"min": 0, "max": 144}, 0)
    assert after["cost"]["max"] == pytest.approx(found["cost"]["total"] * 9)
    assert (rarer["repeats"], rarer["replays"]["min"], rarer["reused"]) == ({"min": 9, "max": 90}, 36, 16)
    assert world.post(path, json={"detect": 2}).status_code == 400
    assert world.post("/api/v1/prompts/999999/experiments/forecast").status_code == 404
