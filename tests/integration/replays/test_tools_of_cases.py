"""The rules of tools: where their effects come from, and how a test case changes them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from app.models import prompt_versions
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.recording import make_case, prompt, record, replayed, tool
from tests.integration.replays.shop import (
    ANSWER,
    LOOK_UP,
    PAY_BACK,
    REFUNDED,
    TOOLS,
    calls,
    change,
    set_tools,
    shop,
    shop_case,
)
from tests.support.backends import SQLITE_CONTAINER
from tests.support.conversations import RecordedCall, RecordedTurn
from tests.support.world import World

ANNOTATED = tool("refund", "id") | {"annotations": {"readOnlyHint": False, "destructiveHint": True}}
NAMES = ("get_order", "refund")
MARKED = tool("get_policy", "topic") | {"effect": "write"}


def effects(shown: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {name: (rules["effect"], rules["effectFrom"]) for name, rules in shown["tools"].items()}


def test_effects_are_found_in_the_prompt_in_annotations_and_in_names(world: World) -> None:
    prompt_id = shop(world, [tool("get_order", "id"), MARKED, ANNOTATED, tool("ping", "host")])

    assert effects(shop_case(world, prompt_id=prompt_id)) == {
        "get_order": ("read", "name"),
        "get_policy": ("write", "prompt"),
        "refund": ("write", "annotation"),
        "ping": ("write", "unknown"),
    }


def test_effects_are_found_in_the_annotations_that_the_agent_recorded(world: World, upstream: Upstream) -> None:
    hints = ({"destructiveHint": True}, {"readOnlyHint": True})
    offered = tuple(tool(name, "id") | {"annotations": hint} for name, hint in zip(NAMES, hints, strict=True))
    case = shop_case(world, [replace(REFUNDED, offered=offered)], shop(world, []))
    upstream.script(calls(LOOK_UP, PAY_BACK), ANSWER)
    replay = replayed(world, case["id"])

    assert effects(case) == {"get_order": ("write", "annotation"), "refund": ("read", "annotation")}
    assert effects(replay) == effects(case)
    sent = upstream.requests[0].body["tools"]
    assert [(one["function"]["name"], "annotations" in json.dumps(one)) for one in sent] == [(n, False) for n in NAMES]


def test_the_test_case_has_the_first_word_and_a_replay_shows_the_same(world: World, upstream: Upstream) -> None:
    prompt_id = shop(world, [tool("get_order", "id"), MARKED, ANNOTATED])
    case = shop_case(world, prompt_id=prompt_id)
    changed = change(world, case, tools={"refund": {"effect": "read"}, "get_order": {"effect": "write"}})
    upstream.script(calls(LOOK_UP, PAY_BACK), ANSWER)
    replay = replayed(world, case["id"])

    found = {
        "get_order": ("write", "test_case"),
        "get_policy": ("write", "prompt"),
        "refund": ("read", "test_case"),
    }
    assert effects(changed) == effects(replay) == found
    assert replay["status"] == "passed"


def test_effects_are_found_again_when_the_draft_changes(world: World, upstream: Upstream) -> None:
    prompt_id = shop(world)
    case = shop_case(world, prompt_id=prompt_id)
    set_tools(world, prompt_id, [*TOOLS[:2], tool("refund", "id") | {"annotations": {"readOnlyHint": True}}])
    upstream.script(calls(LOOK_UP, PAY_BACK), ANSWER)

    assert effects(world.get(f"/api/v1/test-cases/{case['id']}").json)["refund"] == ("read", "annotation")
    assert effects(replayed(world, case["id"]))["refund"] == ("read", "annotation")


def test_a_tool_that_nothing_recorded_or_defined_can_be_forbidden(world: World) -> None:
    changed = change(world, shop_case(world), tools={"delete_account": {"never": True}})

    rules = changed["tools"]["delete_account"]
    assert (rules["never"], rules["effect"], rules["effectFrom"]) == (True, "write", "unknown")


def test_null_puts_a_rule_or_all_of_a_tool_back_to_the_default(world: World) -> None:
    case = shop_case(world)
    rules = {"extra": "allow", "maxCalls": 2, "never": True, "lost": "allow", "onMissing": "static", "result": {"a": 1}}
    changed = change(world, case, tools={"refund": rules, "get_order": {"extra": "fail"}})
    assert {key: changed["tools"]["refund"][key] for key in rules} == rules

    partly = change(world, case, tools={"refund": dict.fromkeys(["extra", "maxCalls", "never"])})["tools"]["refund"]
    assert [partly[key] for key in ("extra", "maxCalls", "never", "lost")] == ["fail", None, False, "allow"]
    assert change(world, case, tools={"refund": None})["tools"]["refund"] == case["tools"]["refund"]
    assert change(world, case, tools={"get_order": None})["tools"] == case["tools"]


def test_the_rules_of_an_answer_may_be_sent_back(world: World) -> None:
    case = shop_case(world)

    again = change(world, case, tools=case["tools"])

    for name, rules in again["tools"].items():
        assert rules == case["tools"][name] | {"effectFrom": "test_case"}


QUERY = tool("ledger", "sql")
SELECT, DELETE = {"sql": "SELECT id FROM bookings"}, {"sql": "DELETE FROM bookings"}


def ledger_case(world: World, **rules: Any) -> dict[str, Any]:
    prompt_id = prompt(world, languageModelConfig={"tools": [QUERY]})
    turn = RecordedTurn("Which bookings are there?", "Only 7.", (RecordedCall("ledger", SELECT, [{"id": 7}]),))
    return make_case(world, record(world, prompt_id, [turn]), tools={"ledger": rules})


@pytest.mark.parametrize(
    ("effect", "further", "status"),
    [
        ("by_call", SELECT, "passed"),
        ("by_call", DELETE, "failed"),
        ("by_call", {"sql": "PRAGMA wal_checkpoint"}, "failed"),
        ("write", SELECT, "failed"),
        ("read", {"sql": "PRAGMA wal_checkpoint"}, "passed"),
    ],
)
def test_a_statement_decides_only_where_a_person_left_that_to_each_call(
    world: World, upstream: Upstream, effect: str, further: dict[str, Any], status: str
) -> None:
    case = ledger_case(world, effect=effect)
    upstream.script(calls(("ledger", SELECT)), calls(("ledger", further)), Reply(text="Only 7."))

    replay = replayed(world, case["id"])

    assert (replay["status"], effects(replay)["ledger"]) == (status, (effect, "test_case"))
    advice = [entry["message"].rpartition("set the effect of ledger there to ")[2] for entry in replay["violations"]]
    assert advice == (['"decided by each call".'] if effect == "write" else ['"reads".'] if status == "failed" else [])


@pytest.mark.parametrize(("extra", "status", "kinds"), [(None, "failed", ["extra_read"]), ("allow", "passed", [])])
def test_a_further_statement_that_changes_data_fails_in_a_tool_that_a_person_has_set_to_read(
    world: World, upstream: Upstream, extra: str | None, status: str, kinds: list[str]
) -> None:
    case = ledger_case(world, effect="read", extra=extra)
    upstream.script(calls(("ledger", SELECT)), calls(("ledger", DELETE)), Reply(text="Only 7."))

    replay = replayed(world, case["id"])

    assert (replay["status"], [entry["kind"] for entry in replay["violations"]]) == (status, kinds)


def test_the_rules_of_a_tool_that_each_call_decides_may_be_sent_back_and_exported(world: World) -> None:
    case = ledger_case(world, effect="by_call")
    shown = case["tools"]["ledger"]
    assert (shown["effect"], shown["effectFrom"], shown["extra"]) == ("by_call", "test_case", None)

    file = world.get(f"/api/v1/test-cases/{case['id']}/export").json
    brought = world.post(f"/api/v1/prompts/{case['promptId']}/test-cases/import", json=file | {"name": "Again"}).json

    assert (file["format"], file["testCase"]["tools"]["ledger"]["effect"]) == ("reprise.test-case/3", "by_call")
    assert brought["tools"] == case["tools"] == change(world, case, tools=case["tools"])["tools"]


def test_a_prompt_may_leave_the_effect_of_a_tool_to_each_call(world: World) -> None:
    prompt_id = prompt(world, languageModelConfig={"tools": [QUERY | {"effect": "by_call"}]})
    turn = RecordedTurn("Which bookings are there?", "Only 7.", (RecordedCall("ledger", SELECT, [{"id": 7}]),))

    assert effects(make_case(world, record(world, prompt_id, [turn])))["ledger"] == ("by_call", "prompt")


def test_matchers_without_options_read_back_as_their_names(world: World) -> None:
    matchers = {"/body": {"match": "facts"}, "/amount": {"match": "number", "tolerance": 0.5}, "/items/*/note": "any"}
    changed = change(world, shop_case(world), tools={"refund": {"arguments": matchers}})

    assert changed["tools"]["refund"]["arguments"] == matchers | {"/body": "facts"}


@SQLITE_CONTAINER
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"tools": {"refund": {"effect": "execute"}}}, "tools.refund.effect: must be one of read, write, by_call"),
        ({"tools": {"refund": {"extra": 1}}}, "tools.refund.extra: "),
        ({"tools": {"refund": {"maxCalls": -1}}}, "tools.refund.maxCalls: must be at least 0"),
        ({"tools": {"refund": {"maxCalls": 1.5}}}, "tools.refund.maxCalls: "),
        ({"tools": {"refund": {"never": "yes"}}}, "tools.refund.never: "),
        ({"tools": {"refund": {"lost": "stop"}}}, "tools.refund.lost: "),
        ({"tools": {"refund": {"onMissing": "ask"}}}, "tools.refund.onMissing: "),
        ({"tools": {"refund": {"onMissing": "nearest"}}}, "tools.refund.onMissing: nearest is for tools that read"),
        ({"tools": {"refund": {"onMissing": "simulate"}}}, "tools.refund.onMissing: simulate is for tools that read"),
        ({"tools": {"refund": {"colour": "red"}}}, "tools.refund.colour: unknown field"),
        ({"tools": {"refund": {"arguments": {"/body": "fact"}}}}, "tools.refund.arguments./body: must be one of"),
        ({"tools": {"refund": {"arguments": {"body": "facts"}}}}, "tools.refund.arguments.body: "),
        (
            {"tools": {"refund": {"arguments": {"/n": {"match": "number", "tolerance": -1}}}}},
            "tools.refund.arguments./n: tolerance: ",
        ),
        (
            {"tools": {"refund": {"arguments": {"/n": {"match": "regex", "value": "("}}}}},
            "tools.refund.arguments./n: value: ",
        ),
        (
            {"tools": {"refund": {"arguments": {"/n": {"match": "one_of", "values": []}}}}},
            "tools.refund.arguments./n: values: ",
        ),
        ({"tools": {"mail.send": {"effect": "maybe"}}}, "tools.mail.send.effect: "),
        ({"tools": {"refund": 1}}, "tools.refund: must be an object"),
        ({"tools": []}, "tools: must be an object"),
        (
            {"steps": [{"turn": 0, "step": 0, "check": {"arguments": {"/body": "words"}}}]},
            "steps.0.check.arguments./body: must be one of",
        ),
        ({"judge": "sometimes"}, "judge: must be one of auto, never, always"),
        ({"order": "sorted"}, "order: must be one of effects, any, in_order"),
    ],
)
def test_a_bad_rule_is_refused_by_its_path(world: World, body: dict[str, Any], message: str) -> None:
    case = shop_case(world)

    refused = world.patch(f"/api/v1/test-cases/{case['id']}", json=body)

    assert refused.status_code == 400
    assert refused.json["error"].startswith(message), refused.json["error"]
    assert world.get(f"/api/v1/test-cases/{case['id']}").json == case


def test_effects_and_annotations_of_a_prompt_are_part_of_its_version_and_stay_here(
    world: World, upstream: Upstream
) -> None:
    def committed(*tools: Any) -> str:
        set_tools(world, prompt_id, tools)
        made = world.post(f"/api/v1/prompts/{prompt_id}/commit", json={"message": "Tools"})
        assert made.status_code == 201, made.text
        commit_hash: str = made.json["commitHash"]
        return commit_hash

    prompt_id = shop(world)
    plain, marked = tool("refund", "id"), tool("refund", "id") | {"effect": "read"}
    hashes = {committed(each) for each in (plain, marked, ANNOTATED)}

    assert len(hashes) == 3
    kept = world.get(f"/api/v1/prompts/{prompt_id}").json["languageModelConfig"]["tools"]
    assert [(each.get("effect"), each.get("annotations")) for each in kept] == [(None, ANNOTATED["annotations"])]
    case = shop_case(world, prompt_id=prompt_id)
    set_tools(world, prompt_id, [marked | {"annotations": {"readOnlyHint": True}}])
    upstream.script(ANSWER)
    replayed(world, case["id"])
    (offered,) = upstream.requests[0].body["tools"]
    assert offered["function"]["name"] == "refund"
    assert "effect" not in str(offered)
    assert "nnotations" not in str(offered)


@SQLITE_CONTAINER
@pytest.mark.parametrize(
    ("extra", "path"),
    [
        ({"effect": "execute"}, "languageModelConfig.tools.0.effect: "),
        ({"effect": None}, "languageModelConfig.tools.0.effect: "),
        ({"annotations": {"readOnlyHint": "yes"}}, "languageModelConfig.tools.0.annotations.readOnlyHint: "),
    ],
)
def test_a_prompt_refuses_an_effect_that_is_none(world: World, extra: dict[str, Any], path: str) -> None:
    tools = [tool("refund", "id") | extra]

    refused = world.patch(f"/api/v1/prompts/{shop(world)}", json={"languageModelConfig": {"tools": tools}})

    assert (refused.status_code, refused.json["error"].startswith(path)) == (400, True), refused.text


def test_the_tools_of_many_versions_are_read_a_few_at_a_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_versions, "CONFIGS_AT_ONCE", 2)
    prompt_id = shop(world, [MARKED])
    path = f"/api/v1/prompts/{prompt_id}"
    for number in range(4):
        assert world.patch(path, json={"value": f"{number}", "languageModelConfig": {"tools": []}}).status_code == 200
        assert world.post(f"{path}/commit", json={"message": "x"}).status_code == 201
    hashes = {version["commitHash"] for version in world.get(f"{path}/versions").json["versions"]}
    with world.container.database.read() as connection:
        defined = prompt_versions.ever_defined_tools(connection, prompt_id=prompt_id)
        tools = prompt_versions.tools_of_versions(connection, prompt_id=prompt_id, commit_hashes={*hashes, "unknown"})

    assert defined
    assert tools.keys() == hashes
    assert sorted(map(len, tools.values())) == [0] * (len(hashes) - 1) + [1]
