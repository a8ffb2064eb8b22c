"""Models over the API: the catalogue, models of one's own, enabled, disabled, the default."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.services.language_models import service
from tests.support.world import World, new_world

PATH = "/api/v1/models"
OWN = {"name": "llama3", "baseUrl": "http://gpu.internal:8000/v1/", "promptPrice": 0.5, "completionPrice": 2}


def add(world: World, **body: Any) -> Any:
    answer = world.post(PATH, json=OWN | body)
    assert answer.status_code == 201, answer.text
    return answer.json


def named(world: World, name: str) -> Any:
    return next(model for model in world.get(PATH).json["models"] if model["name"] == name)


def new_prompt(world: World, **fields: str) -> Any:
    return world.post("/api/v1/prompts", json={"name": "P", "value": "Be kind.", **fields})


def audit(world: World) -> list[tuple[str, str, dict[str, Any]]]:
    entries = world.get("/api/v1/audit-log").json["entries"]
    return [(e["action"], e["subject"], e["details"]) for e in reversed(entries) if e["action"].startswith("model.")]


def test_the_catalogue_is_listed_with_what_is_enabled(world: World) -> None:
    echo = named(world, "echo")
    assert (echo["vendor"], echo["enabled"], echo["isDefault"], echo["own"]) == ("BUILTIN", True, True, False)
    assert world.get(f"{PATH}/{echo['id']}").json == echo


def test_a_model_of_ones_own_is_added_changed_and_removed(world: World) -> None:
    made = add(world)
    assert (made["own"], made["vendor"], made["baseUrl"]) == (
        True, "CUSTOM_OPENAI_COMPATIBLE", "http://gpu.internal:8000/v1"
    )  # fmt: skip
    assert (made["contextTokensMax"], made["completionTokensMax"]) == (32768, 4096)
    assert new_prompt(world, languageModelName="llama3").status_code == 201

    again = world.post(PATH, json=OWN | {"completionTokensMax": 100})
    assert (again.status_code, again.json["id"], again.json["completionTokensMax"]) == (200, made["id"], 100)

    assert world.delete(f"{PATH}/{made['id']}").status_code == 204
    assert world.get(f"{PATH}/{made['id']}").status_code == world.delete(f"{PATH}/{made['id']}").status_code == 404
    assert new_prompt(world, languageModelName="llama3").status_code == 400
    assert [(action, subject) for action, subject, _ in audit(world)] == [
        ("model.added", "llama3"), ("model.added", "llama3"), ("model.removed", "llama3")
    ]  # fmt: skip


def test_models_beyond_the_limit_are_refused_and_the_names_of_removed_ones_are_free(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "OWN_MODELS_MAX", 2)
    removed, _ = add(world), add(world, name="llama4")
    assert world.delete(f"{PATH}/{removed['id']}").status_code == 204

    refused = world.post(PATH, json=OWN | {"name": "llama5"})
    assert (refused.status_code, refused.json["error"]) == (
        400, "name: An organization has at most 2 models, with the removed ones."
    )  # fmt: skip
    assert [name for _, name, _ in audit(world)] == ["llama3", "llama4", "llama3"]
    add(new_world(world.container), name="llama5")
    assert world.post(PATH, json=OWN | {"name": "llama4"}).status_code == 200
    add_again = world.post(PATH, json=OWN)
    assert (add_again.status_code, add_again.json["id"]) == (200, removed["id"])


def test_a_disabled_model_can_not_be_chosen(world: World) -> None:
    path = f"{PATH}/{named(world, 'echo')['id']}"
    assert world.patch(path, json={"enabled": False}).json["enabled"] is False
    assert new_prompt(world, languageModelName="echo").status_code == 400
    assert world.patch(path, json={"enabled": True}).json["enabled"] is True
    assert new_prompt(world, languageModelName="echo").status_code == 201
    assert audit(world) == [
        ("model.changed", "echo", {"disabled": True}), ("model.changed", "echo", {"disabled": False})
    ]  # fmt: skip


def test_the_default_is_what_prompts_get_that_name_none(world: World) -> None:
    made = add(world)
    assert world.patch(f"{PATH}/{made['id']}", json={"isDefault": True}).json["isDefault"] is True
    prompt_id = new_prompt(world).json["prompt"]["id"]
    assert world.get(f"/api/v1/prompts/{prompt_id}").json["languageModel"]["name"] == "llama3"

    world.patch(f"{PATH}/{named(world, 'echo')['id']}", json={"isDefault": True})
    assert named(world, "llama3")["isDefault"] is False


def test_a_disabled_model_does_not_become_the_default(world: World) -> None:
    path = f"{PATH}/{named(world, 'echo')['id']}"
    world.patch(path, json={"enabled": False})
    assert world.patch(path, json={"isDefault": True}).status_code == 409
    assert world.patch(path, json={"enabled": False, "isDefault": True}).status_code == 409
    assert world.patch(path, json={"enabled": True, "isDefault": True}).status_code == 200


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 129}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"baseUrl": "localhost:11434"}, "baseUrl"),
        ({"baseUrl": "http://user:secret@host"}, "baseUrl"),
        ({"promptPrice": -1}, "promptPrice"),
        ({"completionPrice": "free"}, "completionPrice"),
        ({"contextTokensMax": 0}, "contextTokensMax"),
        ({"completionTokensMax": 2**31}, "completionTokensMax"),
        ({"vendor": "OPENAI"}, "vendor"),
    ],
)
def test_a_model_that_can_not_be_is_refused_by_its_field(world: World, body: dict[str, Any], field: str) -> None:
    answer = world.post(PATH, json=OWN | body)
    assert answer.status_code == 400
    assert answer.json["error"].startswith(f"{field}: ")
    assert audit(world) == []


@pytest.mark.parametrize("body", [{}, {"enabled": "yes"}, {"isDefault": None}, {"name": "x"}])
def test_a_change_that_can_not_be_is_refused(world: World, body: dict[str, Any]) -> None:
    assert world.patch(f"{PATH}/{named(world, 'echo')['id']}", json=body).status_code == 400


def test_a_model_of_the_catalogue_is_not_removed(world: World) -> None:
    assert world.delete(f"{PATH}/{named(world, 'echo')['id']}").status_code == 404
    assert named(world, "echo")["enabled"] is True


def test_an_ordinary_key_reads_them_without_addresses_and_changes_none(world: World) -> None:
    made = add(world)
    secret = world.container.services.keys.create(project_id=world.project_id, name="App").secret
    app = replace(world, key=secret)

    listed = app.get(PATH)
    assert "llama3" in listed.text
    assert "gpu.internal" not in listed.text + app.get(f"{PATH}/{made['id']}").text
    refused = [
        app.post(PATH, json=OWN | {"baseUrl": "http://attacker.example"}),
        app.patch(f"{PATH}/{made['id']}", json={"enabled": False}),
        app.delete(f"{PATH}/{made['id']}"),
    ]
    assert [answer.status_code for answer in refused] == [403] * 3
    assert named(world, "llama3")["baseUrl"] == "http://gpu.internal:8000/v1"


def test_another_organization_has_separate_models_and_choices(world: World) -> None:
    made, stranger = add(world), new_world(world.container)
    stranger.patch(f"{PATH}/{named(stranger, 'echo')['id']}", json={"enabled": False, "isDefault": False})

    assert named(world, "echo")["enabled"] is True
    assert "llama3" not in stranger.get(PATH).text
    assert stranger.patch(f"{PATH}/{made['id']}", json={"enabled": False}).status_code == 404
