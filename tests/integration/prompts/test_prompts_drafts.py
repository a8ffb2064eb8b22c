"""Editing drafts and committing them, with and without concurrent changes."""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from falcon.testing import Result

from app.services.accounts.keys import SCOPES
from tests.support.world import World

PROMPTS = "/api/v1/prompts"
TONE = {"key": "tone", "description": "", "values": [{"name": "a", "content": "b", "isDefault": False}]}


@pytest.fixture
def path(world: World) -> str:
    body = {"name": "n", "value": "one", "placeholders": [TONE], "languageModelConfig": {"seed": 7}}
    return f"{PROMPTS}/{world.post(PROMPTS, json=body).json['prompt']['id']}"


def draft(world: World, path: str) -> Result:
    return world.get(path, params={"productive": "false"})


def at_once(*calls: Callable[[], Result]) -> list[Result]:
    """Run every call in a separate thread, all started together."""
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], Result]) -> Result:
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def test_an_edit_changes_only_the_draft(world: World, path: str) -> None:
    answer = world.patch(path, json={"name": " new ", "value": "two", "assertionType": "AI", "assertionValue": "kind"})
    assert answer.status_code == 200
    assert answer.json == draft(world, path).json
    assert answer.headers["ETag"] == draft(world, path).headers["ETag"]
    assert (answer.json["commited"], answer.json["commitHash"]) == (False, None)
    productive = world.get(path).json
    assert (productive["name"], productive["value"], productive["assertionType"]) == ("new", "one", "AI")
    assert productive["commited"] is False
    assert world.get(path).headers["ETag"] != answer.headers["ETag"]


def test_a_draft_names_who_wrote_it_and_a_version_does_not(world: World, path: str) -> None:
    keys = world.container.services.keys
    deploy = keys.create(project_id=world.project_id, name="deploy", scopes=SCOPES).secret

    assert draft(world, path).json["changedBy"] == "test"
    other = replace(world, key=deploy)
    assert other.patch(path, json={"value": "two"}).json["changedBy"] == "deploy"
    assert "changedBy" not in world.get(path).json


def test_what_an_edit_leaves_out_stays(world: World, path: str) -> None:
    before = draft(world, path).json
    after = world.patch(path, json={"value": "two"}).json
    changed = {key for key in before if before[key] != after[key]}
    assert changed <= {"value", "commited", "updatedAt"}


def test_placeholders_and_config_are_replaced_as_a_whole(world: World, path: str) -> None:
    answer = world.patch(path, json={"placeholders": [], "languageModelConfig": {"top_p": 0.5}}).json
    assert answer["placeholderDefinitions"] == []
    assert answer["languageModelConfig"]["top_p"] == 0.5
    assert "seed" not in answer["languageModelConfig"]


def test_placeholders_are_taken_by_the_name_of_answers_too(world: World, path: str) -> None:
    read = draft(world, path).json["placeholderDefinitions"]
    made = world.post(PROMPTS, json={"name": "n", "value": "{{tone}}", "placeholderDefinitions": read})
    assert (made.status_code, made.json["placeholders"]["undefinedKeys"]) == (201, [])
    assert world.patch(path, json={"placeholderDefinitions": []}).json["placeholderDefinitions"] == []
    assert world.patch(path, json={"placeholderDefinitions": read}).json["placeholderDefinitions"] == read

    both = world.patch(path, json={"placeholders": [], "placeholderDefinitions": []})
    assert (both.status_code, both.json["error"]) == (
        400,
        "placeholderDefinitions: Must not be sent together with placeholders.",
    )


def test_editing_back_makes_it_commited_again(world: World, path: str) -> None:
    record = draft(world, path).json
    assert world.patch(path, json={"value": "two"}).json["commited"] is False
    back = {"value": "one", "languageModelConfig": record["languageModelConfig"]}
    assert world.patch(path, json=back).json["commited"] is True
    assert world.post(f"{path}/commit").status_code == 409


def test_a_name_is_no_content(world: World, path: str) -> None:
    assert world.patch(path, json={"name": "other"}).json["commited"] is True


def test_an_older_etag_writes_nothing(world: World, path: str) -> None:
    seen = draft(world, path).headers["ETag"]
    assert world.patch(path, json={"value": "two"}, headers={"If-Match": seen}).status_code == 200
    for tag in (seen, f"W/{seen}", '"x", "y"', "nonsense"):
        answer = world.patch(path, json={"value": "three"}, headers={"If-Match": tag})
        assert answer.status_code == 412
        assert list(answer.json) == ["error"]
    assert draft(world, path).json["value"] == "two"
    assert world.patch(path, json={"value": "three"}, headers={"If-Match": "*"}).status_code == 200
    current = draft(world, path).headers["ETag"]
    both = {"If-Match": f'"zzz", {current}'}
    assert world.patch(path, json={"value": "four"}, headers=both).status_code == 200


def test_of_concurrent_edits_of_one_draft_one_is_saved_and_the_others_are_refused(world: World, path: str) -> None:
    for _ in range(5):
        seen = {"If-Match": draft(world, path).headers["ETag"]}
        answers = at_once(
            *(partial(world.patch, path, json={"value": value}, headers=seen) for value in ("a", "b", "c"))
        )
        assert Counter(answer.status_code for answer in answers) == {200: 1, 412: 2}
        winner = next(answer for answer in answers if answer.status_code == 200)
        assert draft(world, path).json["value"] == winner.json["value"]


