"""Calibrations over the API: replays of the newest version, what they propose, and what a person accepts of it."""

from __future__ import annotations

from datetime import timedelta
from threading import Event, Thread, current_thread
from typing import Any

import pytest

from app.errors import Unavailable
from app.models import calibrations as calibration_rows
from app.replay.calibration import Calibration
from app.replay.calibration import calibrate as compare
from app.services.replays import calibrations
from tests.fakes.judging import is_question
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.recording import HOT, calibrate, finished, make_case, prompt, record, replayed
from tests.support.conversations import RecordedCall, RecordedTurn
from tests.support.waiting import PATIENCE_S, wait_until
from tests.support.world import World, new_world

SEARCHED = RecordedTurn("Find red shoes", "I found 3.", (RecordedCall("book", {"hotel": "Hassler, Rome"}, 3),))


@pytest.fixture
def prompt_id(world: World) -> int:
    return prompt(world)


def case_of_echo(world: World) -> int:
    body = {"question": "Ping", "expectedAnswer": "Ping"}
    made = world.post(f"/api/v1/prompts/{prompt(world, model='echo')}/test-cases", json=body)
    case_id: int = made.json["id"]
    return case_id


def accept(world: World, calibration: dict[str, Any], **body: Any) -> Any:
    return world.post(f"/api/v1/calibrations/{calibration['id']}/accept", json=body)


def answering(upstream: Upstream, tool: str, text: str, *arguments: dict[str, Any]) -> None:
    """Let the model call the tool once in each replay, each time with the next arguments, and then answer."""
    called = iter(arguments)

    def choose(body: dict[str, Any]) -> Reply:
        if body["messages"][-1]["role"] == "tool":
            return Reply(text=text)
        return Reply(tool_calls=[(tool, next(called))])

    upstream.choose = choose


def varying_case(world: World, prompt_id: int, upstream: Upstream) -> tuple[dict[str, Any], dict[str, Any]]:
    exact = {"book": {"effect": "read", "arguments": None}}
    case = make_case(world, record(world, prompt_id, (SEARCHED,)), tools=exact)
    answering(upstream, "book", "I found 3.", {"hotel": "Hassler, Rome"}, {"hotel": "HASSLER (Rome)"})
    return case, calibrate(world, case["id"], repeats=2)


def test_a_stable_test_case_is_usable(world: World, prompt_id: int, upstream: Upstream) -> None:
    case = make_case(world, record(world, prompt_id, (HOT,)))
    answering(upstream, "weather", "It is 31 °C in Rome.", *[{"city": "Rome"}] * 2)

    found = calibrate(world, case["id"], repeats=2)

    assert (found["status"], found["repeats"], found["error"]) == ("finished", 2, None)
    assert found["steps"] == [{"turn": 0, "step": step, "passed": 2, "of": 2} for step in (0, 1)]
    assert (found["proposals"], found["usable"], found["canFail"], found["problems"]) == ([], True, True, [])
    assert found["tokens"]["total"] > 0
    assert found["cost"]["total"] > 0
    assert len(found["replayIds"]) == 2
    assert world.get(f"/api/v1/calibrations/{found['id']}").json == found


def test_five_replays_are_the_default(world: World) -> None:
    prompt_id = prompt(world, model="echo")
    made = world.post(f"/api/v1/prompts/{prompt_id}/test-cases", json={"question": "Ping", "expectedAnswer": "Ping"})
    found = calibrate(world, made.json["id"])
    assert (found["repeats"], found["steps"]) == (5, [{"turn": 0, "step": 0, "passed": 5, "of": 5}])


@pytest.mark.parametrize("repeats", [1, 21, 0, -1, "5", 2.5, None, True])
def test_the_number_of_replays_is_from_2_to_20(world: World, repeats: Any) -> None:
    case_id = make_case(world, record(world, prompt(world)))["id"]
    refused = world.post(f"/api/v1/test-cases/{case_id}/calibrations", json={"repeats": repeats})
    assert (refused.status_code, refused.json["error"][:7]) == (400, "repeats")
    assert world.count("calibrations") == world.count("replays") == 0


