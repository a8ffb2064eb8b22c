"""Changes of one test case at the same moment: each is made on top of the other, and computed before the lock."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Thread
from typing import Any

import pytest

from app.replay.case_types import TestCase
from app.replay.changes import change_case
from app.services.replays import cases as service
from tests.integration.replays.recording import HOT, make_case, prompt, record
from tests.integration.replays.test_accepting_api import batch_of, case_expecting
from tests.support.statements import executed
from tests.support.world import World

OFF = {"enabled": False}


def test_a_change_that_another_one_overtakes_is_made_on_top_of_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_case(world, record(world, prompt(world), [HOT]))
    others = [Thread(target=patch, args=(world, made["id"], 0))]

    def overtaken(case: TestCase, changes: Mapping[str, Any]) -> TestCase:
        if others:
            other = others.pop()
            other.start()
            other.join(20)
            assert not other.is_alive(), "the change holds the lock while it is computed"
        return change_case(case, changes)

    monkeypatch.setattr(service, "change_case", overtaken)
    steps = patch(world, made["id"], 1, order="any")

    assert [step["check"]["enabled"] for step in steps[:2]] == [False, True]
    assert world.get(f"/api/v1/test-cases/{made['id']}").json["turns"][0]["steps"] == steps


def patch(world: World, case_id: int, step: int, **more: Any) -> list[dict[str, Any]]:
    changes = {"steps": [{"turn": 0, "step": 0, "check": OFF}]} if step == 0 else more
    answer = world.patch(f"/api/v1/test-cases/{case_id}", json=changes)
    assert answer.status_code == 200, answer.text
    steps: list[dict[str, Any]] = answer.json["turns"][0]["steps"]
    return steps


def test_a_batch_goes_on_where_it_was_interrupted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt_id = prompt(world, model="echo")
    path = batch_of(world, prompt_id, "Pong", "Peng")
    accept_all = service.TestCaseService.accept_all

    def dies_after_the_first(self: Any, **of: Any) -> int:
        monkeypatch.setattr(service.TestCaseService, "accept_all", refuses)
        return accept_all(self, **of)

    def refuses(self: Any, **of: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(service.TestCaseService, "accept_all", dies_after_the_first)
    with pytest.raises(KeyboardInterrupt):
        world.post(path)
    monkeypatch.undo()

    assert world.post(path).json == {"accepted": 1}
    assert world.get(path).json == {"steps": []}


def test_what_another_caller_accepted_first_is_not_counted_again(world: World) -> None:
    prompt_id = prompt(world, model="echo")
    path = batch_of(world, prompt_id, "Pong")
    services, of = world.container.services, {"project_id": world.project_id, "replay_id": int(path.split("/")[4])}
    (listed,) = services.acceptance.of_batch(**of)

    assert world.post(path).json == {"accepted": 1}
    accepted = services.test_cases.accept_all(
        project_id=world.project_id, test_case_id=listed.test_case_id, outcomes=[listed.outcome], actor=service.SYSTEM
    )

    assert accepted == 0


def test_an_import_reads_no_documents_of_namesakes(world: World) -> None:
    prompt_id = prompt(world, model="echo")
    for _ in range(3):
        case_id = case_expecting(world, prompt_id, "Pong")
    file = world.get(f"/api/v1/test-cases/{case_id}/export").json
    file["testCase"]["turns"][0]["steps"][0]["text"] = "Ping"

    with executed() as statements:
        imported = world.post(f"/api/v1/prompts/{prompt_id}/test-cases/import", json=file)

    assert (imported.status_code, imported.json["id"]) == (200, case_id)
    of_name = [text for text in statements if "test_cases" in text and "name =" in text and "SELECT" in text]
    assert [("document" in text.split("FROM")[0]) for text in of_name] == [False]
