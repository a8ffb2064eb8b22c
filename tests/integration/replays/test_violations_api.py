"""Violations of a draft, as a replay shows them over the API."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.recording import make_case, replayed, results, start, tool
from tests.integration.replays.shop import (
    ANSWER,
    LOOK_UP,
    ORDER,
    PAY_BACK,
    POLICY,
    READ_POLICY,
    REFUND,
    REFUNDED,
    SEEN,
    TOOLS,
    calls,
    change,
    kinds,
    record_exchanges,
    set_tools,
    shop,
    shop_case,
)
from tests.support.backends import SQLITE_CONTAINER
from tests.support.conversations import RecordedCall, RecordedTurn
from tests.support.world import World


def test_a_second_refund_is_an_extra_write_and_is_not_answered(world: World, upstream: Upstream) -> None:
    case = shop_case(world)
    upstream.script(calls(LOOK_UP), calls(PAY_BACK), calls(PAY_BACK), ANSWER)

    replay = replayed(world, case["id"])

    assert (replay["status"], kinds(replay)) == ("failed", [("extra_write", "refund", 0)])
    assert results(replay) == [["passed", "passed", "passed"]]
    (violation,) = replay["violations"]
    assert violation["arguments"] == {"id": "A-1"}
    assert violation["message"].startswith('Turn 1: refund was called with {"id": "A-1"}')
    (extra,) = replay["turns"][0]["extra"]
    assert (extra["effect"], extra["answeredBy"]) == ("write", "none")
    assert "tool unavailable" in upstream.requests[3].body["messages"][-1]["content"]


def test_entries_of_lists_have_their_violations(world: World, upstream: Upstream) -> None:
    case = shop_case(world)
    upstream.script(calls(LOOK_UP), calls(PAY_BACK, PAY_BACK), ANSWER, calls(LOOK_UP), calls(PAY_BACK), ANSWER)
    failed, passed = replayed(world, case["id"]), replayed(world, case["id"])

    entries = world.get(f"/api/v1/prompts/{case['promptId']}/replays").json["replays"]

    assert [entry["violations"] for entry in entries] == [[], failed["violations"]]
    assert (passed["violations"], len(failed["violations"])) == ([], 1)


@SQLITE_CONTAINER
def test_a_refund_of_another_order_is_not_answered_with_the_recorded_one(world: World, upstream: Upstream) -> None:
    case = shop_case(world)
    upstream.script(calls(LOOK_UP), calls(("refund", {"id": "B-2"})), ANSWER)

    replay = replayed(world, case["id"])

    assert kinds(replay) == [("unanswered_write", "refund", 0)]
    assert results(replay) == [["passed", "failed", "passed"]]
    assert replay["turns"][0]["steps"][1]["actual"]["answeredBy"] == "none"


@SQLITE_CONTAINER
def test_a_refund_a_turn_later_is_extra(world: World, upstream: Upstream) -> None:
    case = shop_case(world, (REFUNDED, SEEN))
    upstream.script(calls(LOOK_UP), calls(PAY_BACK), ANSWER)
    upstream.script(calls(LOOK_UP, PAY_BACK), Reply(text="Order A-1 costs 20."))

    assert kinds(replayed(world, case["id"])) == [("extra_write", "refund", 1)]


@SQLITE_CONTAINER
def test_extra_reads_are_shown_and_fail_only_where_the_test_case_forbids_them(world: World, upstream: Upstream) -> None:
    case = shop_case(world)
    script = (calls(LOOK_UP, LOOK_UP), calls(PAY_BACK), ANSWER)
    upstream.script(*script, *script)

    allowed = replayed(world, case["id"])
    change(world, case, tools={"get_order": {"extra": "fail"}})
    forbidden = replayed(world, case["id"])

    assert (allowed["status"], allowed["violations"]) == ("passed", [])
    (extra,) = allowed["turns"][0]["extra"]
    assert (extra["name"], extra["effect"], extra["answeredBy"]) == ("get_order", "read", "recording")
    assert (forbidden["status"], kinds(forbidden)) == ("failed", [("extra_read", "get_order", 0)])


@SQLITE_CONTAINER
def test_a_tool_that_must_never_be_called_is_reported_first(world: World, upstream: Upstream) -> None:
    case = shop_case(world)
    change(world, case, tools={"refund": {"never": True, "maxCalls": 0}})
    upstream.script(calls(LOOK_UP), calls(PAY_BACK), ANSWER)

    assert kinds(replayed(world, case["id"])) == [("never", "refund", 0)]


@SQLITE_CONTAINER
def test_more_calls_than_the_test_case_allows_are_one_violation(world: World, upstream: Upstream) -> None:
    case = shop_case(world, (SEEN, SEEN))
    change(world, case, tools={"get_order": {"maxCalls": 1}})
    seen = Reply(text="Order A-1 costs 20.")
    upstream.script(calls(LOOK_UP), seen, calls(LOOK_UP), calls(LOOK_UP), seen)

    replay = replayed(world, case["id"])

    assert (replay["status"], kinds(replay)) == ("failed", [("max_calls", "get_order", 1)])


@SQLITE_CONTAINER
@pytest.mark.parametrize(
    ("order", "found"),
    [("effects", [("order", "refund", 0)]), ("any", []), ("in_order", [])],
    ids=lambda each: str(each),
)
def test_a_refund_before_what_was_read_first_breaks_the_order(
    world: World, upstream: Upstream, order: str, found: list[Any]
) -> None:
    prompt_id = shop(world)
    session_id = record_exchanges(world, prompt_id, "Refund A-1.", [[POLICY, ORDER], [REFUND]], ANSWER.text or "")
    case = make_case(world, session_id, order=order)
    upstream.script(calls(PAY_BACK), calls(LOOK_UP), calls(READ_POLICY), ANSWER)

    replay = replayed(world, case["id"])

    assert kinds(replay) == found
    assert replay["status"] == ("passed" if order == "any" else "failed")


@SQLITE_CONTAINER
def test_reads_that_were_asked_for_together_may_come_in_any_order(world: World, upstream: Upstream) -> None:
    prompt_id = shop(world)
    session_id = record_exchanges(world, prompt_id, "Refund A-1.", [[POLICY, ORDER], [REFUND]], ANSWER.text or "")
    case = make_case(world, session_id)
    upstream.script(calls(LOOK_UP), calls(READ_POLICY), calls(PAY_BACK), ANSWER)

    assert replayed(world, case["id"])["status"] == "passed"


@SQLITE_CONTAINER
def test_a_draft_that_lost_a_tool_that_was_called_fails_by_it(world: World, upstream: Upstream) -> None:
    prompt_id = shop(world)
    case = shop_case(world, prompt_id=prompt_id)
    set_tools(world, prompt_id, TOOLS[:1])
    script = (calls(LOOK_UP), ANSWER)
    upstream.script(*script, *script)

    lost = replayed(world, case["id"])
    change(world, case, tools={"refund": {"lost": "allow"}})
    allowed = replayed(world, case["id"])

    assert kinds(lost) == [("lost_tool", "refund", 0)]
    assert (lost["violations"][0]["arguments"], lost["offeredFrom"]) == (None, "prompt")
    assert "Offer refund again" in lost["violations"][0]["message"]
    assert allowed["violations"] == []


@SQLITE_CONTAINER
def test_a_draft_that_lost_all_its_tools_does_not_get_them_from_the_recording(world: World, upstream: Upstream) -> None:
    prompt_id = shop(world)
    case = shop_case(world, prompt_id=prompt_id)
    world.post(f"/api/v1/prompts/{prompt_id}/commit", json={"message": "Tools"})
    set_tools(world, prompt_id, [])
    upstream.script(ANSWER)

    replay = replayed(world, case["id"])

    assert kinds(replay) == [("lost_tool", "get_order", 0), ("lost_tool", "refund", 0)]
    assert replay["offeredFrom"] == "prompt"
    assert "tools" not in upstream.requests[0].body


def offered(upstream: Upstream) -> list[str]:
    return [each["function"]["name"] for each in upstream.requests[0].body.get("tools", ())]


@SQLITE_CONTAINER
def test_a_tool_that_was_added_is_offered_and_one_that_was_only_offered_may_go(
    world: World, upstream: Upstream
) -> None:
    prompt_id = shop(world)
    turn = RecordedTurn(*_texts(REFUNDED), (ORDER, REFUND), offered=("get_order", "get_policy", "refund"))
    case = shop_case(world, (turn,), prompt_id)
    set_tools(world, prompt_id, [TOOLS[0], TOOLS[2], tool("get_news", "topic")])
    upstream.script(calls(LOOK_UP), calls(PAY_BACK), ANSWER)

    replay = replayed(world, case["id"])

    assert offered(upstream) == ["get_order", "refund", "get_news"]
    assert (replay["status"], replay["violations"], replay["drift"]["tools"]) == ("passed", [], ["get_policy"])


@SQLITE_CONTAINER
def test_a_tool_that_the_agent_left_out_when_it_was_recorded_is_left_out_again(
    world: World, upstream: Upstream
) -> None:
    prompt_id = shop(world)
    world.post(f"/api/v1/prompts/{prompt_id}/commit", json={"message": "Tools"})
    turn = RecordedTurn(*_texts(REFUNDED), (ORDER, REFUND), offered=("get_order", "refund"))
    case = shop_case(world, (turn,), prompt_id)
    upstream.script(calls(LOOK_UP), calls(PAY_BACK), ANSWER)

    assert replayed(world, case["id"])["status"] == "passed"
    assert offered(upstream) == ["get_order", "refund"]


@SQLITE_CONTAINER
def test_a_prompt_that_never_had_tools_offers_the_recorded_definitions(world: World, upstream: Upstream) -> None:
    prompt_id = shop(world, ())
    turn = RecordedTurn(*_texts(REFUNDED), (ORDER, REFUND), offered=(TOOLS[0], TOOLS[2]))  # type: ignore[arg-type]
    case = shop_case(world, (turn,), prompt_id)
    upstream.script(calls(LOOK_UP), calls(PAY_BACK), ANSWER)

    replay = replayed(world, case["id"])

    assert (replay["status"], replay["offeredFrom"], offered(upstream)) == (
        "passed",
        "recording",
        ["get_order", "refund"],
    )


@SQLITE_CONTAINER
def test_tools_with_only_names_are_not_offered_and_are_reported_as_drift(world: World, upstream: Upstream) -> None:
    turn = RecordedTurn(*_texts(REFUNDED), (ORDER, REFUND), offered=("get_order", "refund"))
    case = shop_case(world, (turn,), shop(world, ()), acceptPartial=True)
    upstream.script(ANSWER)

    replay = replayed(world, case["id"])

    assert (offered(upstream), replay["violations"], replay["offeredFrom"]) == ([], [], "prompt")
    assert replay["drift"]["tools"] == ["get_order", "refund"]


@SQLITE_CONTAINER
def test_a_violation_fails_a_replay_that_needs_review(world: World, upstream: Upstream) -> None:
    manual = {"turn": 0, "step": 2, "check": {"answer": "manual"}}
    case = shop_case(world, steps=[manual])
    upstream.script(calls(LOOK_UP), calls(PAY_BACK, PAY_BACK), ANSWER)
    replay = replayed(world, case["id"])
    assert (replay["status"], replay["counts"]["needs_review"]) == ("failed", 1)

    decided = world.patch(f"/api/v1/replays/{replay['id']}/steps/2", json={"verdict": "passed"}).json

    assert (decided["status"], decided["violations"]) == ("failed", replay["violations"])
    assert decided["turns"][0]["steps"][2]["decidedBy"] == "person"


@SQLITE_CONTAINER
def test_violations_and_a_reason_to_stop_may_both_be_there(world: World, upstream: Upstream) -> None:
    case = shop_case(world, onMissing="stop")
    upstream.script(calls(("refund", {"id": "B-2"})))

    replay = replayed(world, case["id"])

    assert (kinds(replay), replay["stopReason"]) == ([("unanswered_write", "refund", 0)], "missing_result")


@SQLITE_CONTAINER
def test_an_extra_write_that_is_allowed_is_answered_again(world: World, upstream: Upstream) -> None:
    case = shop_case(world)
    change(world, case, tools={"refund": {"extra": "allow"}})
    upstream.script(calls(LOOK_UP), calls(PAY_BACK, PAY_BACK), ANSWER)
    upstream.script(calls(LOOK_UP), calls(PAY_BACK, ("refund", {"id": "B-2"})), ANSWER)

    same, other = replayed(world, case["id"]), replayed(world, case["id"])

    assert (same["status"], same["violations"]) == ("passed", [])
    assert same["turns"][0]["extra"][0]["answeredBy"] == "recording"
    assert kinds(other) == [("unanswered_write", "refund", 0)]


def test_a_replay_shows_no_violations_before_it_has_ended(world: World, upstream: Upstream) -> None:
    case = shop_case(world)
    answer = threading.Event()
    upstream.script(Reply(text="A while.", held=answer))
    replay_id = start(world, case["id"])

    queued = world.get(f"/api/v1/replays/{replay_id}").json
    answer.set()

    assert (queued["violations"], queued["tools"], queued["offeredFrom"]) == ([], {}, "prompt")


def _texts(turn: RecordedTurn) -> tuple[str, str]:
    return turn.user, turn.answer


def test_a_call_far_from_the_recording_does_not_break_an_answer(world: World, upstream: Upstream) -> None:
    case = shop_case(world, (RecordedTurn("Mail Ada.", "Done.", (RecordedCall("send_mail", {"to": "a@b.c"}, "ok"),)),))
    upstream.script(calls(("send_mail", {"to": "x\0y", "deep": [[[[1]]]]})), Reply(text="Done."))

    replay = replayed(world, case["id"])

    assert replay["status"] == "failed"
    assert ("unanswered_write", "send_mail", 0) in kinds(replay)
