"""Requests for experiments that can't be run: each answer names the field, and nothing is stored."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.replays.experimenting import case
from tests.integration.replays.recording import prompt
from tests.support.backends import SQLITE_CONTAINER
from tests.support.world import World, new_world

HASH = "0" * 64
BAD: list[tuple[dict[str, Any], str]] = [
    ({"colour": "red"}, "colour"),
    ({"candidate": "best"}, "candidate"),
    ({"candidate": {"colour": "red"}}, "candidate.colour"),
    ({"candidate": {"languageModelName": "nobody"}}, "candidate.languageModelName"),
    ({"baseline": "draft"}, "baseline"),
    ({"baseline": {}}, "baseline.commitHash"),
    ({"baseline": {"commitHash": HASH, "value": "x"}}, "baseline.value"),
    ({"testCaseIds": []}, "testCaseIds"),
    ({"testCaseIds": list(range(1, 1002))}, "testCaseIds"),
    ({"testCaseIds": ["x"]}, "testCaseIds.0"),
    ({"testCaseIds": 7}, "testCaseIds"),
    *(({"detect": value}, "detect") for value in (0, 1, -0.5, 1.5, "0.5", None, True)),
    *(({"alpha": value}, "alpha") for value in (0, 1, -1, "x", None)),
    *(({"minPassRate": value}, "minPassRate") for value in (-0.1, 1.1, "x", True)),
    *(({"maxCost": value}, "maxCost") for value in (0, -1, "x", 1e300)),
    *(({"maxSlowdown": value}, "maxSlowdown") for value in (0, -1, "x")),
    *(({"minSighted": value}, "minSighted") for value in (-0.1, 1.1, "x", None)),
    *(({"reuse": value}, "reuse") for value in (1, "yes", None)),
    ({"repeats": 4}, "repeats"),
    ({"repeats": {"least": 4}}, "repeats.least"),
    ({"repeats": {"min": 0}}, "repeats.min"),
    ({"repeats": {"min": 2.5}}, "repeats.min"),
    ({"repeats": {"max": 101}}, "repeats.max"),
    ({"repeats": {"min": 5, "max": 4}}, "repeats"),
    ({"repeats": {"max": 3}}, "repeats"),
    ({"languageModelNames": ["nobody"]}, "languageModelNames.0"),
    ({"languageModelNames": ["echo"] * 11}, "languageModelNames"),
    ({"languageModelNames": "echo"}, "languageModelNames"),
    ({"judgeModelName": "nobody"}, "judgeModelName"),
    ({"judgeModelName": "echo"}, "judgeModelName"),
]


@pytest.fixture
def prompt_id(world: World) -> int:
    prompt_id = prompt(world, model="echo")
    case(world, prompt_id)
    return prompt_id


@SQLITE_CONTAINER
@pytest.mark.parametrize(("body", "path"), BAD)
def test_a_bad_field_is_named(world: World, prompt_id: int, body: dict[str, Any], path: str) -> None:
    refused = world.post(f"/api/v1/prompts/{prompt_id}/experiments", json=body)
    assert refused.status_code == 400, refused.text
    assert refused.json["error"].startswith(f"{path}: "), refused.text
    assert world.count("experiments") == world.count("replays") == 0


def test_a_prompt_without_test_cases_can_not_be_tried(world: World) -> None:
    refused = world.post(f"/api/v1/prompts/{prompt(world, model='echo')}/experiments", json={})
    assert (refused.status_code, refused.json["error"]) == (400, "testCaseIds: The prompt has no test cases.")


def test_more_replays_than_an_experiment_may_have_are_refused(world: World, prompt_id: int) -> None:
    ids = [case(world, prompt_id, f"Ping {n}") for n in range(10)]
    body = {"testCaseIds": ids, "repeats": {"min": 100}, "languageModelNames": ["echo"] * 10}
    refused = world.post(f"/api/v1/prompts/{prompt_id}/experiments", json=body)
    assert (refused.status_code, refused.json["error"][:9]) == (400, "repeats: ")


def test_what_is_foreign_or_unknown_is_not_there(world: World, prompt_id: int) -> None:
    stranger = new_world(world.container)
    foreign = prompt(stranger, model="echo", value="Be foreign.")
    foreign_case = case(stranger, foreign)
    foreign_hash = stranger.get(f"/api/v1/prompts/{foreign}").json["commitHash"]
    other_case = case(world, prompt(world, model="echo"))
    for body in (
        {"testCaseIds": [foreign_case]},
        {"testCaseIds": [other_case]},
        {"testCaseIds": [2**62]},
        {"candidate": {"commitHash": HASH}},
        {"candidate": {"base": foreign_hash, "value": "x"}},
        {"baseline": {"commitHash": HASH}},
        {"baseline": {"commitHash": "x"}},
    ):
        answer = world.post(f"/api/v1/prompts/{prompt_id}/experiments", json=body)
        assert answer.status_code == 404, (body, answer.text)
    assert world.post(f"/api/v1/prompts/{foreign}/experiments", json={}).status_code == 404
    assert world.count("experiments") == 0


def test_a_model_that_does_not_accept_the_candidates_configuration_is_named(world: World) -> None:
    prompt_id = prompt(world, languageModelConfig={"seed": 7, "temperature": 0.3})
    case(world, prompt_id)
    for name, key in (("claude-haiku-4-5", "seed"), ("gpt-5-mini", "temperature")):
        body = {"languageModelNames": ["gpt-4.1", name]}
        refused = world.post(f"/api/v1/prompts/{prompt_id}/experiments", json=body)
        assert refused.status_code == 400, refused.text
        assert refused.json["error"].startswith(f"languageModelNames.1: languageModelConfig.{key}: "), refused.text


def test_a_judge_that_is_needed_must_be_there(world: World) -> None:
    prompt_id = prompt(world, model="echo")
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"assertionType": "AI"})
    case(world, prompt_id)
    refused = world.post(f"/api/v1/prompts/{prompt_id}/experiments", json={})
    assert (refused.status_code, refused.json["error"][:7]) == (400, "judge: ")
