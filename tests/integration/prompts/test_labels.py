"""Labels point to versions, and get, render and run by label use the version that a label points to."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from falcon.testing import Result

from app.models import labels as labels_table
from app.models.queries import delete_rows
from tests.support.api_routes import NOTHING
from tests.support.backends import SQLITE_CONTAINER
from tests.support.world import World, new_world

PROMPTS = "/api/v1/prompts"


@pytest.fixture
def hashes(world: World) -> list[str]:
    """The commit hashes of a prompt of three versions, "one" to "three", the oldest first."""
    return new_prompt(world)[1]


@pytest.fixture
def path(world: World, hashes: list[str]) -> str:
    return prompt_path(world)


def new_prompt(world: World) -> tuple[str, list[str]]:
    made = world.post(PROMPTS, json={"name": "Concierge", "value": "one", "languageModelName": "echo"}).json
    path = f"{PROMPTS}/{made['prompt']['id']}"
    hashes = [world.get(path).json["commitHash"]]
    for value in ("two", "three"):
        world.patch(path, json={"value": value})
        hashes.append(world.post(f"{path}/commit").json["commitHash"])
    return path, hashes


def prompt_path(world: World) -> str:
    """The address of the world's newest prompt."""
    return f"{PROMPTS}/{world.get(PROMPTS).json['prompts'][0]['id']}"


def put(world: World, path: str, commit_hash: str, label: str = "production", **body: Any) -> Result:
    return world.put(f"{path}/labels/{label}", json={"commitHash": commit_hash, **body})


def moved(world: World, path: str, commit_hash: str, label: str = "production", **body: Any) -> Any:
    answer = put(world, path, commit_hash, label, **body)
    assert answer.status_code == 200, answer.text
    return answer.json


def test_a_label_points_to_a_version_and_moves(world: World, path: str, hashes: list[str]) -> None:
    first = moved(world, path, hashes[0])
    second = moved(world, path, hashes[1])

    assert first == {
        "label": "production",
        "commitHash": hashes[0],
        "guarded": False,
        "split": None,
        "updatedAt": first["updatedAt"],
    }
    assert second == first | {"commitHash": hashes[1], "updatedAt": second["updatedAt"]}
    assert world.get(f"{path}/labels/production").json == second
    assert moved(world, path, hashes[1]) == second


def test_labels_are_listed_by_name_and_with_their_versions(world: World, path: str, hashes: list[str]) -> None:
    for label, commit_hash in (("staging", hashes[2]), ("production", hashes[0]), ("a.b_c-1", hashes[0])):
        moved(world, path, commit_hash, label)

    assert [label["label"] for label in world.get(f"{path}/labels").json["labels"]] == [
        "a.b_c-1",
        "production",
        "staging",
    ]
    versions = world.get(f"{path}/versions").json["versions"]
    assert [version["labels"] for version in versions] == [["staging"], [], ["a.b_c-1", "production"]]
    assert world.get(f"{path}/versions/{hashes[0]}").json["labels"] == ["a.b_c-1", "production"]


def test_get_render_and_run_use_the_version_of_a_label(world: World, path: str, hashes: list[str]) -> None:
    for commit_hash in (hashes[0], hashes[1]):
        moved(world, path, commit_hash)
        run = {"id": int(path.rpartition("/")[2]), "question": "Hello?", "label": "production"}
        run_id = world.post(f"{PROMPTS}/run", json=run).headers["X-Run-Id"]

        assert [
            world.get(f"{path}?label=production").json["commitHash"],
            world.get(f"{path}?label=production&productive=false").json["commitHash"],
            world.post(f"{path}/render", json={"label": "production"}).json["commitHash"],
            world.post(f"{path}/render", json={"label": "production", "productive": False}).json["commitHash"],
            world.get(f"/api/v1/runs/{run_id}").json["commitHash"],
        ] == [commit_hash] * 5


def test_without_a_label_the_newest_version_stays_productive(world: World, path: str, hashes: list[str]) -> None:
    moved(world, path, hashes[0])

    assert world.get(path).json["commitHash"] == hashes[2]
    assert world.post(f"{path}/render").json["commitHash"] == hashes[2]


