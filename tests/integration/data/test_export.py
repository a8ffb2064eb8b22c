"""An export has everything that the API shows, one JSON object a line, however many pages that are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from app.cli.export import records
from app.errors import NotFound
from app.services import export as service
from app.services.recorded_export import export as conversation
from tests.support.everything import TURNS, everything
from tests.support.world import World, new_world


def exported(world: World, kind: str, prompt_id: int, **times: Any) -> Iterator[dict[str, Any]]:
    bounds = {"since": None, "until": None} | times
    return records(world.container, kind, world.project_id, prompt_id, **bounds)


@pytest.mark.parametrize(
    ("kind", "path", "id_"),
    [
        ("sessions", "/api/v1/sessions", "session_id"),
        ("runs", "/api/v1/runs", "run_id"),
        ("test-cases", "/api/v1/test-cases", "test_case_id"),
    ],
)
def test_each_record_is_as_the_api_answers_it(world: World, kind: str, path: str, id_: str) -> None:
    made = everything(world)
    [record] = exported(world, kind, made["prompt_id"])
    assert record == world.get(f"{path}/{made[id_]}").json


def test_every_page_is_exported_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "PAGE", 3)
    prompt_id = world.prompt()
    for place in range(7):
        world.send(conversation(prompt_id, f"c{place}", TURNS, start_ns=1_760_000_000_000_000_000 + place % 3))
    ids = [record["id"] for record in exported(world, "sessions", prompt_id)]
    assert len(ids) == len(set(ids)) == 7


def test_an_archived_prompt_is_exported(world: World) -> None:
    made = everything(world)
    world.delete(f"/api/v1/prompts/{made['prompt_id']}")
    assert len(list(exported(world, "runs", made["prompt_id"]))) == 1


def test_what_was_asked_for_after_the_end_is_left_out(world: World) -> None:
    made = everything(world)
    now = world.container.now()
    assert list(exported(world, "runs", made["prompt_id"], since=now)) == []
    assert len(list(exported(world, "sessions", made["prompt_id"], until=now))) == 1


def test_another_projects_prompt_is_not_found(world: World) -> None:
    made, stranger = everything(world), new_world(world.container)
    with pytest.raises(NotFound):
        list(exported(stranger, "sessions", made["prompt_id"]))
