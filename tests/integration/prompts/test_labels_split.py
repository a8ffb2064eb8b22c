"""A split label gives a share of the keys another version, each key the same one everywhere."""

from __future__ import annotations

import pytest

from tests.integration.prompts.test_labels import PROMPTS, moved, new_prompt, put
from tests.support.world import World

KEYS = [f"user {number}" for number in range(200)]


@pytest.fixture
def prompt(world: World) -> tuple[str, list[str]]:
    return new_prompt(world)


@pytest.fixture
def path(prompt: tuple[str, list[str]]) -> str:
    return prompt[0]


@pytest.fixture
def hashes(prompt: tuple[str, list[str]]) -> list[str]:
    return prompt[1]


def test_a_split_gives_a_share_of_the_keys_another_version(world: World, path: str, hashes: list[str]) -> None:
    moved(world, path, hashes[0])
    split = moved(world, path, hashes[1], share=0.25)

    assert split["commitHash"] == hashes[0]
    assert split["split"] == {"commitHash": hashes[1], "share": 0.25}
    got = [world.get(f"{path}?label=production&splitKey={key}").json["commitHash"] for key in KEYS]
    assert 20 < got.count(hashes[1]) < 80
    assert set(got) == set(hashes[:2])


def test_a_key_gets_the_same_version_everywhere(world: World, path: str, hashes: list[str]) -> None:
    moved(world, path, hashes[0])
    moved(world, path, hashes[1], share=0.5)
    body = {"label": "production", "placeholders": {}}

    for key in KEYS[:8]:
        by_get = world.get(f"{path}?label=production&splitKey={key}").json["commitHash"]
        run = {"id": int(path.rpartition("/")[2]), "question": "?", "label": "production", "memoryKey": key}
        run_id = world.post(f"{PROMPTS}/run", json=run).headers["X-Run-Id"]
        assert {
            world.post(f"{path}/render", json=body | {"splitKey": key}).json["commitHash"],
            world.post(f"{path}/render", json=body | {"memoryKey": key, "splitKey": "another"}).json["commitHash"],
            world.get(f"{path}?label=production&memoryKey={key}").json["commitHash"],
            world.get(f"/api/v1/runs/{run_id}").json["commitHash"],
        } == {by_get}


def test_the_placeholder_memory_key_is_the_memory_key_and_wins(world: World, path: str, hashes: list[str]) -> None:
    moved(world, path, hashes[0])
    moved(world, path, hashes[1], share=0.5)

    for key in KEYS[:8]:
        expected = world.post(f"{path}/render", json={"label": "production", "memoryKey": key}).json["commitHash"]
        for others in ({}, {"memoryKey": "another"}, {"splitKey": "another"}):
            body = {"label": "production", "placeholders": {"memory_key": key}, **others}
            assert world.post(f"{path}/render", json=body).json["commitHash"] == expected
            run = {"id": int(path.rpartition("/")[2]), "question": "?", **body}
            run_id = world.post(f"{PROMPTS}/run", json=run).headers["X-Run-Id"]
            assert world.get(f"/api/v1/runs/{run_id}").json["commitHash"] == expected


def test_without_a_key_a_split_label_gives_its_own_version(world: World, path: str, hashes: list[str]) -> None:
    moved(world, path, hashes[0])
    moved(world, path, hashes[1], share=0.999999)

    assert world.get(f"{path}?label=production").json["commitHash"] == hashes[0]
    assert world.post(f"{path}/render", json={"label": "production", "splitKey": ""}).json["commitHash"] == hashes[0]


def test_a_move_of_the_whole_label_ends_its_split(world: World, path: str, hashes: list[str]) -> None:
    moved(world, path, hashes[0])
    moved(world, path, hashes[1], share=0.5)
    assert moved(world, path, hashes[0])["split"] is None
    moved(world, path, hashes[1], share=0.5)
    assert moved(world, path, hashes[1])["split"] is None


def test_a_label_that_points_nowhere_can_not_be_split(world: World, path: str, hashes: list[str]) -> None:
    assert put(world, path, hashes[0], share=0.5).status_code == 409
    assert world.get(f"{path}/labels").json == {"labels": []}
