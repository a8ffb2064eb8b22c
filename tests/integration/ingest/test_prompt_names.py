"""At the address without a prompt a span may name its prompt by `gen_ai.prompt.name`, if one prompt has this name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.exports import export, pairs_of, span
from tests.support.world import World, new_world

PREFIX = "/api/v1/prompts"


def prompt(world: World, name: str) -> int:
    return int(world.post(PREFIX, json={"name": name, "value": "Be kind."}).json["prompt"]["id"])


def named(name: str, span_id: int = 1, **attributes: Any) -> dict[str, Any]:
    pairs = pairs_of({"gen_ai.prompt.name": name, "gen_ai.operation.name": "chat"} | attributes)
    return span(attributes=pairs, spanId=f"{span_id:016x}")


def sessions(world: World, prompt_id: int) -> int:
    return len(world.get(f"/api/v1/sessions?promptId={prompt_id}").json["sessions"])


def reasons(world: World) -> list[str]:
    return [row["reason"] for row in world.get("/api/v1/rejected-spans").json["rejectedSpans"]]


def test_a_span_belongs_to_the_only_prompt_of_its_name(world: World) -> None:
    prompt_id = prompt(world, "Support Ä")
    prompt(new_world(world.container), "Support Ä")

    answer = world.send(export(named("Support Ä")))

    assert (answer.status_code, answer.json) == (200, {"partialSuccess": {}})
    assert (sessions(world, prompt_id), reasons(world)) == (1, [])
    assert world.send(export(named("Support Ä"))).json == {"partialSuccess": {}}
    assert world.count("spans") == 1


@pytest.mark.parametrize("other", ["support", "SUPPORT", "Süpport", "Support.", "Support  "])
def test_another_spelling_is_another_name(world: World, other: str) -> None:
    prompt_id = prompt(world, "Support")

    assert world.send(export(named(other))).status_code == 400
    assert world.send(export(named("Support"))).status_code == 200
    assert sessions(world, prompt_id) == 1
    assert "no prompt has the name" in reasons(world)[0]


def test_spans_with_a_name_of_two_prompts_are_rejected(world: World) -> None:
    first, second = prompt(world, "Support"), prompt(world, "Support")

    answer = world.send(export(named("Support"), named("Support", 2, **{"service.prompt.id": second})))

    assert answer.json["partialSuccess"]["rejectedSpans"] == "1"
    assert (sessions(world, first), sessions(world, second)) == (0, 1)
    assert ["several prompts have the name Support" in reason for reason in reasons(world)] == [True]


def test_a_name_of_another_project_or_of_an_archived_prompt_is_no_name(world: World) -> None:
    prompt(new_world(world.container), "Foreign")
    archived = prompt(world, "Archived")
    assert world.delete(f"{PREFIX}/{archived}").status_code in (200, 204)

    answer = world.send(export(named("Foreign"), named("Archived", 2)))

    assert answer.status_code == 400
    assert world.count("spans") == 0
    assert [reason.count("no prompt has the name") for reason in reasons(world)] == [1, 1]