def test_an_unknown_label_is_not_found(world: World, path: str, hashes: list[str]) -> None:
    moved(world, path, hashes[0])
    answers = [
        world.get(f"{path}?label=staging"),
        world.get(f"{path}?label=Production"),
        world.post(f"{path}/render", json={"label": "staging"}),
        world.post(f"{PROMPTS}/run", json={"id": int(path.rpartition("/")[2]), "question": "?", "label": "staging"}),
        world.get(f"{path}/labels/staging"),
        world.delete(f"{path}/labels/staging"),
    ]
    assert [answer.status_code for answer in answers] == [404] * 6


@SQLITE_CONTAINER
@pytest.mark.parametrize(
    "label", ["draft", "latest", "productive", ".", "..", "a b", "x" * 65, "ü", "a%00", "a%0A", "🙂"]
)
def test_a_name_that_no_label_can_have_is_refused(world: World, path: str, hashes: list[str], label: str) -> None:
    answers = [
        put(world, path, hashes[0], label),
        world.get(f"{path}/labels/{label}"),
        world.delete(f"{path}/labels/{label}"),
        world.get(f"{path}?label={label}"),
        world.post(f"{path}/render", json={"label": label}),
    ]
    assert [answer.status_code for answer in answers] == [400] * 5
    assert all(answer.json["error"].startswith("label: ") for answer in answers)


def test_a_label_and_a_commit_hash_exclude_each_other(world: World, path: str, hashes: list[str]) -> None:
    moved(world, path, hashes[0])
    both = {"label": "production", "commitHash": hashes[0]}
    answers = [
        world.get(f"{path}?label=production&commitHash={hashes[0]}"),
        world.post(f"{path}/render", json=both),
        world.post(f"{PROMPTS}/run", json={"id": int(path.rpartition("/")[2]), "question": "?", **both}),
    ]
    assert [answer.status_code for answer in answers] == [400] * 3
    assert all(answer.json["error"].startswith("label: ") for answer in answers)


@SQLITE_CONTAINER
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "commitHash"),
        ({"commitHash": None}, "commitHash"),
        ({"commitHash": 7}, "commitHash"),
        *(({"commitHash": "0" * 64, "share": share}, "share") for share in (0, 1, -0.1, 1.5, "0.5", True)),
        ({"commitHash": "0" * 64, "experimentId": 0}, "experimentId"),
        ({"commitHash": "0" * 64, "guarded": "yes"}, "guarded"),
        ({"commitHash": "0" * 64, "override": " "}, "override"),
        ({"commitHash": "0" * 64, "override": "\0"}, "override"),
        ({"commitHash": "0" * 64, "override": "x" * 501}, "override"),
        ({"commitHash": "0" * 64, "colour": "red"}, "colour"),
    ],
)
def test_a_bad_body_is_refused_by_its_path(world: World, path: str, body: dict[str, Any], field: str) -> None:
    refused = world.put(f"{path}/labels/production", json=body)

    assert (refused.status_code, refused.json["error"].partition(":")[0]) == (400, field)
    assert world.get(f"{path}/labels").json == {"labels": []}


def test_a_version_of_another_prompt_is_not_found(world: World, path: str, hashes: list[str]) -> None:
    other, others = new_prompt(world)
    moved(world, other, others[0])

    assert others[0] == hashes[0], "equal contents have equal hashes in all prompts"
    world.patch(other, json={"value": "alone"})
    alone = world.post(f"{other}/commit").json["commitHash"]
    for foreign in (alone, "0" * 64, "A" * 64, "", "x", "é" * 100_000):
        assert put(world, path, foreign).status_code == 404
    assert world.get(f"{path}/labels").json == {"labels": []}


def test_a_deleted_label_is_gone(world: World, path: str, hashes: list[str]) -> None:
    moved(world, path, hashes[0])
    moved(world, path, hashes[1], "staging")

    gone = world.delete(f"{path}/labels/production")

    assert (gone.status_code, gone.text) == (204, "")
    assert world.get(f"{path}?label=production").status_code == 404
    assert [label["label"] for label in world.get(f"{path}/labels").json["labels"]] == ["staging"]
    assert world.delete(f"{path}/labels/production").status_code == 404