def test_edits_of_different_fields_are_both_kept(world: World, path: str) -> None:
    for number in range(5):
        answers = at_once(
            partial(world.patch, path, json={"value": f"v{number}"}),
            partial(world.patch, path, json={"name": f"n{number}"}),
        )
        assert [answer.status_code for answer in answers] == [200, 200]
        record = draft(world, path).json
        assert (record["value"], record["name"]) == (f"v{number}", f"n{number}")


def test_a_commit_becomes_productive(world: World, path: str) -> None:
    first = world.get(path).json["commitHash"]
    tag = world.patch(path, json={"value": "two"}).headers["ETag"]
    answer = world.post(f"{path}/commit", json={"message": "Say two"})
    assert answer.status_code == 201
    assert answer.json["message"] == "Say two"
    assert answer.json["parentCommitHash"] == first
    assert answer.headers["Location"] == f"{path}/versions/{answer.json['commitHash']}"
    assert world.get(answer.headers["Location"]).json == answer.json
    productive = world.get(path).json
    assert (productive["value"], productive["commitHash"]) == ("two", answer.json["commitHash"])
    assert productive["commited"] is True
    # The ETag changed with the versions, not with the content: an edit that was begun before goes on.
    assert draft(world, path).headers["ETag"] != tag
    assert world.patch(path, json={"value": "three"}, headers={"If-Match": tag}).status_code == 200


def test_a_draft_never_committed_can_be(world: World) -> None:
    path = f"{PROMPTS}/{world.prompt()}"
    answer = world.post(f"{path}/commit")
    assert answer.status_code == 201
    assert (answer.json["parentCommitHash"], answer.json["message"]) == (None, "")
    assert world.get(path).json["commited"] is True


def test_commits_at_once_make_one_history(world: World, path: str) -> None:
    def edit_and_commit(number: int) -> Result:
        world.patch(path, json={"value": f"text {number}"})
        return world.post(f"{path}/commit")

    answers = at_once(*(partial(edit_and_commit, number) for number in range(6)))
    assert {answer.status_code for answer in answers} <= {201, 409}
    made = sum(answer.status_code == 201 for answer in answers)
    hashes = [version["commitHash"] for version in world.get(f"{path}/versions").json["versions"]]
    assert len(hashes) == len(set(hashes)) == made + 1
    parents = [world.get(f"{path}/versions/{h}").json["parentCommitHash"] for h in hashes]
    assert parents == [*hashes[1:], None]
    assert world.get(path).json["commitHash"] == hashes[0]


def test_of_two_commits_of_one_change_one_has_nothing_to_do(world: World, path: str) -> None:
    for number in range(5):
        world.patch(path, json={"value": f"change {number}"})
        answers = at_once(*[partial(world.post, f"{path}/commit")] * 3)
        assert Counter(answer.status_code for answer in answers) == {201: 1, 409: 2}


def test_a_restored_version_is_the_draft_and_can_be_committed(world: World, path: str) -> None:
    old = world.get(path).json
    world.patch(path, json={"value": "two", "placeholders": [], "languageModelName": "gpt-4o"})
    world.post(f"{path}/commit")
    answer = world.post(f"{path}/versions/{old['commitHash']}/restore")
    assert answer.status_code == 200
    assert answer.headers["ETag"] == draft(world, path).headers["ETag"] != '"1"'
    for key in ("value", "placeholderDefinitions", "languageModelConfig", "languageModelId"):
        assert answer.json[key] == old[key]
    assert answer.json["commited"] is False
    again = world.post(f"{path}/commit").json
    assert again["commitHash"] != old["commitHash"]
    assert len(world.get(f"{path}/versions").json["versions"]) == 3


def test_restoring_the_newest_version_undoes_the_edit(world: World, path: str) -> None:
    newest = world.get(path).json["commitHash"]
    tag = world.patch(path, json={"value": "two"}).headers["ETag"]
    stale = world.post(f"{path}/versions/{newest}/restore", headers={"If-Match": '"1"'})
    assert stale.status_code == 412
    assert world.post(f"{path}/versions/{newest}/restore", headers={"If-Match": tag}).json["commited"] is True


def test_any_version_can_be_pinned(world: World, path: str) -> None:
    old = world.get(path).json
    world.patch(path, json={"value": "two", "placeholders": []})
    world.post(f"{path}/commit")
    for productive in ("true", "false"):
        query = {"commitHash": old["commitHash"], "productive": productive}
        pinned = world.get(path, params=query).json
        assert (pinned["value"], pinned["commitHash"]) == ("one", old["commitHash"])
        assert pinned["placeholderDefinitions"] == [TONE]
    body: dict[str, Any] = {"commitHash": old["commitHash"], "productive": False}
    assert "one" in world.post(f"{path}/render", json=body).json["instruction"]


def test_a_new_model_must_accept_the_old_config(world: World, path: str) -> None:
    world.patch(path, json={"languageModelConfig": {"max_tokens": 500_000, "temperature": 0}})
    answer = world.patch(path, json={"languageModelName": "gpt-4o"})
    assert answer.status_code == 400
    assert answer.json["error"].startswith("languageModelConfig.max_tokens: ")
    assert draft(world, path).json["languageModel"]["name"] == "echo"
    fitting = {"languageModelName": "gpt-4o", "languageModelConfig": {"temperature": 0}}
    config = world.patch(path, json=fitting).json["languageModelConfig"]
    assert config["max_tokens"] == 16_384
