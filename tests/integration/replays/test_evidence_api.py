"""Answers that a run marks NOK never pass, and what a draft did counts although its vendor fails later."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from tests.fakes.judging import judged
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.experimenting import run, verdict
from tests.integration.replays.recording import make_case, record, replayed, tool
from tests.integration.replays.shop import calls, kinds, shop, shop_case
from tests.support.backends import SQLITE_CONTAINER
from tests.support.conversations import RecordedCall, RecordedTurn
from tests.support.world import World

SCHEMA = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "price": {"type": "integer"}},
    "required": ["id", "price"],
    "additionalProperties": False,
}
JSON = '{"id": "A-1", "price": 5}'
FETCH = RecordedCall("get_order", {"id": "A-1"}, {"id": "A-1", "price": 5})
FETCHED = ("get_order", {"id": "A-1"})
FORMATS = {
    "schema": {"response_format": "json_schema", "json_schema": SCHEMA},
    "object": {"response_format": "json_object"},
    "text": {"max_tokens": 8},
}


def priced(world: World, form: str, answer: str = JSON) -> dict[str, Any]:
    """Make a test case of one call and one answer, of a prompt with a response format."""
    prompt_id = shop(world, [tool("get_order", "id")])
    config = {"tools": [tool("get_order", "id")], **FORMATS[form]}
    changed = world.patch(f"/api/v1/prompts/{prompt_id}", json={"languageModelConfig": config})
    assert changed.status_code == 200, changed.text
    return make_case(world, record(world, prompt_id, [RecordedTurn("A-1?", answer, (FETCH,))]))


@SQLITE_CONTAINER
@pytest.mark.parametrize(
    ("form", "reply"),
    [
        ("object", Reply(text=f"```json\n{JSON}\n```")),
        ("object", Reply(text=f"Here it is: {JSON}")),
        ("object", Reply(text="Order A-1 costs 5.")),
        ("schema", Reply(text='{"id": "A-1", "price": "5"}')),
        ("schema", Reply(text='{"id": "A-1", "price": 5, "note": "thanks"}')),
        ("schema", Reply(text='{"order": "A-1", "price": 5}')),
        ("schema", Reply(text='{"id": "A-1", "price": 5', truncated=True)),
        ("text", Reply(text="Order A-1 costs 5, and it wi", truncated=True)),
        ("text", Reply(refusal="Order A-1 costs 5.")),
        ("text", Reply(text="")),
    ],
)
@pytest.mark.parametrize("check", ["meaning", "facts", "ai"])
def test_an_answer_that_a_run_marks_nok_fails(
    world: World, upstream: Upstream, form: str, reply: Reply, check: str
) -> None:
    case = priced(world, form, JSON if form != "text" else "Order A-1 costs 5.")
    world.patch(
        f"/api/v1/test-cases/{case['id']}", json={"steps": [{"turn": 0, "step": 1, "check": {"answer": check}}]}
    )
    upstream.script(calls(FETCHED), reply, judged("passed", 1))

    replay = replayed(world, case["id"])

    step = replay["turns"][0]["steps"][1]
    assert (replay["status"], step["result"], step["decidedBy"]) == ("failed", "failed", "rule")
    assert step["reason"].startswith("NOK: ")


@pytest.mark.parametrize("status", [400, 500])
@pytest.mark.parametrize("history", ["replayed", "recorded"])
def test_a_violation_counts_although_the_vendor_fails_in_the_next_turn(
    world: World, upstream: Upstream, status: int, history: str
) -> None:
    turns = [RecordedTurn("One?", "1", (FETCH,)), RecordedTurn("Two?", "2", (FETCH,))]
    case = shop_case(world, turns)
    world.patch(f"/api/v1/test-cases/{case['id']}", json={"history": history})

    def choose(body: dict[str, Any]) -> Reply:
        messages = body["messages"]
        if any(message["role"] == "user" and message["content"] == "Two?" for message in messages):
            return Reply(status=status, message="too long")
        made = sum(message["role"] == "tool" for message in messages)
        return Reply(text="1") if made else calls(FETCHED, ("refund", {"id": "A-1"}))

    upstream.choose = choose
    replay = replayed(world, case["id"])
    found = run(world, case["promptId"], baseline=None, minPassRate=1, judge="never")

    assert (replay["status"], kinds(replay)) == ("failed", [("extra_write", "refund", 0)])
    assert verdict(found) == ("finished", "failed")
    assert found["violations"]


@pytest.mark.parametrize("silence", ["", " \n"])
def test_a_draft_that_is_silent_in_half_of_its_conversations_fails_although_the_vendor_refuses_to_go_on(
    world: World, upstream: Upstream, silence: str
) -> None:
    case = shop_case(world, [RecordedTurn("One?", "1"), RecordedTurn("Two?", "2")])
    begun = count()

    def choose(body: dict[str, Any]) -> Reply:
        messages = body["messages"]
        if messages[-1]["content"] == "One?":
            return Reply(text=silence if next(begun) % 2 else "1")
        spoken = any(message["role"] == "assistant" and message["content"] == "1" for message in messages)
        return Reply(text="2") if spoken else Reply(status=400, message="text content blocks must be non-empty")

    upstream.choose = choose
    repeats = {"min": 4, "max": 8}
    found = run(world, case["promptId"], baseline=None, judge="never", repeats=repeats, reuse=False)

    assert verdict(found) == ("finished", "failed")
    side = found["testCases"][0]["candidate"]
    # The first failed replay decides, perhaps before any that passes has ended.
    assert side["passed"] < side["runs"]
    first = world.get(f"/api/v1/replays/{side['failedReplayIds'][0]}").json
    assert (first["status"], first["turns"][0]["steps"][0]["result"]) == ("failed", "failed")
