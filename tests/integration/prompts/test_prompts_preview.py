"""The API that an editor uses before it saves: an edit rendered, and a prompt that has only a draft."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.world import World, new_world

TONE = {
    "key": "tone",
    "values": [{"name": "kind", "content": "kind", "isDefault": True}, {"name": "curt", "content": "curt"}],
}


@pytest.fixture
def path(world: World) -> str:
    body = {"name": "P", "value": "Be {{tone}}.", "instructionFormat": "RAW", "placeholders": [TONE]}
    return f"/api/v1/prompts/{world.post('/api/v1/prompts', json=body).json['prompt']['id']}"


def preview(world: World, path: str, draft: dict[str, Any] | None = None, **selections: str) -> Any:
    answer = world.post(f"{path}/preview", json={"draft": draft or {}, "placeholders": selections})
    assert answer.status_code == 200, answer.text
    return answer.json


def test_an_edit_is_rendered_and_not_made(world: World, path: str) -> None:
    before = world.get(f"{path}?productive=false").json

    shown = preview(world, path, {"value": "Be very {{tone}}, {{name}}."}, tone="curt", place="here")

    assert shown["instruction"] == "Be very curt, {{name}}."
    assert shown["commitHash"] is None
    assert shown["placeholders"] == {
        "resolved": {"tone": "curt"}, "ignored": ["place"], "undefinedKeys": ["name"]
    }  # fmt: skip
    assert world.get(f"{path}?productive=false").json == before


def test_without_an_edit_it_is_the_draft(world: World, path: str) -> None:
    world.patch(path, json={"value": "Be as {{tone}} as you can."})
    assert preview(world, path)["instruction"] == "Be as kind as you can."
    assert world.post(f"{path}/preview", json={}).json["instruction"] == "Be as kind as you can."


def test_placeholders_of_the_edit_fill_it(world: World, path: str) -> None:
    other = {"key": "tone", "values": [{"name": "calm", "content": "calm", "isDefault": True}]}
    assert preview(world, path, {"placeholders": [other]})["instruction"] == "Be calm."


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"draft": {"value": 7}}, "draft.value"),
        ({"draft": {"languageModelName": "nobody"}}, "languageModelName"),
        ({"draft": {"languageModelConfig": {"temperature": 9}}}, "languageModelConfig.temperature"),
        ({"placeholders": {"tone": 1}}, "placeholders.tone"),
        ({"value": "x"}, "value"),
        ({"draft": None}, "draft"),
    ],
)
def test_an_edit_that_can_not_be_is_refused_by_its_field(
    world: World, path: str, body: dict[str, Any], field: str
) -> None:
    answer = world.post(f"{path}/preview", json=body)
    assert answer.status_code == 400
    assert answer.json["error"].startswith(field)


def test_another_projects_draft_is_not_previewed(world: World, path: str) -> None:
    assert new_world(world.container).post(f"{path}/preview", json={}).status_code == 404


def test_a_prompt_can_begin_as_a_draft(world: World) -> None:
    made = world.post("/api/v1/prompts", json={"name": "P", "value": "x", "commit": False})
    assert made.status_code == 201
    assert made.json["prompt"]["commited"] is False
    path = f"/api/v1/prompts/{made.json['prompt']['id']}"
    assert world.get(f"{path}/versions").json["versions"] == []
    assert world.post(f"{path}/commit").status_code == 201
    assert world.post("/api/v1/prompts", json={"name": "P", "value": "x", "commit": "no"}).status_code == 400