def test_labels_of_an_archived_prompt_are_not_found(world: World, path: str, hashes: list[str]) -> None:
    moved(world, path, hashes[0])
    world.delete(path)

    one = f"{path}/labels/production"
    answers = [world.get(f"{path}/labels"), world.get(one), put(world, path, hashes[1]), world.delete(one)]
    assert [answer.status_code for answer in answers] == [404] * 4


def test_an_erased_prompt_keeps_nothing_of_its_labels(world: World, path: str, hashes: list[str]) -> None:
    moved(world, path, hashes[0])
    prompt_id = int(path.rpartition("/")[2])

    world.container.services.deletion.erase_prompt(project_id=world.project_id, prompt_id=prompt_id)

    with world.container.database.write() as connection:
        assert delete_rows(connection, labels_table.label_versions, prompt_id=prompt_id) == 0
    assert world.get(f"{path}/labels").status_code == 404


def test_the_number_of_labels_is_bounded(world: World, path: str, hashes: list[str]) -> None:
    for number in range(100):
        moved(world, path, hashes[0], f"label-{number}")

    refused = put(world, path, hashes[0], "one-more")

    assert (refused.status_code, refused.json["error"].partition(":")[0]) == (400, "label")
    moved(world, path, hashes[1], "label-7")
    world.delete(f"{path}/labels/label-8")
    moved(world, path, hashes[0], "one-more")


def test_labels_change_neither_the_draft_nor_its_etag(world: World, path: str, hashes: list[str]) -> None:
    before = world.get(f"{path}?productive=false")
    moved(world, path, hashes[0])
    after = world.get(f"{path}?productive=false")

    assert (after.headers["ETag"], after.json) == (before.headers["ETag"], before.json)
    assert world.patch(path, json={"value": "four"}, headers={"If-Match": before.headers["ETag"]}).status_code == 200
    assert world.get(f"{path}/labels/production").json["commitHash"] == hashes[0]


def test_of_moves_at_once_none_is_lost(world: World, path: str, hashes: list[str]) -> None:
    def move(number: int) -> int:
        if number % 4 == 3:
            world.patch(path, json={"value": f"edit {number}"})
            return world.post(f"{path}/commit").status_code
        return put(world, path, hashes[number % 3], f"label-{number}").status_code

    with ThreadPoolExecutor(6) as pool:
        statuses = list(pool.map(move, range(24)))

    assert set(statuses) <= {200, 201, 409}
    found = {label["label"]: label["commitHash"] for label in world.get(f"{path}/labels").json["labels"]}
    assert found == {f"label-{number}": hashes[number % 3] for number in range(24) if number % 4 != 3}


def test_a_key_that_only_reads_moves_nothing(world: World, path: str, hashes: list[str]) -> None:
    moved(world, path, hashes[0])
    reader = with_scopes(world, "read", "run")

    assert put(reader, path, hashes[1]).status_code == 403
    assert reader.delete(f"{path}/labels/production").status_code == 403
    assert reader.get(f"{path}/labels/production").json["commitHash"] == hashes[0]


def with_scopes(world: World, *scopes: str) -> World:
    """The world as a key with these scopes sees it."""
    key = world.container.services.keys.create(project_id=world.project_id, name="few", scopes=frozenset(scopes))
    return replace(world, key=key.secret)


def test_labels_of_another_project_are_not_found(world: World, path: str, hashes: list[str]) -> None:
    moved(world, path, hashes[0])
    stranger = new_world(world.container)

    foreign = [
        stranger.get(f"{path}/labels"),
        stranger.get(f"{path}/labels/production"),
        put(stranger, path, hashes[1]),
        stranger.delete(f"{path}/labels/production"),
        stranger.get(f"{path}?label=production"),
        stranger.post(f"{path}/render", json={"label": "production"}),
    ]
    missing = stranger.get(f"{PROMPTS}/{NOTHING['prompt_id']}/labels")
    assert {(answer.status_code, answer.text) for answer in foreign} == {(404, missing.text)}
    assert world.get(f"{path}/labels/production").json["commitHash"] == hashes[0]
