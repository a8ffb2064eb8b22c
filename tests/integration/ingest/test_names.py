"""Spans name a conversation, a version and a user, by the attribute of each library."""

from __future__ import annotations

import json
import secrets
from typing import Any

import pytest

from app.otlp.names import CONVERSATION_KEYS
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.exports import export, span
from tests.support.protobuf import traces
from tests.support.world import World

BEST = "gen_ai.conversation.id"


def one(trace: str, number: int, attributes: dict[str, Any]) -> dict[str, Any]:
    """The span of a trace that starts at the time `number`, without a prompt."""
    found = span(attributes, traceId=trace, spanId=f"{number:016x}", startTimeUnixNano=str(10**18 + number))
    return found | {"attributes": found["attributes"][1:]}


def session(world: World, prompt_id: int) -> Any:
    (entry,) = world.get(f"/api/v1/prompts/{prompt_id}/logs?include=all").json["entries"]
    return world.get(f"/api/v1/sessions/{entry['id']}").json


def stored(world: World, *spans: dict[str, Any]) -> Any:
    """The only session of a new prompt that the spans make."""
    prompt_id = world.prompt()
    assert world.send_to(prompt_id, traces(export(*spans))).content == b""
    return session(world, prompt_id)


@EMBEDDED_CONTAINER
@pytest.mark.parametrize("key", CONVERSATION_KEYS)
@pytest.mark.parametrize(("value", "name"), [("a b/c", "a b/c"), (12, "12")])
def test_each_of_them_names_the_conversation(world: World, key: str, value: Any, name: str) -> None:
    turns = [one(secrets.token_hex(16), number, {key: value}) for number in (1, 2)]
    found = stored(world, *turns)

    assert (found["conversationId"], len(found["turns"])) == (name, 2)


@pytest.mark.parametrize("value", [None, "", True, 1.5, ["c"], {"id": "c"}])
def test_what_is_no_name_leaves_the_next_best_to_name_it(world: World, value: Any) -> None:
    assert stored(world, one("1" * 32, 1, {BEST: value, "session.id": "s"}))["conversationId"] == "s"


@EMBEDDED_CONTAINER
@pytest.mark.parametrize("place", range(1, len(CONVERSATION_KEYS)))
def test_the_best_name_counts_wherever_in_the_trace_it_is(world: World, place: int) -> None:
    better, worse = CONVERSATION_KEYS[place - 1], CONVERSATION_KEYS[place]
    found = stored(world, one("1" * 32, 1, {worse: "first"}), one("1" * 32, 2, {better: "b"}))

    assert found["conversationId"] == "b"
    assert found["turns"][0]["warnings"] == []


def test_a_better_name_that_comes_later_moves_the_turn(world: World) -> None:
    prompt_id = world.prompt()
    for number, attributes in enumerate([{"thread_id": "t"}, {"session.id": "s"}, {"thread_id": "u"}, {BEST: "c"}], 1):
        world.send_to(prompt_id, traces(export(one("1" * 32, number, attributes))))

    assert session(world, prompt_id)["conversationId"] == "c"
    assert len(session(world, prompt_id)["turns"][0]["spans"]) == 4


def test_two_names_by_one_attribute_are_named_in_a_warning(world: World) -> None:
    found = stored(world, one("1" * 32, 1, {BEST: "a"}), one("1" * 32, 2, {BEST: "b", "session.id": "s"}))

    assert found["turns"][0]["warnings"] == ["Spans name several conversations: a, b."]


def test_the_address_without_a_prompt_knows_the_same_names(world: World) -> None:
    prompt_id = world.prompt()
    attributes = {"service.prompt.id": prompt_id, "langgraph.thread_id": "t", "enduser.id": "ada"}
    assert world.send(export(span(attributes))).status_code == 200

    found = session(world, prompt_id)
    assert (found["conversationId"], found["userId"]) == ("t", "ada")


@pytest.mark.parametrize(
    ("attributes", "user"),
    [
        ([{"user.id": "ada"}], "ada"),
        ([{"enduser.id": "ada"}], "ada"),
        ([{"user.id": 7}], "7"),
        ([{"enduser.id": "old"}, {"user.id": "ada"}], "ada"),
        ([{"user.id": ""}, {"user.id": "ada"}, {"user.id": "eve"}], "ada"),
        ([{"user.id": True}], None),
        ([{}], None),
    ],
)
def test_the_user_is_shown_of_a_turn_and_of_its_session(
    world: World, attributes: list[dict[str, Any]], user: str | None
) -> None:
    found = stored(world, *(one("1" * 32, number, each) for number, each in enumerate(attributes, 1)))

    assert (found["userId"], found["turns"][0]["userId"]) == (user, user)


def test_a_session_shows_the_first_user_that_a_turn_names(world: World) -> None:
    turns = [{BEST: "c"}, {BEST: "c", "user.id": "ada"}, {BEST: "c", "user.id": "eve"}]
    found = stored(world, *(one(f"{number:032x}", number, each) for number, each in enumerate(turns, 1)))

    assert [turn["userId"] for turn in found["turns"]] == [None, "ada", "eve"]
    assert found["userId"] == "ada"


def test_a_conversation_that_is_masked_keeps_its_turns_together(world: World) -> None:
    rule = {"kind": "pattern", "value": "ada@[a-z.]+"}
    assert world.put("/api/v1/data-policy", json={"masking": [rule]}).status_code == 200
    named = {"session.id": "of ada@example.org", "user.id": "ada@example.org"}
    found = stored(world, *(one(f"{number:032x}", number, named) for number in (1, 2)))

    assert found["conversationId"].startswith("masked-")
    assert (len(found["turns"]), found["userId"]) == (2, "[masked]")


def test_a_version_by_the_common_attribute_counts_if_it_is_a_hash_of_the_prompt(world: World) -> None:
    made = [world.post("/api/v1/prompts", json={"name": name, "value": name}).json["prompt"]["id"] for name in "ab"]
    own, other = (world.get(f"/api/v1/prompts/{prompt_id}").json["commitHash"] for prompt_id in made)
    named = {"own": own, "of another prompt": other, "its own words": "v12", "no hash of any": "0" * 64}
    for number, (conversation, version) in enumerate(named.items(), 1):
        attributes = {BEST: conversation, "gen_ai.prompt.version": version}
        world.send_to(made[0], traces(export(one(f"{number:032x}", number, attributes))))
    world.send_to(
        made[0],
        traces(export(one("9" * 32, 9, {BEST: "ours", "gen_ai.prompt.version": own, "service.prompt.version": "v1"}))),
    )

    entries = world.get(f"/api/v1/prompts/{made[0]}/logs?include=all").json["entries"]
    assert {entry["conversationId"]: entry["promptVersions"] for entry in entries} == {
        **{name: [] for name in named},
        "own": [own],
        "ours": ["v1"],
    }
    shown = {
        entry["conversationId"]: world.get(f"/api/v1/sessions/{entry['id']}").json["turns"][0] for entry in entries
    }
    assert {name: turn["promptVersion"] for name, turn in shown.items()} == {
        **dict.fromkeys(named, None),
        "own": own,
        "ours": "v1",
    }
    assert json.dumps(shown["its own words"]["spans"][0]["attributes"]) == json.dumps(
        {BEST: "its own words", "gen_ai.prompt.version": "v12"}
    )
