"""Answers to tool calls for which the recording has no result."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fakes.judging import judged
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.recording import prompt, replayed, tool
from tests.integration.replays.shop import (
    ANSWER,
    LOOK_UP,
    ORDER,
    PAY_BACK,
    REFUNDED,
    SEEN,
    TOOLS,
    calls,
    change,
    kinds,
    set_tools,
    shop,
    shop_case,
)
from tests.support.backends import SQLITE_CONTAINER
from tests.support.conversations import RecordedCall, RecordedTurn
from tests.support.world import World

OTHER = ("get_order", {"id": "B-2"})
UNAVAILABLE = {"error": "tool unavailable for these arguments"}
SEEN_ANSWER = Reply(text="Order A-1 costs 20.")


def answered(upstream: Upstream, request: int = 1) -> Any:
    """The last tool message that the model was sent."""
    return json.loads(upstream.requests[request].body["messages"][-1]["content"])


def produced(replay: dict[str, Any]) -> list[tuple[str, str]]:
    steps = [step["actual"] for turn in replay["turns"] for step in turn["steps"] if step["kind"] == "tool_call"]
    extra = [step for turn in replay["turns"] for step in turn["extra"]]
    return [(each["name"], each["answeredBy"]) for each in [*steps, *extra] if each]


@SQLITE_CONTAINER
def test_by_default_the_model_reads_that_the_tool_is_unavailable(world: World, upstream: Upstream) -> None:
    case = shop_case(world, (SEEN,), judge="never")
    upstream.script(calls(OTHER), calls(LOOK_UP), SEEN_ANSWER)

    replay = replayed(world, case["id"])

    assert (case["onMissing"], answered(upstream)) == ("error", UNAVAILABLE)
    assert (replay["status"], produced(replay)) == ("passed", [("get_order", "recording"), ("get_order", "none")])


@SQLITE_CONTAINER
def test_stop_ends_the_replay(world: World, upstream: Upstream) -> None:
    case = shop_case(world, (SEEN,), onMissing="stop")
    upstream.script(calls(OTHER))

    replay = replayed(world, case["id"])

    assert (replay["status"], replay["stopReason"]) == ("failed", "missing_result")


@SQLITE_CONTAINER
def test_nearest_answers_a_read_with_the_next_recorded_result_and_never_a_write(
    world: World, upstream: Upstream
) -> None:
    case = shop_case(world, onMissing="nearest")
    upstream.script(calls(OTHER, ("refund", {"id": "B-2"})), ANSWER)

    replay = replayed(world, case["id"])

    told = [json.loads(each["content"]) for each in upstream.requests[1].body["messages"][-2:]]
    assert told == [{"total": 20}, UNAVAILABLE]
    assert produced(replay) == [("get_order", "nearest"), ("refund", "none")]
    assert kinds(replay) == [("unanswered_write", "refund", 0)]


def test_a_static_result_is_the_one_of_the_test_case(world: World, upstream: Upstream) -> None:
    case = shop_case(world, (SEEN,))
    change(world, case, tools={"get_order": {"onMissing": "static", "result": {"total": 0}}})
    upstream.script(calls(OTHER), calls(LOOK_UP), SEEN_ANSWER)

    replay = replayed(world, case["id"])

    assert answered(upstream) == {"total": 0}
    assert (replay["status"], produced(replay)) == ("passed", [("get_order", "recording"), ("get_order", "static")])


@SQLITE_CONTAINER
def test_static_without_a_result_is_an_error(world: World, upstream: Upstream) -> None:
    case = shop_case(world, (SEEN,), onMissing="static")
    upstream.script(calls(OTHER), calls(LOOK_UP), SEEN_ANSWER)

    assert produced(replayed(world, case["id"])) == [("get_order", "recording"), ("get_order", "none")]
    assert answered(upstream) == UNAVAILABLE


@SQLITE_CONTAINER
def test_a_write_with_a_static_result_may_be_extra_where_that_is_allowed(world: World, upstream: Upstream) -> None:
    case = shop_case(world)
    change(world, case, tools={"refund": {"extra": "allow", "onMissing": "static", "result": "ok"}})
    upstream.script(calls(LOOK_UP), calls(PAY_BACK, ("refund", {"id": "B-2"})), ANSWER)

    replay = replayed(world, case["id"])

    assert (replay["status"], replay["violations"]) == ("passed", [])


@SQLITE_CONTAINER
def test_simulate_asks_the_judges_model_and_is_marked(world: World, upstream: Upstream) -> None:
    case = shop_case(world, (SEEN,), onMissing="simulate")
    upstream.script(calls(OTHER), Reply(text='{"total": 7}'), calls(LOOK_UP), SEEN_ANSWER)

    replay = replayed(world, case["id"])

    asked = upstream.requests[1].body["messages"]
    assert "You play a tool" in asked[0]["content"]
    assert '"total": 20' in asked[1]["content"]
    assert answered(upstream, 2) == {"total": 7}
    assert produced(replay) == [("get_order", "recording"), ("get_order", "simulate")]
    assert replay["judgeTokens"]["total"] > 0


@SQLITE_CONTAINER
def test_simulate_needs_a_model_with_a_credential(world: World) -> None:
    prompt_id = prompt(world, "demo-agent", languageModelConfig={"tools": TOOLS})
    case = shop_case(world, (SEEN,), prompt_id, onMissing="simulate")

    refused = world.post(f"/api/v1/test-cases/{case['id']}/replays")

    assert (refused.status_code, refused.json["error"].startswith("judge: ")) == (400, True)


@SQLITE_CONTAINER
def test_a_read_of_another_turn_is_borrowed(world: World, upstream: Upstream) -> None:
    case = shop_case(world, (SEEN, RecordedTurn("Thanks!", "You are welcome.")))
    upstream.script(calls(LOOK_UP), SEEN_ANSWER, calls(LOOK_UP), Reply(text="You are welcome."))

    replay = replayed(world, case["id"])

    assert (replay["status"], produced(replay)) == ("passed", [("get_order", "recording"), ("get_order", "borrowed")])
    assert answered(upstream, 3) == {"total": 20}


@SQLITE_CONTAINER
def test_a_write_of_another_turn_is_never_borrowed(world: World, upstream: Upstream) -> None:
    case = shop_case(world, (REFUNDED, RecordedTurn("Thanks!", "You are welcome.")))
    upstream.script(calls(LOOK_UP), calls(PAY_BACK), ANSWER, calls(PAY_BACK), Reply(text="You are welcome."))

    replay = replayed(world, case["id"])

    assert kinds(replay) == [("extra_write", "refund", 1)]
    assert answered(upstream, 4) == UNAVAILABLE


@SQLITE_CONTAINER
def test_a_search_in_other_words_gets_the_recorded_result(world: World, upstream: Upstream) -> None:
    search = tool("search_policy", "query")
    recorded = RecordedCall("search_policy", {"query": "how long do refunds take"}, {"days": 5})
    prompt_id = shop(world, [search])
    case = shop_case(world, (RecordedTurn("How long?", "It takes 5 days.", (recorded,)),), prompt_id)
    script = calls(("search_policy", {"query": "refund duration"})), Reply(text="5 days."), judged("passed", 0, 1)
    upstream.script(*script)

    replay = replayed(world, case["id"])

    assert case["tools"]["search_policy"]["kinds"] == {"/query": "search"}
    assert (replay["status"], produced(replay)) == ("passed", [("search_policy", "recording")])
    assert len(upstream.requests) == len(script), "one question for both open steps of the turn"


@SQLITE_CONTAINER
def test_a_judge_decides_on_the_other_words_of_a_write(world: World, upstream: Upstream) -> None:
    body = "Your order A-1 over 20 EUR is refunded."
    mail = RecordedCall("send_mail", {"to": "ada@example.org", "body": body}, "ok")
    user = "Refund A-1 and mail ada@example.org that 20 EUR come back."
    prompt_id = shop(world, [*TOOLS, tool("send_mail", "body")])
    case = shop_case(world, (RecordedTurn(user, "Order A-1 is refunded.", (ORDER, mail)),), prompt_id)
    assert case["tools"]["send_mail"]["kinds"] == {"/body": "prose"}

    def sent(text: str, *verdicts: Reply, to: str = "ada@example.org") -> dict[str, Any]:
        upstream.script(calls(LOOK_UP, ("send_mail", {"to": to, "body": text})), ANSWER, *verdicts)
        return replayed(world, case["id"])

    assert sent("We have refunded 20 EUR for A-1.", judged("passed", 1))["status"] == "passed"
    wrong = sent("We have refunded 30 EUR for A-1.", judged("failed", 1))
    assert (wrong["status"], wrong["violations"]) == ("failed", [])
    assert wrong["turns"][0]["steps"][1]["evidence"]["invented"] == ["30 EUR"]
    other = sent(body, to="eve@example.org")
    assert kinds(other) == [("unanswered_write", "send_mail", 0)]
    assert 'to is "eve@example.org", recorded was "ada@example.org"' in other["violations"][0]["message"]


@SQLITE_CONTAINER
@pytest.mark.parametrize("setting", ["nearest", "simulate"])
def test_an_effect_that_becomes_a_write_makes_a_rule_for_reads_mean_error(
    world: World, upstream: Upstream, setting: str
) -> None:
    prompt_id = shop(world)
    case = shop_case(world, (SEEN,), prompt_id)
    change(world, case, tools={"get_order": {"onMissing": setting}})
    set_tools(world, prompt_id, [TOOLS[0] | {"effect": "write"}])
    upstream.script(calls(OTHER), SEEN_ANSWER)

    replay = replayed(world, case["id"])

    assert kinds(replay) == [("unanswered_write", "get_order", 0)]
    assert answered(upstream) == UNAVAILABLE
