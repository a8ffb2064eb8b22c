"""Prompts that once took seconds to render."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from falcon.testing import Result

from app.concurrency.computing import LARGE_TEXT, ComputingPlace
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.operations import calls_of
from tests.support.world import World

pytestmark = EMBEDDED_CONTAINER


def create(world: World, text: str, **more: Any) -> Result:
    return world.post("/api/v1/prompts", json={"name": "Titles", "value": text, "instructionFormat": "XML"} | more)


def test_1650_headings_of_open_brackets_cost_no_more_than_their_length(world: World) -> None:
    text = ("# " + "[" * 298 + "\n") * 1_650
    prompts = [create(world, part).json["prompt"]["id"] for part in (text[: len(text) // 2], text)]

    def rendering(prompt_id: int) -> Result:
        return world.post(f"/api/v1/prompts/{prompt_id}/render", json={"productive": False})

    half = calls_of(lambda: rendering(prompts[0]))
    bound = min(2 * half, len(text))
    assert calls_of(lambda: rendering(prompts[1]), at_most=bound) <= bound
    assert rendering(prompts[1]).json["instruction"].count("<section>") == 1_650


def test_a_prompt_of_300_000_quotes_is_refused_where_it_is_rendered_and_can_be_mended(world: World) -> None:
    values = [{"name": "long", "content": "> " * 150_000, "isDefault": True}]
    created = create(world, "{{a}}{{a}}", placeholders=[{"key": "a", "values": values}])
    path = f"/api/v1/prompts/{created.json['prompt']['id']}"

    rendered = world.post(f"{path}/render", json={})
    assert (rendered.status_code, rendered.json["error"][:7]) == (400, "value: ")
    asked = {"id": created.json["prompt"]["id"], "question": "x"}
    assert world.post("/api/v1/prompts/run", json=asked).status_code == 400
    assert world.patch(path, json={"value": "{{a}}"}).status_code == 200
    assert world.post(f"{path}/render", json={"productive": False}).status_code == 200


def test_a_million_selections_are_refused_without_a_look_at_them(world: World) -> None:
    prompt_id = world.prompt()
    for count in (1_001, 1_000_000):
        sent = {f"k{n}": "" for n in range(count)}
        for path, body in (
            ("/api/v1/prompts/run", {"id": prompt_id, "question": "x"}),
            (f"/api/v1/prompts/{prompt_id}/render", {"productive": False}),
        ):
            if count > 100_000 and path.endswith("render"):
                continue  # over the limit of its body
            encoded = json.dumps(body | {"placeholders": sent}).encode()
            headers = {"Content-Type": "application/json"}
            refused = []
            send = partial(world.post, path, body=encoded, headers=headers)
            calls = calls_of(lambda: refused.append(send()), at_most=100_000)  # noqa: B023
            assert refused[0].status_code == 400
            assert refused[0].json["error"] in {
                "placeholders: Must have at most 1000 keys.",
                "The body has more than 250000 lists, objects and members.",
            }
            assert calls <= 100_000


def test_requests_for_large_texts_wait_for_a_place_and_others_do_not(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred renderings of 10 MB at once held up all other requests of a process for 9 seconds."""
    taken: list[None] = []
    monkeypatch.setattr(ComputingPlace, "take", lambda _place: taken.append(None))

    def takes_place(send: Callable[[], Result]) -> bool:
        taken.clear()
        assert send().status_code in (200, 201)
        return bool(taken)

    values = [{"name": "long", "content": "&" * 1_900, "isDefault": True}]
    long = create(world, "{{a}}" * 1_000, placeholders=[{"key": "a", "values": values}])
    for created, large in ((long, True), (create(world, "Be brief."), False)):
        path = f"/api/v1/prompts/{created.json['prompt']['id']}"
        [version] = world.get(f"{path}/versions").json["versions"]
        requests = [
            partial(world.get, path),
            partial(world.get, path, params={"productive": "false"}),
            partial(world.get, f"{path}/versions/{version['commitHash']}"),
            partial(world.post, f"{path}/render", json={}),
            partial(world.post, f"{path}/render", json={"productive": False}),
            partial(world.post, f"{path}/preview", json={"draft": {"name": "Other"}}),
        ]
        assert [takes_place(send) for send in requests] == [large] * len(requests)
    assert takes_place(partial(create, world, "x" * LARGE_TEXT))
    assert not takes_place(partial(create, world, "x" * (LARGE_TEXT // 2)))
