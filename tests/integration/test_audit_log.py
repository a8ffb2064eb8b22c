"""The audit log: every change of prompts, test cases and verdicts has its entry, and nothing else has."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.replays.recording import replayed
from tests.support.world import World, new_world

Entry = tuple[str, str, dict[str, Any]]


@pytest.fixture
def prompt_id(world: World) -> int:
    body = {"name": "Concierge", "value": "Be kind.", "languageModelName": "echo"}
    made: int = world.post("/api/v1/prompts", json=body).json["prompt"]["id"]
    return made


def entries(world: World, prefix: str) -> list[Entry]:
    """Return the organization's entries with an action that begins so, the oldest first; all are the key's."""
    page = world.container.services.audit.page(organization_id=world.organization_id, limit=50, cursor=None)
    found = [entry for entry in reversed(page.entries) if entry.action.startswith(prefix)]
    assert {(e.actor_kind, e.actor_name, e.project_id) for e in found} <= {("api_key", "test", world.project_id)}
    return [(entry.action, entry.subject, entry.details) for entry in found]


def written(world: World, prompt_id: int, name: str = "Rome") -> int:
    body = {"name": name, "question": "How hot is Rome?", "expectedAnswer": "31"}
    made: int = world.post(f"/api/v1/prompts/{prompt_id}/test-cases", json=body).json["id"]
    return made


def test_a_prompts_life_is_in_the_log(world: World, prompt_id: int) -> None:
    path = f"/api/v1/prompts/{prompt_id}"
    first = world.get(path).json["commitHash"]
    world.patch(path, json={"value": "Be brief.", "languageModelConfig": {"temperature": 0.5}})
    second = world.post(f"{path}/commit", json={"message": "Brief"}).json["commitHash"]
    world.post(f"{path}/versions/{first}/restore")
    world.patch(path, json={"name": "Porter", "assertionType": "MANUAL"})
    world.delete(path)
    world.post(f"{path}/unarchive")
    world.post(f"{path}/unarchive")

    assert entries(world, "prompt.") == [
        ("prompt.created", "Concierge", {}),
        ("prompt.changed", "Concierge", {"changed": "text, parameters"}),
        ("prompt.committed", "Concierge", {"version": second[:8]}),
        ("prompt.restored", "Concierge", {"version": first[:8]}),
        ("prompt.changed", "Porter", {"changed": "name, checks"}),
        ("prompt.archived", "Porter", {}),
        ("prompt.unarchived", "Porter", {}),
    ]


def test_what_changes_nothing_or_is_refused_leaves_no_entry(world: World, prompt_id: int) -> None:
    path = f"/api/v1/prompts/{prompt_id}"
    before = entries(world, "prompt.")

    answers = [
        world.patch(path, json={"value": "Be kind.", "assertionType": "STRICT"}),
        world.patch(path, json={"value": "Late."}, headers={"If-Match": '"0"'}),
        world.patch(path, json={"languageModelName": "nobody"}),
        world.post(f"{path}/commit"),
        new_world(world.container).delete(path),
    ]

    assert [answer.status_code for answer in answers] == [200, 412, 400, 409, 404]
    assert entries(world, "prompt.") == before


def test_what_becomes_of_test_cases_is_in_the_log(world: World, prompt_id: int) -> None:
    case_id = written(world, prompt_id)
    path = f"/api/v1/test-cases/{case_id}"
    world.patch(path, json={"name": "Hot Rome"})
    copy_id = world.post(f"{path}/copy", json={"name": "Copied"}).json["id"]
    exported = world.get(f"{path}/export").json
    carried = [
        world.post(f"/api/v1/prompts/{prompt_id}/test-cases/import", json={**exported, "name": "Carried"}).json["id"]
        for _ in range(2)
    ]
    world.delete(path)

    assert entries(world, "test_case.") == [
        ("test_case.created", str(case_id), {}),
        ("test_case.changed", str(case_id), {}),
        ("test_case.created", str(copy_id), {}),
        ("test_case.created", str(carried[0]), {}),
        ("test_case.deleted", str(case_id), {}),
    ]


def test_a_verdict_given_by_hand_is_in_the_log(world: World, prompt_id: int) -> None:
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"assertionType": "MANUAL"})
    replay = replayed(world, written(world, prompt_id))
    assert replay["status"] == "needs_review"

    path = f"/api/v1/replays/{replay['id']}/steps/0"
    statuses = [world.patch(path, json={"verdict": "failed"}).status_code for _ in range(2)]

    assert statuses == [200, 400]
    details = {"step": "1", "verdict": "failed"}
    assert entries(world, "replay.") == [("replay.judged", str(replay["id"]), details)]
