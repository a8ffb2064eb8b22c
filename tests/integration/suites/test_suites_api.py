"""The API of suites: proposals, their acceptance, members and coverage."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import func, select

from app.concurrency import deadline
from app.models.sessions import sessions
from app.services.suites import coverage, proposing, reading
from tests.integration.suites.sending import make_fingerprints, send, stored_fingerprints, turn
from tests.support.conversations import SECOND_NS, RecordedTurn
from tests.support.world import World

SEARCH = [turn("Where is my parcel?", "search_orders")]
CANCEL = [turn("Please cancel the order.", "search_orders", "cancel_order")]
WRONG = [turn("Please refund the broken lamp.", "refund_order", failed="refund_order")]


def ago(**time: float) -> int:
    """Nanoseconds of a time before now."""
    return int((datetime.now(UTC) - timedelta(**time)).timestamp()) * SECOND_NS


def traffic(world: World, *conversations: tuple[list[RecordedTurn], int], **time: float) -> int:
    """Send so many sessions of each conversation to a new prompt, and make their fingerprints."""
    prompt_id = world.prompt()
    for number, (turns, count) in enumerate(conversations):
        for index in range(count):
            send(world, prompt_id, f"c{number}-{index}", turns, start_ns=ago(**(time or {"hours": 1})))
    make_fingerprints(world)
    return prompt_id


def proposal(world: World, prompt_id: int, **body: Any) -> dict[str, Any]:
    answer = world.post(f"/api/v1/prompts/{prompt_id}/suite-proposals", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json


def accept(world: World, prompt_id: int, picks: list[dict[str, Any]], name: str = "release") -> dict[str, Any]:
    body = {"name": name, "picks": [{"sessionId": pick["sessionId"], "reason": pick["reason"]} for pick in picks]}
    answer = world.post(f"/api/v1/prompts/{prompt_id}/suite-acceptances", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json


def test_a_proposal_that_needs_longer_than_a_request_may_wait_is_answered(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt_id = traffic(world, (SEARCH, 2))
    passed_s, propose = [0.0], proposing.propose

    def slow_propose(*args: Any, **options: Any) -> Any:
        passed_s[0] += 3600.0
        return propose(*args, **options)

    monkeypatch.setattr(deadline, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + passed_s[0]))
    monkeypatch.setattr(proposing, "propose", slow_propose)
    assert proposal(world, prompt_id)["sessions"] == 2
    assert passed_s == [3600.0]


def test_a_proposal_explains_its_picks(world: World) -> None:
    prompt_id = traffic(world, (SEARCH, 6), (CANCEL, 3), (WRONG, 1))
    proposed = proposal(world, prompt_id)
    assert proposed["sessions"] == 10
    assert [pick["correctFirst"] for pick in proposed["picks"]].count(True) == 1
    reasons = [pick["reason"] for pick in proposed["picks"]]
    assert any("3 of 10 sessions call" in reason and "`cancel_order`" in reason for reason in reasons), reasons
    assert all(reason.endswith("no test before does.") for reason in reasons[1:])
    shares = [point["share"] for point in proposed["curve"]]
    assert shares == sorted(shares)
    assert shares[-1] > 0.99
    assert "represent" in proposed["summary"]


def test_equal_questions_have_equal_answers(world: World) -> None:
    prompt_id = traffic(world, (SEARCH, 3), (CANCEL, 3))
    until = datetime.now(UTC).isoformat()
    assert proposal(world, prompt_id, until=until) == proposal(world, prompt_id, until=until)


def test_accepting_makes_test_cases_once(world: World) -> None:
    prompt_id = traffic(world, (SEARCH, 2), (CANCEL, 2), (WRONG, 1))
    picks = proposal(world, prompt_id)["picks"]
    for _ in range(2):
        accepted = accept(world, prompt_id, picks)
        cases = accepted["suite"]["testCases"]
        assert {case["sessionId"] for case in cases} == {p["sessionId"] for p in picks if not p["correctFirst"]}
        assert [left["why"] for left in accepted["leftOut"]] == ["correct_first"]
        assert {case["reason"] for case in cases} <= {pick["reason"] for pick in picks}
    assert world.count("test_cases") == len(cases)
    (suite,) = world.get(f"/api/v1/prompts/{prompt_id}/suites").json["suites"]
    assert (suite["name"], suite["testCases"]) == ("release", len(cases))


def test_a_suite_that_represents_all_leaves_nothing_to_propose(world: World) -> None:
    prompt_id = traffic(world, (SEARCH, 2), (CANCEL, 2))
    accept(world, prompt_id, proposal(world, prompt_id)["picks"])
    again = proposal(world, prompt_id, suite="release")
    assert (again["picks"], round(again["before"], 6)) == ([], 1.0)


def test_coverage_names_what_is_new_and_what_is_obsolete(world: World) -> None:
    prompt_id = traffic(world, (SEARCH, 16))
    accepted = accept(world, prompt_id, proposal(world, prompt_id)["picks"])
    suite = f"/api/v1/suites/{accepted['suite']['id']}"
    assert world.get(f"{suite}/coverage").json["share"] == 1.0
    for number in range(4):
        send(world, prompt_id, f"new{number}", CANCEL, start_ns=ago(minutes=5))
    written = {"question": "Hello?", "expectedAnswer": "Hello."}
    by_hand = world.post(f"/api/v1/prompts/{prompt_id}/test-cases", json=written).json["id"]
    assert world.post(f"{suite}/test-cases", json={"testCaseIds": [by_hand]}).status_code == 200
    make_fingerprints(world)
    coverage = world.get(f"{suite}/coverage").json
    assert coverage["share"] < 1.0
    assert coverage["new"][0]["sentence"] == "20 % of the last day's sessions call `cancel_order`; no test does."
    assert coverage["obsolete"] == []
    assert sum(week["sessions"] for week in coverage["weeks"]) == 20


def test_a_test_of_a_tool_that_no_session_calls_any_more_is_obsolete(world: World) -> None:
    prompt_id = traffic(world, (CANCEL, 2), days=45)
    picks = proposal(world, prompt_id, since="2020-01-01T00:00:00Z")["picks"]
    accepted = accept(world, prompt_id, picks)
    send(world, prompt_id, "later", SEARCH, start_ns=ago(hours=1))
    make_fingerprints(world)
    coverage = world.get(f"/api/v1/suites/{accepted['suite']['id']}/coverage").json
    (obsolete,) = coverage["obsolete"]
    assert obsolete["reason"] == "No session of the last 4 weeks calls `cancel_order`."


def test_members_can_be_changed(world: World) -> None:
    prompt_id = traffic(world, (SEARCH, 1))
    suite = accept(world, prompt_id, proposal(world, prompt_id)["picks"])["suite"]
    path, (case,) = f"/api/v1/suites/{suite['id']}", suite["testCases"]
    assert world.patch(path, json={"name": "nightly"}).json["name"] == "nightly"
    assert world.delete(f"{path}/test-cases/{case['testCaseId']}").status_code == 204
    assert world.get(path).json["testCases"] == []
    assert world.post(f"{path}/test-cases", json={"testCaseIds": [case["testCaseId"]]}).status_code == 200
    assert world.delete(path).status_code == 204
    assert world.get(path).status_code == 404


def test_bad_input_is_refused_with_its_path(world: World) -> None:
    prompt_id = world.prompt()
    proposals = f"/api/v1/prompts/{prompt_id}/suite-proposals"
    for body, path in (
        ({"size": 0}, "size"),
        ({"weights": {"writes": -1}}, "weights.writes"),
        ({"since": "2026-02-01T00:00:00Z", "until": "2026-01-01T00:00:00Z"}, "since"),
        ({"suite": "none"}, "suite"),
    ):
        answer = world.post(proposals, json=body)
        assert (answer.status_code, path in answer.text) == (400, True), answer.text
    acceptances = f"/api/v1/prompts/{prompt_id}/suite-acceptances"
    answer = world.post(acceptances, json={"name": "a\0b", "picks": [{"sessionId": "x"}]})
    assert answer.status_code == 400
    accepted = world.post(acceptances, json={"name": "🚀", "picks": [{"sessionId": "x"}, {"sessionId": "f" * 32}]})
    assert [left["why"] for left in accepted.json["leftOut"]] == ["gone", "gone"]


def test_an_empty_prompt_has_an_empty_proposal(world: World) -> None:
    proposed = proposal(world, world.prompt())
    assert (proposed["picks"], proposed["curve"]) == ([], [])
    assert proposed["summary"] == "No session was found that a test case can be made of."


def test_an_experiment_plays_the_test_cases_of_a_suite(world: World) -> None:
    prompt_id = traffic(world, (SEARCH, 2), (CANCEL, 2))
    accepted = accept(world, prompt_id, proposal(world, prompt_id)["picks"][:1])
    written = {"question": "Hello?", "expectedAnswer": "Hello."}
    assert world.post(f"/api/v1/prompts/{prompt_id}/test-cases", json=written).status_code == 201
    forecasts, experiments = (f"/api/v1/prompts/{prompt_id}/experiments{end}" for end in ("/forecast", ""))
    assert world.post(forecasts).json["testCases"] == 2
    assert world.post(forecasts, json={"suite": "release"}).json["testCases"] == 1
    started = world.post(experiments, json={"suite": "release", "baseline": None, "repeats": {"min": 1, "max": 1}})
    assert started.status_code == 202
    cases = [case["testCaseId"] for case in accepted["suite"]["testCases"]]
    refused = world.post(experiments, json={"suite": "release", "testCaseIds": cases})
    assert (refused.status_code, "suite: " in refused.text) == (400, True)
    assert "suite: The prompt has no suite with this name." in world.post(experiments, json={"suite": "x"}).text


def test_sessions_without_a_test_are_an_alert(world: World) -> None:
    prompt_id = traffic(world, (SEARCH, 4))
    new = {"metric": "uncoveredShare", "threshold": 0.2, "windowMinutes": 1440}
    without_prompt = world.post("/api/v1/alert-rules", json=new)
    assert (without_prompt.status_code, "promptId: " in without_prompt.text) == (400, True)
    path = world.post("/api/v1/alert-rules", json=new | {"promptId": prompt_id}).headers["Location"]
    alerts = world.container.services.alerts

    alerts.evaluate()
    assert (world.get(path).json["value"], world.get(path).json["firingSince"] is None) == (1.0, False)
    accept(world, prompt_id, proposal(world, prompt_id)["picks"])
    alerts.evaluate()
    assert (world.get(path).json["value"], world.get(path).json["firingSince"]) == (0.0, None)


def test_an_alert_compares_with_the_newest_test_cases(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt_id = traffic(world, (SEARCH, 4), (CANCEL, 4))
    accept(world, prompt_id, proposal(world, prompt_id)["picks"])
    since = datetime.now(UTC) - timedelta(days=1)
    of_prompt = {"project_id": world.project_id, "prompt_id": prompt_id, "since": since, "least": 1}
    service = world.container.services.coverage
    assert service.uncovered_share(**of_prompt) == 0

    monkeypatch.setattr(coverage, "CASES_OF_ALERT", 1)

    assert service.uncovered_share(**of_prompt) > 0


def test_a_proposals_reason_is_accepted_however_long_the_names_of_tools_are(world: World) -> None:
    names = [f"{'tool_with_a_long_name_' * 6}{number:02}" for number in range(12)]
    prompt_id = traffic(world, ([turn("Please do it all now.", *names)], 3))

    picks = proposal(world, prompt_id)["picks"]

    assert len(picks[0]["reason"]) == 1000
    assert len(accept(world, prompt_id, picks)["suite"]["testCases"]) == 1


def test_an_alert_that_needs_more_sessions_than_are_read_is_content_with_these(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coverage, "SESSIONS_OF_ALERT", 3)
    prompt_id = traffic(world, (SEARCH, 4))
    since = datetime.now(UTC) - timedelta(days=60)
    of_prompt = {"project_id": world.project_id, "prompt_id": prompt_id, "since": since}

    assert world.container.services.coverage.uncovered_share(**of_prompt, least=4) == 1


def test_a_proposal_reads_as_many_of_the_newest_sessions_as_it_has_room_for_fingerprints_and_figures(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt_id = traffic(world, (SEARCH, 4))
    [fingerprint] = {len(fingerprint) for fingerprint in stored_fingerprints(world).values()}
    with world.container.database.read() as connection:
        counted = select(func.length(sessions.c.counted)).where(sessions.c.project_id == world.project_id)
        [figures] = set(connection.scalars(counted))
    size = fingerprint + figures

    for room, (read, is_cut) in {4 * size: (4, False), 4 * size - 1: (3, True), size - 1: (0, True)}.items():
        monkeypatch.setattr(reading, "BYTES_MAX", room)
        proposed = proposal(world, prompt_id)
        assert (proposed["sessions"], proposed["cut"]) == (read, is_cut)
