"""The pass rates of drafts and versions: a draft's replays count for the version that is committed of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.replays.recording import THANKS, make_case, prompt, record, replayed
from tests.support.world import World, new_world


@pytest.fixture
def prompt_id(world: World) -> int:
    return prompt(world, model="echo")


def written(world: World, prompt_id: int, expected: str) -> int:
    """A test case that `echo` passes when it expects its question."""
    body = {"question": "Hello", "expectedAnswer": expected}
    case_id: int = world.post(f"/api/v1/prompts/{prompt_id}/test-cases", json=body).json["id"]
    return case_id


def history(world: World, prompt_id: int, **query: Any) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = world.get(f"/api/v1/prompts/{prompt_id}/replay-history", params=query).json[
        "history"
    ]
    return entries


def test_the_pass_rate_is_that_of_replays_which_passed_or_failed(world: World, prompt_id: int) -> None:
    right, wrong = written(world, prompt_id, "Hello"), written(world, prompt_id, "Bye")
    for case_id in (right, right, wrong):
        replayed(world, case_id)
    cancelled = world.container.services.replays.start(project_id=world.project_id, test_case_id=right)
    world.post(f"/api/v1/replays/{cancelled.id}/cancel")

    (entry,) = history(world, prompt_id)

    assert (entry["replays"], entry["passRate"]) == (4, pytest.approx(2 / 3))
    counted = {status: count for status, count in entry["counts"].items() if count}
    assert counted == {"passed": 2, "failed": 1, "cancelled": 1}
    assert entry["firstAt"] <= entry["lastAt"]
    assert history(world, prompt_id, testCaseId=right)[0]["passRate"] == 1
    assert history(world, prompt_id, testCaseId=wrong)[0]["passRate"] == 0


def test_committing_a_draft_makes_its_replays_those_of_the_version(world: World, prompt_id: int) -> None:
    case_id = written(world, prompt_id, "Hello")
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": "Second."})
    replay = replayed(world, case_id)
    assert replay["commitHash"] is None

    world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": "Meanwhile another."})
    world.post(f"/api/v1/prompts/{prompt_id}/commit")
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": "Second."})
    committed = world.post(f"/api/v1/prompts/{prompt_id}/commit").json["commitHash"]

    assert world.get(f"/api/v1/replays/{replay['id']}").json["commitHash"] == committed
    (entry,) = history(world, prompt_id)
    assert (entry["commitHash"], entry["draftFingerprint"]) == (committed, replay["draftFingerprint"])
    of_version = world.get(f"/api/v1/prompts/{prompt_id}/replays?commitHash={committed}").json["replays"]
    assert [one["id"] for one in of_version] == [replay["id"]]
    assert world.get(f"/api/v1/prompts/{prompt_id}/replays?commitHash={'0' * 64}").status_code == 400


def test_a_draft_that_equals_the_newest_version_is_that_version(world: World, prompt_id: int) -> None:
    replay = replayed(world, written(world, prompt_id, "Hello"))

    assert replay["commitHash"] == world.get(f"/api/v1/prompts/{prompt_id}").json["commitHash"]


def test_drafts_are_listed_separately_and_the_last_replayed_come_first(world: World, prompt_id: int) -> None:
    case_id = make_case(world, record(world, prompt_id, [THANKS]))["id"]
    prints = []
    for value in ("One.", "Two.", "Three."):
        world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": value})
        prints.append(replayed(world, case_id)["draftFingerprint"])

    assert [entry["draftFingerprint"] for entry in history(world, prompt_id)] == prints[::-1]
    path = f"/api/v1/prompts/{prompt_id}/replays?draftFingerprint={prints[1]}"
    assert [one["draftFingerprint"] for one in world.get(path).json["replays"]] == [prints[1]]


def test_the_history_of_what_is_foreign_or_unknown_is_not_there(world: World, prompt_id: int) -> None:
    path = f"/api/v1/prompts/{prompt_id}/replay-history"

    assert new_world(world.container).get(path).status_code == 404
    assert world.get(f"{path}?testCaseId=999999").status_code == 404
    assert world.get(f"{path}?testCase=1").status_code == 400
