"""Rendering prompts over the API."""

from typing import Any

import pytest

from tests.support.world import World

PROMPTS = "/api/v1/prompts"
PLACEHOLDERS = [
    {"key": "tone", "values": [{"name": "formal", "content": "{{who}}", "isDefault": True}]},
    {"key": "who", "values": [{"name": "x", "content": "X"}]},
    {"key": "unused", "values": [{"name": "x", "content": "X"}]},
]


def rendered(world: World, body: dict[str, Any] | None = None, **new: Any) -> dict[str, Any]:
    created = world.post(PROMPTS, json={"name": "n", "value": "v", **new})
    answer = world.post(f"{PROMPTS}/{created.json['prompt']['id']}/render", json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json)


def test_an_answer_has_every_field_of_the_contract(world: World) -> None:
    answer = rendered(world, value="# Role\n{{tone}} {{who}} {{new}}", placeholders=PLACEHOLDERS)
    assert answer["instruction"] == "<instructions>\n<role>\n{{who}}  {{new}}\n</role>\n</instructions>"
    assert answer["placeholders"] == {
        "resolved": {"tone": "formal", "who": None},
        "ignored": [],
        "undefinedKeys": ["new"],
    }
    assert answer["instructionFormat"] == "XML"
    assert answer["languageModel"].keys() == {"id", "name", "vendor"}
    assert answer["languageModelConfig"].keys() == {"tools", "max_tokens", "temperature", "response_format"}
    assert len(answer["commitHash"]) == 64
    assert len(answer) == 6


def test_selections_are_applied_or_ignored(world: World) -> None:
    sent = {"who": "x", "tone": "rude", "new": "a", "unused": "x"}
    answer = rendered(world, {"placeholders": sent}, value="{{tone}}{{who}}{{new}}", placeholders=PLACEHOLDERS)
    assert answer["placeholders"] == {
        "resolved": {"tone": "formal", "who": "x"},
        "ignored": ["tone", "new", "unused"],
        "undefinedKeys": ["new"],
    }


def test_raw_is_the_text_byte_for_byte(world: World) -> None:
    value = "# <Role>\r\n---\n\n & 🦊 "
    assert rendered(world, value=value, instructionFormat="RAW")["instruction"] == value


@pytest.mark.parametrize("body", [None, {}, {"commitHash": None}])
def test_the_body_is_optional(world: World, body: dict[str, Any] | None) -> None:
    assert rendered(world, body)["instruction"] == "<instructions>\nv\n</instructions>"


def test_renderings_kept_from_before_are_not_mixed_up(world: World) -> None:
    """The same text in two prompts, with other values; then another selection; then another commit."""
    value, path = "{{k}}", ""
    for content in ("one", "two"):
        placeholders = [
            {"key": "k", "values": [{"name": "a", "content": content, "isDefault": True}, {"name": "b", "content": ""}]}
        ]
        new = {"name": "n", "value": value, "placeholders": placeholders, "instructionFormat": "RAW"}
        path = f"{PROMPTS}/{world.post(PROMPTS, json=new).json['prompt']['id']}"
        for _ in range(2):
            assert world.post(f"{path}/render").json["instruction"] == content
            assert world.post(f"{path}/render", json={"placeholders": {"k": "b"}}).json["instruction"] == ""
    world.patch(path, json={"value": "{{k}}!"})
    assert world.post(f"{path}/render").json["instruction"] == "two"
    assert world.post(f"{path}/render", json={"productive": False}).json["instruction"] == "two!"
    world.post(f"{path}/commit")
    assert world.post(f"{path}/render").json["instruction"] == "two!"


def test_a_prompt_never_committed_is_rendered_from_its_draft(world: World) -> None:
    answer = world.post(f"{PROMPTS}/{world.prompt()}/render").json
    assert answer["commitHash"] is None
    assert "Be helpful." in answer["instruction"]