def test_the_newest_version_is_played_and_not_the_draft(world: World, upstream: Upstream) -> None:
    prompt_id = prompt(world, value="Be good.")
    case = make_case(world, record(world, prompt_id, (HOT,)))
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": "Be bad."})

    found = calibrate(world, case["id"], repeats=2)

    sent = {request.body["messages"][0]["content"] for request in upstream.requests if not is_question(request.body)}
    assert sent == {"<instructions>\nBe good.\n</instructions>"}
    commit_hash = world.get(f"/api/v1/prompts/{prompt_id}/versions").json["versions"][0]["commitHash"]
    assert {world.get(f"/api/v1/replays/{each}").json["commitHash"] for each in found["replayIds"]} == {commit_hash}


def test_what_replays_found_is_compared_in_the_worker_of_the_last_one_and_in_no_request(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared_in = list[Thread]()

    def calibrate_here(*parts: Any) -> Calibration:
        compared_in.append(current_thread())
        return compare(*parts)

    monkeypatch.setattr(calibrations, "calibrate", calibrate_here)
    assert calibrate(world, case_of_echo(world), repeats=2)["usable"]
    assert compared_in
    assert current_thread() not in compared_in


def test_results_that_are_too_long_together_are_not_all_in_memory(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = list[int]()

    def calibrate_some(case: Any, draft: Any, results: Any) -> Calibration:
        compared.append(len(results))
        return compare(case, draft, results)

    monkeypatch.setattr(calibrations, "calibrate", calibrate_some)
    monkeypatch.setattr(calibrations, "RESULT_BYTES_MAX", 1)

    found = calibrate(world, case_of_echo(world), repeats=3)

    assert set(compared) == {1}
    assert (found["status"], found["usable"], found["proposals"]) == ("finished", False, [])
    assert found["problems"] == ["Only 1 of 3 results were compared, because they are too long together."]
    assert found["steps"] == [{"turn": 0, "step": 0, "passed": 1, "of": 1}]


def test_calibrations_are_compared_one_after_the_other(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once, most = 0, 0

    def calibrate_slowly(*parts: Any) -> Calibration:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        Event().wait(0.2)  # so that others would begin meanwhile
        outcome = compare(*parts)
        at_once -= 1
        return outcome

    monkeypatch.setattr(calibrations, "calibrate", calibrate_slowly)
    case_id = case_of_echo(world)
    paths = [
        world.post(f"/api/v1/test-cases/{case_id}/calibrations", json={"repeats": 2}).headers["Location"]
        for _ in range(4)
    ]

    for path in paths:
        assert wait_until(lambda path=path: world.get(path).json["status"] == "finished", path)  # type: ignore[misc]
    assert most == 1


def test_a_calibration_is_concluded_after_all_when_no_worker_did_it_at_the_end_of_its_replays(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibrations, "LEFT_BEHIND_AFTER", timedelta())
    case_id = case_of_echo(world)
    with monkeypatch.context() as lost:
        lost.setattr(calibrations.CalibrationService, "replay_ended", lambda *_: None)
        path = world.post(f"/api/v1/test-cases/{case_id}/calibrations", json={"repeats": 2}).headers["Location"]
        for replay_id in world.get(path).json["replayIds"]:
            finished(world, replay_id)
        unconcluded = world.get(path).json
        assert (unconcluded["status"], unconcluded["usable"]) == ("running", False)
        assert accept(world, unconcluded).status_code == 409

    assert wait_until(lambda: world.get(path).json["status"] == "finished", path)
    assert world.get(path).json["usable"]


def unconcluded(world: World) -> tuple[int, int]:
    """A calibration with replays that have ended and were not compared: its id, and that of the last replay."""
    services = world.container.services
    view = services.calibrations.start(project_id=world.project_id, test_case_id=case_of_echo(world), repeats=2)
    for replay in view.replays:
        services.replay_player.play(replay.id)
    return view.row.id, view.replays[-1].id


def attempts(world: World, calibration_id: int) -> int:
    of = {"project_id": world.project_id, "calibration_id": calibration_id}
    with world.container.database.read() as connection:
        row = calibration_rows.find_calibration(connection, **of)
    assert row is not None
    return row.attempts


def test_an_attempt_to_compare_is_counted_before_it_begins(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    calibration_id, replay_id = unconcluded(world)
    counted = list[int]()

    def fail(*_: Any) -> Calibration:
        counted.append(attempts(world, calibration_id))
        raise Unavailable("The database is away.")

    with monkeypatch.context() as failing:
        failing.setattr(calibrations, "calibrate", fail)
        for _ in range(3):
            with pytest.raises(Unavailable):
                world.container.services.calibrations.replay_ended(replay_id)

    assert (counted, attempts(world, calibration_id)) == ([1, 1, 1], 0)
    world.container.services.calibrations.replay_ended(replay_id)
    assert world.get(f"/api/v1/calibrations/{calibration_id}").json["usable"]


def test_a_comparison_that_has_ended_two_workers_is_given_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    calibration_id, replay_id = unconcluded(world)
    compared = list[Any]()
    monkeypatch.setattr(calibrations, "calibrate", lambda *parts: compared.append(parts) or compare(*parts))
    with world.container.database.write() as connection:
        calibration_rows.count_attempt(connection, calibration_id=calibration_id, by=2)

    for _ in range(2):
        world.container.services.calibrations.replay_ended(replay_id)

    found = world.get(f"/api/v1/calibrations/{calibration_id}").json
    assert (found["status"], found["usable"], compared) == ("finished", False, [])
    assert found["problems"] == ["The results were not compared: 2 attempts ended with their worker."]


def test_what_varies_is_proposed_and_changes_nothing_until_it_is_accepted(
    world: World, prompt_id: int, upstream: Upstream
) -> None:
    case, found = varying_case(world, prompt_id, upstream)
    assert found["proposals"] == [{"turn": 0, "step": 0, "check": {"arguments": {"/hotel": "text"}}}]
    assert (found["usable"], found["steps"][0]["passed"], found["steps"][0]["of"]) == (True, 1, 2)
    assert world.get(f"/api/v1/test-cases/{case['id']}").json == case

    accepted = accept(world, found)

    assert accepted.status_code == 200
    assert accepted.json["turns"][0]["steps"][0]["check"]["arguments"] == {"/hotel": "text"}
    assert accepted.json == world.get(f"/api/v1/test-cases/{case['id']}").json
    answering(upstream, "book", "I found 3.", {"hotel": "HASSLER (Rome)"})
    assert replayed(world, case["id"])["status"] == "passed"
    entries = world.get("/api/v1/audit-log").json["entries"]
    assert [each["subject"] for each in entries if each["action"] == "test_case.changed"] == [str(case["id"])]
    assert accept(world, found, proposals=[0]).status_code == 200, "what is accepted may be accepted again"


def test_proposals_are_named_by_their_indexes(world: World, prompt_id: int, upstream: Upstream) -> None:
    case, found = varying_case(world, prompt_id, upstream)
    for proposals in ([1], [0, -1], ["x"], 3):
        refused = accept(world, found, proposals=proposals)
        assert (refused.status_code, refused.json["error"][:9]) == (400, "proposals")
    assert accept(world, found, proposals=[]).json == case


def test_a_proposal_is_not_applied_to_a_test_case_that_has_changed(
    world: World, prompt_id: int, upstream: Upstream
) -> None:
    case, found = varying_case(world, prompt_id, upstream)
    changed = world.patch(
        f"/api/v1/test-cases/{case['id']}",
        json={"steps": [{"turn": 0, "step": 0, "check": {"arguments": "ignore"}}]},
    )
    assert changed.status_code == 200
    assert accept(world, found).status_code == 409
    assert world.get(f"/api/v1/test-cases/{case['id']}").json == changed.json


def test_a_prompt_without_a_version_can_not_be_calibrated_with(world: World) -> None:
    prompt_id = prompt(world, model="echo", commit=False)
    case = world.post(f"/api/v1/prompts/{prompt_id}/test-cases", json={"question": "Ping", "expectedAnswer": "Ping"})
    refused = world.post(f"/api/v1/test-cases/{case.json['id']}/calibrations", json={})
    assert (refused.status_code, "commit its draft first" in refused.json["error"]) == (409, True)
    assert world.count("calibrations") == 0


def test_replays_that_fail_for_the_provider_are_no_evidence(world: World, prompt_id: int, upstream: Upstream) -> None:
    case = make_case(world, record(world, prompt_id, (HOT,)))
    upstream.script(*(Reply(status=401),) * 2)
    found = calibrate(world, case["id"], repeats=2)
    assert (found["status"], found["usable"]) == ("error", False)
    assert found["error"]
    assert accept(world, found).json == case


def test_a_calibration_goes_with_its_test_case(world: World) -> None:
    prompt_id = prompt(world, model="echo")
    made = world.post(f"/api/v1/prompts/{prompt_id}/test-cases", json={"question": "Ping", "expectedAnswer": "Ping"})
    found = calibrate(world, made.json["id"], repeats=2)
    world.delete(f"/api/v1/test-cases/{made.json['id']}")
    assert world.get(f"/api/v1/calibrations/{found['id']}").status_code == 404
    assert accept(world, found).status_code == 404


def test_foreign_calibrations_are_not_there(world: World) -> None:
    prompt_id, stranger = prompt(world, model="echo"), new_world(world.container)
    made = world.post(f"/api/v1/prompts/{prompt_id}/test-cases", json={"question": "Ping", "expectedAnswer": "Ping"})
    found = calibrate(world, made.json["id"], repeats=2)
    assert stranger.get(f"/api/v1/calibrations/{found['id']}").status_code == 404
    assert accept(stranger, found).status_code == 404
    assert stranger.post(f"/api/v1/test-cases/{made.json['id']}/calibrations", json={}).status_code == 404


def test_a_cancelled_calibration_cancels_its_replays(world: World, prompt_id: int, upstream: Upstream) -> None:
    case = make_case(world, record(world, prompt_id, (HOT,)))
    asked, cancelled = Event(), Event()

    def choose(_body: dict[str, Any]) -> Reply:
        asked.set()
        cancelled.wait(PATIENCE_S)
        return Reply(text="It is 31 °C in Rome.")

    upstream.choose = choose
    accepted = world.post(f"/api/v1/test-cases/{case['id']}/calibrations", json={"repeats": 2})
    path = f"/api/v1/calibrations/{accepted.json['id']}"
    try:
        assert asked.wait(PATIENCE_S)
        assert new_world(world.container).post(f"{path}/cancel").status_code == 404
        answer = world.post(f"{path}/cancel")
    finally:
        cancelled.set()

    assert (answer.status_code, answer.json["status"], answer.json["usable"]) == (200, "cancelled", False)
    statuses = [world.get(f"/api/v1/replays/{replay_id}").json["status"] for replay_id in answer.json["replayIds"]]
    assert statuses == ["cancelled"] * 2
    assert world.post(f"{path}/cancel").status_code == 409


def test_what_a_cancelled_calibration_has_played_is_compared(world: World) -> None:
    services = world.container.services
    view = services.calibrations.start(project_id=world.project_id, test_case_id=case_of_echo(world), repeats=3)
    services.replay_player.play(view.replays[0].id)

    path = f"/api/v1/calibrations/{view.row.id}"
    assert world.post(f"{path}/cancel").status_code == 200

    calibration = wait_until(lambda: (found := world.get(path).json)["status"] == "finished" and found, path)
    assert [step["of"] for step in calibration["steps"]] == [1]
