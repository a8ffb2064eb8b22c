"""A replay plays its candidate: the draft, a version, or one of them with changes that nothing else sees."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.recording import TOOLS, make_case, prompt, record, replayed, start
from tests.support.conversations import RecordedTurn
from tests.support.world import World, new_world

HELLO = RecordedTurn("Hello!", "Good day.")
UNKNOWN = "0" * 64


@pytest.fixture
def prompt_id(world: World) -> int:
    return prompt(world)


@pytest.fixture
def case(world: World, prompt_id: int) -> dict[str, Any]:
    return make_case(world, record(world, prompt_id, [HELLO]))


def version(world: World, prompt_id: int) -> str:
    """The hash of the newest version."""
    found: str = world.get(f"/api/v1/prompts/{prompt_id}/versions").json["versions"][0]["commitHash"]
    return found


def refused(world: World, case: dict[str, Any], candidate: Any, status: int = 400) -> str:
    answer = world.post(f"/api/v1/test-cases/{case['id']}/replays", json={"candidate": candidate})
    assert answer.status_code == status, answer.text
    return str(answer.json["error"])


def asked(world: World, case: dict[str, Any], upstream: Upstream, candidate: Any) -> tuple[dict[str, Any], Any]:
    """The replay of a candidate, and what it asked the model for."""
    upstream.reset()
    upstream.script(Reply(text="Good day."))
    replay = replayed(world, case["id"], candidate=candidate)
    assert replay["status"] == "passed", replay
    return replay, upstream.requests[0].body


def instruction(body: Any) -> str:
    return str(body["messages"][0]["content"])


def test_without_a_candidate_the_draft_is_replayed(world: World, case: dict[str, Any], upstream: Upstream) -> None:
    upstream.script(Reply(text="Good day."))
    replay = replayed(world, case["id"])
    assert replay["candidate"] == {
        "kind": "draft",
        "commitHash": None,
        "fingerprint": replay["draftFingerprint"],
        "external": None,
    }


def test_a_version_is_replayed_as_it_was_committed(
    world: World, prompt_id: int, case: dict[str, Any], upstream: Upstream
) -> None:
    committed = version(world, prompt_id)
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": "Be rude."})

    replay, body = asked(world, case, upstream, {"commitHash": committed})

    assert "Be kind." in instruction(body)
    assert replay["candidate"] == {
        "kind": "version",
        "commitHash": committed,
        "fingerprint": replay["draftFingerprint"],
        "external": None,
    }
    assert replay["commitHash"] == committed


def test_an_overlay_replaces_what_it_names_and_leaves_the_draft_unchanged(
    world: World, prompt_id: int, case: dict[str, Any], upstream: Upstream
) -> None:
    before = world.get(f"/api/v1/prompts/{prompt_id}?productive=false")
    overlay = {
        "value": "Be {{mood}}.",
        "placeholders": [{"key": "mood", "values": [{"name": "calm", "content": "calm", "isDefault": True}]}],
        "languageModelName": "gpt-4o",
        "languageModelConfig": {"max_tokens": 100, "tools": TOOLS[:1]},
        "instructionFormat": "RAW",
    }

    replay, body = asked(world, case, upstream, overlay)

    assert (instruction(body), body["model"]) == ("Be calm.", "gpt-4o")
    assert [each["function"]["name"] for each in body["tools"]] == ["weather"]
    assert replay["candidate"]["kind"] == "overlay"
    after = world.get(f"/api/v1/prompts/{prompt_id}?productive=false")
    assert (after.json, after.headers["ETag"]) == (before.json, before.headers["ETag"])
    assert len(world.get(f"/api/v1/prompts/{prompt_id}/versions").json["versions"]) == 1


def test_an_overlay_on_a_version_keeps_what_it_does_not_name(
    world: World, prompt_id: int, case: dict[str, Any], upstream: Upstream
) -> None:
    committed = version(world, prompt_id)
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": "Be rude.", "languageModelName": "gpt-4o"})

    replay, body = asked(world, case, upstream, {"base": committed, "languageModelConfig": {}})

    assert (instruction(body).split("\n")[1], body["model"]) == ("Be kind.", "gpt-4o-mini")
    assert "tools" not in body
    assert (replay["candidate"]["kind"], replay["candidate"]["commitHash"]) == ("overlay", committed)


def test_equal_content_has_one_fingerprint_and_keeps_the_kind_that_was_asked_for(
    world: World, prompt_id: int, case: dict[str, Any], upstream: Upstream
) -> None:
    committed = version(world, prompt_id)
    candidates = ["draft", {"commitHash": committed}, {}, {"base": committed}, {"value": "Be {{tone}}."}]
    shown = [asked(world, case, upstream, candidate)[0]["candidate"] for candidate in candidates]
    assert len({each["fingerprint"] for each in shown}) == 1
    assert [each["kind"] for each in shown] == ["draft", "version", "overlay", "overlay", "overlay"]
    assert [each["commitHash"] for each in shown] == [None, committed, None, committed, None]


def test_the_candidate_is_frozen_when_the_replay_is_asked_for(
    world: World, prompt_id: int, case: dict[str, Any], upstream: Upstream
) -> None:
    started = world.container.services.replays.start(project_id=world.project_id, test_case_id=case["id"])
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": "Be rude."})
    upstream.script(Reply(text="Good day."))
    world.container.services.replay_player.play(started.id)
    assert "Be kind." in instruction(upstream.requests[0].body)


def test_all_test_cases_are_replayed_with_the_candidate_and_lists_show_it(
    world: World, prompt_id: int, case: dict[str, Any], upstream: Upstream
) -> None:
    committed = version(world, prompt_id)
    url = f"/api/v1/prompts/{prompt_id}/replays"
    body = {"testCaseIds": [case["id"]], "candidate": {"commitHash": committed}}
    assert world.post(url, json=body).status_code == 202
    (listed,) = world.get(url).json["replays"]
    assert (listed["candidate"]["kind"], listed["candidate"]["commitHash"]) == ("version", committed)


def test_what_the_draft_would_refuse_is_refused_with_its_path(world: World, case: dict[str, Any]) -> None:
    paths = {
        "candidate.languageModelName": {"languageModelName": "gpt-0"},
        "candidate.languageModelConfig.temperature": {"languageModelConfig": {"temperature": 3}},
        "candidate.languageModelConfig.max_tokens": {"languageModelConfig": {"max_tokens": 10**6}},
        "candidate.languageModelConfig.heat": {"languageModelConfig": {"heat": 1}},
        "candidate.placeholders.0.key": {"placeholders": [{"key": "a b", "values": [{"name": "n", "content": ""}]}]},
        "candidate.placeholders": {"value": "{{k}}" * 90_000, "placeholders": [_long_placeholder()]},
        "candidate.value": {"value": "a\0b"},
        "candidate.instructionFormat": {"instructionFormat": "HTML"},
        "candidate.colour": {"colour": "red"},
        "candidate.fallbackModelName": {"fallbackModelName": "gpt-4o"},
        "candidate.base": {"commitHash": UNKNOWN, "base": "draft"},
    }
    for path, candidate in paths.items():
        assert refused(world, case, candidate).startswith(f"{path}: "), path
    for candidate in ("latest", None, 7, [], True):
        assert refused(world, case, candidate).startswith("candidate: ")
    assert world.count("replays") == 0


def _long_placeholder() -> dict[str, Any]:
    return {"key": "k", "values": [{"name": "n", "content": "long " * 10}]}


def test_a_hash_that_the_prompt_has_not_is_not_found(world: World, container, case: dict[str, Any]) -> None:
    other = version(world, prompt(world, value="Another."))
    foreign_world = new_world(container)
    foreign = version(foreign_world, prompt(foreign_world, value="Foreign."))
    for unknown in (UNKNOWN, other, foreign, "", "abc", "é" * 64):
        assert refused(world, case, {"commitHash": unknown}, 404) == "The prompt has no such version."
        assert refused(world, case, {"base": unknown}, 404) == "The prompt has no such version."
    assert world.count("replays") == 0


def test_an_overlay_may_name_the_fallback_model_of_its_base(
    world: World, prompt_id: int, case: dict[str, Any], upstream: Upstream
) -> None:
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"fallbackModelName": "gpt-4o"})
    _, body = asked(world, case, upstream, {"languageModelName": "gpt-4o"})
    assert body["model"] == "gpt-4o"


def test_a_key_that_may_run_may_replay_a_candidate(world: World, case: dict[str, Any]) -> None:
    keys = world.container.services.keys
    made = keys.create(project_id=world.project_id, name="ci", scopes=frozenset({"run"}))
    assert start(replace(world, key=made.secret), case["id"], candidate={"value": "Be brief."})
