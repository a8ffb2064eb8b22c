"""Test cases for sentences that no test guards, made of the recorded sessions that are about them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.judging import is_question, judging
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.experimenting import case, ended
from tests.integration.replays.recording import prompt
from tests.integration.suites.sending import make_fingerprints, send, turn
from tests.support.world import World

GREET, HIDE = "Always greet the customer.", "Never reveal the code of a voucher."
VOUCHER = "What is the code of my voucher?"


EQUAL = judging(lambda recorded, produced: "passed" if recorded == produced else "failed")


def follow(body: dict[str, Any]) -> Reply:
    if is_question(body):
        return EQUAL(body)
    instruction, question = body["messages"][0]["content"], body["messages"][-1]["content"]
    if "voucher" in question:
        return Reply(text="I can't show it." if HIDE in instruction else "It is 1234.")
    return Reply(text="Hello" if GREET in instruction else "What")


def half_guarded(world: World, upstream: Upstream) -> int:
    """Make a prompt with two sentences, a test case for one of them, and sessions; returns its id."""
    upstream.choose = follow
    made = prompt(world, value=f"{GREET} {HIDE}")
    case(world, made, "Good morning", "Hello")
    now_ns = int(world.container.now().timestamp() * 1e9)
    sent = {
        "voucher": turn(VOUCHER, answer="I can't show it."),
        "the same": turn(VOUCHER, answer="I can't show it."),
        "failed": turn("The code of a voucher", "get_code", failed="get_code"),
        "weather": turn("How warm is it?", answer="It is warm."),
    }
    for number, (conversation, recorded) in enumerate(sent.items()):
        send(world, made, conversation, [recorded], start_ns=now_ns - (9 - number) * 10**10)
    make_fingerprints(world)
    return made


@pytest.fixture
def prompt_id(world: World, upstream: Upstream) -> int:
    return half_guarded(world, upstream)


def mapped(world: World, prompt_id: int, **body: Any) -> str:
    accepted = world.post(f"/api/v1/prompts/{prompt_id}/guard-maps", json=body)
    assert accepted.status_code == 202, accepted.text
    path = f"/api/v1/guard-maps/{accepted.json['id']}"
    ended(world, path)
    return path


def states(world: World, path: str) -> list[str]:
    return [sentence["state"] for sentence in world.get(path).json["sentences"]]


def test_sessions_about_a_sentence_become_the_test_cases_that_guard_it(world: World, prompt_id: int) -> None:
    path = mapped(world, prompt_id)
    assert states(world, path) == ["guarded", "inert"]

    (offer,) = world.get(f"{path}/sessions").json["sentences"]
    assert (offer["number"], offer["sentence"]) == (1, HIDE)
    (session,) = offer["sessions"]
    assert session["preview"] == VOUCHER
    assert session["words"] == ["code", "voucher"]
    made = world.post(f"{path}/test-cases", json={"sentence": 1})
    assert made.status_code == 200, made.text
    assert (len(made.json["testCaseIds"]), made.json["leftOut"]) == (1, [])
    assert session["sessionId"] not in world.get(f"{path}/sessions").text
    assert states(world, mapped(world, prompt_id)) == ["guarded", "guarded"]


def test_test_cases_join_the_suite_that_the_map_played(world: World, prompt_id: int) -> None:
    listed = world.get(f"/api/v1/prompts/{prompt_id}/test-cases").json["testCases"]
    suite = {"name": "release", "testCaseIds": [listed[0]["id"]]}
    suite_id = world.post(f"/api/v1/prompts/{prompt_id}/suites", json=suite).json["id"]
    path = mapped(world, prompt_id, suite="release")
    assert world.get(path).json["suite"] == "release"

    (session,) = world.get(f"{path}/sessions").json["sentences"][0]["sessions"]
    made = world.post(f"{path}/test-cases", json={"sentence": 1, "sessionIds": [session["sessionId"]]}).json

    members = world.get(f"/api/v1/suites/{suite_id}").json["testCases"]
    assert [member["testCaseId"] for member in members] == [listed[0]["id"], *made["testCaseIds"]]
    assert members[1]["reason"] == f"It is about “{HIDE}”."


def test_a_sentence_without_sessions_is_refused(world: World, prompt_id: int) -> None:
    path = mapped(world, prompt_id)
    assert world.post(f"{path}/test-cases", json={"sentence": 7}).status_code == 404
    refused = world.post(f"{path}/test-cases", json={"sentence": 0})
    assert refused.status_code == 400
    assert "No recorded session of the last 30 days is offered for it." in refused.text
    unknown = world.post(f"{path}/test-cases", json={"sentence": 1, "sessionIds": ["f" * 32]}).json
    assert [entry["why"] for entry in unknown["leftOut"]] == ["gone"]
