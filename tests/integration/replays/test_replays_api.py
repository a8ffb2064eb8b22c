"""Replays over the API: what is asked of the model, what is found, and how it is shown."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from app.concurrency import computing
from app.concurrency.computing import LARGE_TEXT, ComputingPlace
from app.concurrency.quotas import FairSemaphore, Quota
from app.errors import Unavailable
from app.services.language_models.credentials import CredentialService
from app.services.replays import ports
from tests.fakes.judging import finding, judged
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.recording import (
    BOOKED,
    HOT,
    THANKS,
    finished,
    make_case,
    prompt,
    record,
    replayed,
    results,
    start,
)
from tests.support.conversations import RecordedTurn
from tests.support.waiting import wait_until
from tests.support.world import World, new_world

REPEATED = (
    Reply(tool_calls=[("weather", {"city": "Rome"})]),
    Reply(text="It is 31 °C in Rome."),
    Reply(tool_calls=[("book", {"hotel": "Hassler"})]),
    Reply(text="Done."),
    Reply(text="You are welcome."),
)


@pytest.fixture
def prompt_id(world: World) -> int:
    return prompt(world)


@pytest.fixture
def case(world: World, prompt_id: int) -> dict[str, Any]:
    return make_case(world, record(world, prompt_id))


def test_repeating_the_recording_passes_and_costs_what_its_calls_cost(
    world: World, prompt_id: int, case: dict[str, Any], upstream: Upstream
) -> None:
    upstream.script(*REPEATED)

    replay = replayed(world, case["id"])

    assert replay["status"] == "passed"
    assert results(replay) == [["passed", "passed"], ["passed", "passed"], ["passed"]]
    assert replay["counts"] == {"passed": 5, "failed": 0, "ignored": 0, "not_run": 0, "needs_review": 0}
    assert replay["progress"] == {"done": 5, "total": 5}
    assert (replay["promptId"], replay["testCaseId"]) == (prompt_id, case["id"])
    assert replay["tokens"]["total"] == replay["tokens"]["prompt"] + replay["tokens"]["completion"] > 0
    # gpt-4o-mini: 0.15 and 0.60 USD for a million tokens
    assert replay["cost"]["prompt"] == pytest.approx(replay["tokens"]["prompt"] * 0.15 / 1e6)
    assert replay["cost"]["completion"] == pytest.approx(replay["tokens"]["completion"] * 0.60 / 1e6)
    assert (replay["stopReason"], replay["error"], replay["drift"]) == (None, None, {"placeholders": {}, "tools": []})
    assert replay["createdAt"] <= replay["startedAt"] <= replay["finishedAt"]


def test_the_only_calls_that_leave_are_those_of_the_model(
    world: World, case: dict[str, Any], upstream: Upstream
) -> None:
    upstream.script(*REPEATED)

    replayed(world, case["id"])

    assert [request.path for request in upstream.requests] == ["/openai/v1/chat/completions"] * 5
    messages = upstream.requests[1].body["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool"]
    assert json.loads(messages[3]["content"]) == {"degrees": 31}
    assert messages[0]["content"] == "<instructions>\nBe kind.\n</instructions>"


def test_a_failed_step_shows_what_differs(world: World, case: dict[str, Any], upstream: Upstream) -> None:
    upstream.script(
        Reply(tool_calls=[("weather", {"city": "Romeo"})]),
        Reply(text="It is cold."),
        judged("failed", 1),
        Reply(text="I can't book."),
        judged("failed", 1),  # of the second turn
        *REPEATED[4:],
    )

    replay = replayed(world, case["id"])

    assert (replay["status"], replay["counts"]["failed"], replay["counts"]["passed"]) == ("failed", 4, 1)
    assert replay["url"].endswith(f"/projects/{world.project_id}/replays/{replay['id']}")
    listed = world.get(f"/api/v1/prompts/{replay['promptId']}/replays").json["replays"]
    assert [entry["url"] for entry in listed] == [replay["url"]]
    call, answer = replay["turns"][0]["steps"]
    assert call["expected"] == {"name": "weather", "arguments": {"city": "Rome"}}
    assert call["actual"] == {
        "name": "weather",
        "arguments": {"city": "Romeo"},
        "result": '{"error": "tool unavailable for these arguments"}',
        "effect": "write",
        "answeredBy": "none",
    }
    assert [(each["kind"], each["tool"], each["turn"]) for each in replay["violations"]] == [
        ("unanswered_write", "weather", 0)
    ]
    assert (answer["facts"]["lost"], answer["decidedBy"]) == (["31 °C"], "judge")
    assert call["reason"] == 'weather was called with other arguments: city is "Romeo", recorded was "Rome"'
    assert call["diff"] == [{"path": "/city", "expected": "Rome", "actual": "Romeo"}]
    assert answer["diff"] == [{"path": "", "expected": "It is 31 °C in Rome.", "actual": "It is cold."}]
    assert "never called" in replay["turns"][1]["steps"][0]["reason"]


def test_steps_that_are_cut_off_or_switched_off_are_marked(world: World, prompt_id: int, upstream: Upstream) -> None:
    off = {"turn": 0, "step": 1, "check": {"enabled": False}}
    case = make_case(world, record(world, prompt_id), includedTurns=1, steps=[off])
    upstream.script(*REPEATED[:2])

    replay = replayed(world, case["id"])

    assert results(replay) == [["passed", "ignored"], ["not_run", "not_run"], ["not_run"]]
    assert (replay["status"], replay["progress"]) == ("passed", {"done": 2, "total": 2})


def test_a_call_that_nothing_recorded_answers_can_stop_the_replay(
    world: World, case: dict[str, Any], upstream: Upstream
) -> None:
    world.patch(f"/api/v1/test-cases/{case['id']}", json={"onMissing": "stop"})
    upstream.script(Reply(tool_calls=[("book", {"hotel": "Ritz"})]))

    replay = replayed(world, case["id"])

    assert (replay["status"], replay["stopReason"]) == ("failed", "missing_result")
    assert [step["name"] for step in replay["turns"][0]["extra"]] == ["book"]


def test_a_provider_that_fails_makes_the_replay_an_error_that_keeps_what_it_has(
    world: World, case: dict[str, Any], upstream: Upstream
) -> None:
    upstream.script(*REPEATED[:2], Reply(status=400, message="No such luck."))

    replay = replayed(world, case["id"])

    assert (replay["status"], replay["stopReason"]) == ("error", "provider_error")
    assert "No such luck." in replay["error"]
    assert results(replay)[0] == ["passed", "passed"]
    assert replay["tokens"]["total"] > 0


def test_a_model_that_answers_each_call_with_large_arguments_ends_the_replay(
    world: World, case: dict[str, Any], upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ports, "ANSWERED_BYTES_MAX", 50_000)
    large = [Reply(tool_calls=[("book", {"hotel": f"{n}" + "x" * 20_000})]) for n in range(8)]
    upstream.script(*large)

    replay = replayed(world, case["id"])

    # The calls before the last one book what the recording does not.
    assert (replay["status"], replay["stopReason"]) == ("failed", "provider_error")
    assert "more than 50,000 bytes" in replay["error"]
    assert len(upstream.requests) == 3
    assert replay["tokens"]["total"] > 0


def test_a_model_that_answers_each_call_with_many_tiny_values_ends_the_replay(
    world: World, case: dict[str, Any], upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ports, "ANSWERED_MARKS_MAX", 5_000)
    upstream.script(*(Reply(tool_calls=[("book", {"hotel": [{}] * 1_000 + [n]})]) for n in range(8)))

    replay = replayed(world, case["id"])

    assert (replay["status"], replay["stopReason"]) == ("failed", "provider_error")
    assert "more than 5,000 brackets and commas in this replay" in replay["error"]
    assert len(upstream.requests) == 3


def test_a_large_result_is_read_when_the_request_has_its_place_and_a_small_one_at_once(
    world: World, case: dict[str, Any], upstream: Upstream
) -> None:
    upstream.script(*REPEATED)
    small = replayed(world, case["id"])["id"]
    upstream.script(*(Reply(tool_calls=[("book", {"hotel": "x" * LARGE_TEXT})]) for _ in range(2)))
    large = replayed(world, case["id"])["id"]
    places, get = FairSemaphore(Quota(1, 1, 1)), world.container.services.replays.get
    with places.hold(0, wait_s=0):
        computing.offer(ComputingPlace(places, 1, wait_s=0))
        assert get(project_id=world.project_id, replay_id=small).result
        with pytest.raises(Unavailable):
            get(project_id=world.project_id, replay_id=large)
    computing.offer(ComputingPlace(places, 1, wait_s=30))
    assert get(project_id=world.project_id, replay_id=large).result
    assert places._shares.taken == 1
    computing.finish()


@pytest.mark.parametrize(
    ("reply", "is_paid"),
    [
        (Reply(tool_calls=[("book", {})] * 2_000), True),
        (Reply(text="x" * 17_000_000), True),
        (Reply(status=400, message="No such luck."), False),
    ],
)
def test_an_answer_that_can_not_be_used_counts_as_the_most_that_it_can_cost(
    world: World, case: dict[str, Any], upstream: Upstream, reply: Reply, is_paid: bool
) -> None:
    upstream.script(reply)

    replay = replayed(world, case["id"])

    assert replay["stopReason"] == "provider_error"
    assert (replay["tokens"]["completion"] > 1_000, replay["cost"]["total"] > 0) == (is_paid, is_paid)


def test_a_draft_without_a_credential_ends_as_an_error_with_that_reason(
    world: World, prompt_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    credentials = dict(world.container.settings.vendor_credentials)
    del credentials["ANTHROPIC"]
    monkeypatch.setattr(CredentialService, "from_settings", credentials)
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"languageModelName": "claude-haiku-4-5"})
    case = make_case(world, record(world, prompt_id))

    replay = replayed(world, case["id"])

    assert replay["status"] == "error"
    assert "no credential for ANTHROPIC: start Reprise with ANTHROPIC_API_KEY in its environment" in replay["error"]


def test_the_draft_is_fixed_when_the_replay_is_asked_for(
    world: World, prompt_id: int, case: dict[str, Any], upstream: Upstream
) -> None:
    waiting = world.container.services.replays.start(project_id=world.project_id, test_case_id=case["id"])
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": "Be rude."})
    upstream.script(*REPEATED)
    world.container.services.replay_player.play(waiting.id)

    said = {request.body["messages"][0]["content"] for request in upstream.requests}
    assert said == {"<instructions>\nBe kind.\n</instructions>"}
    assert finished(world, waiting.id)["draftFingerprint"] == waiting.fingerprint


def test_recorded_turns_are_played_side_by_side_on_the_recorded_past(
    world: World, prompt_id: int, upstream: Upstream
) -> None:
    case = make_case(world, record(world, prompt_id, [THANKS, THANKS, THANKS]), history="recorded")
    answer = threading.Event()
    upstream.script(*[Reply(text="You are welcome.", held=answer)] * 3)

    replay_id = start(world, case["id"])
    wait_until(lambda: len(upstream.requests) == 3, "three calls at once")
    answer.set()

    assert finished(world, replay_id)["status"] == "passed"
    said = sorted(len(request.body["messages"]) for request in upstream.requests)
    assert said == [2, 4, 6]


def test_offered_tools_and_placeholders_are_those_of_the_recording(
    world: World, prompt_id: int, upstream: Upstream
) -> None:
    turn = RecordedTurn("Hi", "Hello.", offered=("weather", "gone"), placeholders={"tone": "stern"})
    case = make_case(world, record(world, prompt_id, [turn]))
    upstream.script(Reply(text="Hello."))

    replay = replayed(world, case["id"])

    assert [tool["function"]["name"] for tool in upstream.requests[0].body["tools"]] == ["weather"]
    assert replay["drift"] == {"placeholders": {"tone": "stern"}, "tools": ["gone"]}


def test_a_judge_decides_and_its_reasons_are_kept(world: World, prompt_id: int, upstream: Upstream) -> None:
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"assertionType": "AI", "assertionValue": "Friendly?"})
    case = make_case(world, record(world, prompt_id, [THANKS]))
    upstream.script(Reply(text="Any time!"), judged("passed", findings=[finding("It is.", matters=False)]))

    replay = replayed(world, case["id"], judgeModelName="gpt-4o-mini")

    step = replay["turns"][0]["steps"][0]
    assert (replay["status"], step["result"], step["reason"]) == ("passed", "passed", "It is.")
    asked = upstream.requests[1].body["messages"][1]["content"]
    assert "Friendly?" in asked
    assert 0 < replay["judgeTokens"]["total"] < replay["tokens"]["total"]


def test_a_judge_that_gives_no_verdict_leaves_the_step_to_a_person(
    world: World, prompt_id: int, upstream: Upstream
) -> None:
    """The default model, `echo`, repeats the question."""
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"assertionType": "AI"})
    case = make_case(world, record(world, prompt_id, [THANKS]))
    upstream.script(Reply(text="Any time!"))

    replay = replayed(world, case["id"])

    assert (replay["status"], results(replay)) == ("needs_review", [["needs_review"]])


@pytest.mark.parametrize(("verdict", "status"), [("passed", "passed"), ("failed", "failed")])
def test_a_person_decides_what_needs_review(
    world: World, prompt_id: int, upstream: Upstream, verdict: str, status: str
) -> None:
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"assertionType": "MANUAL"})
    case = make_case(world, record(world, prompt_id, [HOT, THANKS]))
    upstream.script(*REPEATED[:2], Reply(text="Any time!"))
    replay = replayed(world, case["id"])
    path = f"/api/v1/replays/{replay['id']}/steps"
    assert results(replay) == [["passed", "needs_review"], ["needs_review"]]

    half = world.patch(f"{path}/1", json={"verdict": "passed"})
    whole = world.patch(f"{path}/2", json={"verdict": verdict})

    assert (half.status_code, half.json["status"]) == (200, "needs_review")
    assert (whole.json["status"], whole.json["counts"][verdict] > 0) == (status, True)
    assert world.get(f"/api/v1/replays/{replay['id']}").json == whole.json


@pytest.mark.parametrize(
    ("step", "body"),
    [
        ("0", {"verdict": "passed"}),
        ("1", {"verdict": "ignored"}),
        ("1", {}),
        ("1", {"verdict": "passed", "why": "x"}),
        ("7", {"verdict": "passed"}),
        ("-1", {"verdict": "passed"}),
        ("one", {"verdict": "passed"}),
    ],
)
def test_any_other_verdict_is_refused(
    world: World, prompt_id: int, upstream: Upstream, step: str, body: dict[str, Any]
) -> None:
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"assertionType": "MANUAL"})
    case = make_case(world, record(world, prompt_id, [HOT]))
    upstream.script(*REPEATED[:2])
    replay = replayed(world, case["id"])

    refused = world.patch(f"/api/v1/replays/{replay['id']}/steps/{step}", json=body)

    assert refused.status_code == 400
    assert world.get(f"/api/v1/replays/{replay['id']}").json == replay


def test_a_prompts_test_cases_are_replayed_at_once(world: World, prompt_id: int, upstream: Upstream) -> None:
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"languageModelName": "echo"})
    cases = [make_case(world, record(world, prompt_id, [THANKS]))["id"] for _ in range(3)]

    all_of_them = world.post(f"/api/v1/prompts/{prompt_id}/replays")
    some = world.post(f"/api/v1/prompts/{prompt_id}/replays", json={"testCaseIds": [cases[2], cases[0]]})

    assert (all_of_them.status_code, some.status_code) == (202, 202)
    assert [replay["testCaseId"] for replay in all_of_them.json["replays"]] == cases
    assert [replay["testCaseId"] for replay in some.json["replays"]] == [cases[2], cases[0]]
    assert {replay["status"] for replay in some.json["replays"]} == {"queued"}
    assert finished(world, some.json["replays"][0]["id"])["status"] == "needs_review"


@pytest.mark.parametrize("body", [{"testCaseIds": [0]}, {"testCaseIds": "all"}, {"cases": []}])
def test_what_can_not_be_replayed_is_refused_and_starts_nothing(
    world: World, prompt_id: int, case: dict[str, Any], body: dict[str, Any]
) -> None:
    assert world.post(f"/api/v1/prompts/{prompt_id}/replays", json=body).status_code == 400


def test_a_foreign_test_case_in_the_list_starts_nothing(world: World, prompt_id: int, case: dict[str, Any]) -> None:
    other = prompt(world)
    foreign = make_case(world, record(world, other, [BOOKED]))["id"]

    refused = world.post(f"/api/v1/prompts/{prompt_id}/replays", json={"testCaseIds": [case["id"], foreign]})

    assert (refused.status_code, refused.json["error"]) == (404, "testCaseIds.1: The prompt has no such test case.")
    assert world.count("replays") == 0


def test_an_unknown_judge_is_refused(world: World, case: dict[str, Any]) -> None:
    refused = world.post(f"/api/v1/test-cases/{case['id']}/replays", json={"judgeModelName": "gpt-0"})

    assert refused.status_code == 400


def test_replays_are_listed_newest_first_and_by_what_they_are_of(
    world: World, prompt_id: int, upstream: Upstream
) -> None:
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"languageModelName": "echo"})
    one, other = (make_case(world, record(world, prompt_id, [THANKS]))["id"] for _ in range(2))
    ids = [replayed(world, case_id)["id"] for case_id in (one, other, one)]
    path = f"/api/v1/prompts/{prompt_id}/replays"

    first = world.get(f"{path}?limit=2").json
    second = world.get(f"{path}?limit=2&cursor={first['nextCursor']}").json

    assert [replay["id"] for replay in first["replays"] + second["replays"]] == ids[::-1]
    assert second["nextCursor"] is None
    assert "turns" not in first["replays"][0]
    assert [replay["id"] for replay in world.get(f"{path}?testCaseId={other}").json["replays"]] == [ids[1]]
    assert len(world.get(f"{path}?status=needs_review").json["replays"]) == 3
    assert world.get(f"{path}?status=passed").json["replays"] == []
    assert world.get(f"{path}?status=lost").status_code == 400
    assert world.get(f"{path}?cursor=x").status_code == 400


def test_a_replay_outlives_its_test_case(world: World, case: dict[str, Any], upstream: Upstream) -> None:
    upstream.script(*REPEATED)
    replay = replayed(world, case["id"])

    world.delete(f"/api/v1/test-cases/{case['id']}")

    kept = world.get(f"/api/v1/replays/{replay['id']}").json
    assert (kept["turns"], kept["testCaseName"]) == (replay["turns"], None)


def test_a_test_case_deleted_before_its_turn_ends_the_replay_as_an_error(world: World, case: dict[str, Any]) -> None:
    waiting = world.container.services.replays.start(project_id=world.project_id, test_case_id=case["id"])
    world.delete(f"/api/v1/test-cases/{case['id']}")
    world.container.services.replay_player.play(waiting.id)

    replay = finished(world, waiting.id)
    assert (replay["status"], replay["error"]) == ("error", "The test case was deleted before it was replayed.")


def test_a_draft_on_a_retired_model_is_not_replayed(world: World, prompt_id: int, case: dict[str, Any]) -> None:
    model_id = world.get(f"/api/v1/prompts/{prompt_id}").json["languageModelId"]
    world.container.services.models.choose(organization_id=world.organization_id, model_id=model_id, disabled=True)

    refused = world.post(f"/api/v1/test-cases/{case['id']}/replays")

    assert refused.status_code == 400
    assert "gpt-4o-mini" in refused.json["error"]


def test_foreign_replays_can_not_be_seen_or_touched(world: World, case: dict[str, Any], upstream: Upstream) -> None:
    upstream.script(*REPEATED)
    replay_id = start(world, case["id"])
    foreign = new_world(world.container)

    path = f"/api/v1/replays/{replay_id}"
    answers = [
        foreign.get(path),
        foreign.post(f"{path}/cancel"),
        foreign.patch(f"{path}/steps/0", json={"verdict": "passed"}),
    ]

    assert [answer.status_code for answer in answers] == [404, 404, 404]
    assert finished(world, replay_id)["status"] == "passed"
