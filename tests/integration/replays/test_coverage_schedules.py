"""Schedules that read what a suite represents of the last week's sessions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update

from app.errors import Unavailable
from app.models.schedules import schedules
from app.services.suites.coverage import CoverageService
from tests.fakes.receiver import receiving
from tests.integration.replays.test_schedules_api import clock_at, runs_of
from tests.integration.suites.sending import make_fingerprints, turn
from tests.integration.suites.test_findings_api import traffic
from tests.integration.webhooks.conftest import new_hook
from tests.support.world import World

SEARCH = [turn("Where is my parcel?", "search_orders")]
CANCEL = [turn("Cancel the order of the lamp.", "cancel_booking")]


def with_suite(world: World, prompt_id: int) -> None:
    """Make the suite `release` of a session that searches."""
    make_fingerprints(world)
    session = world.get("/api/v1/sessions", params={"promptId": prompt_id}).json["sessions"][0]["id"]
    accepted = {"name": "release", "picks": [{"sessionId": session}]}
    made = world.post(f"/api/v1/prompts/{prompt_id}/suite-acceptances", json=accepted)
    assert made.status_code in (200, 201), made.text


def make(world: World, prompt_id: int, **values: Any) -> dict[str, Any]:
    body = {"cron": "0 * * * *", "kind": "suite-coverage"} | values
    answer = world.post(f"/api/v1/prompts/{prompt_id}/schedules", json=body)
    assert answer.status_code == 201, answer.text
    schedule: dict[str, Any] = answer.json
    return schedule


def serve(world: World, schedule: dict[str, Any], hour: int) -> None:
    clock_at(world, datetime.now(UTC) + timedelta(hours=hour)).serve(schedule["id"])


def test_each_run_reads_the_share_and_a_fall_below_the_limit_is_sent_once(world: World) -> None:
    prompt_id = world.prompt()
    traffic(world, prompt_id, SEARCH, 20, "search")
    with_suite(world, prompt_id)
    schedule = make(world, prompt_id, suite="release", minCoverage=0.9)
    assert (schedule["minCoverage"], schedule["repeats"]) == (0.9, None)
    with receiving() as receiver:
        hook = new_hook(world, receiver.url)
        serve(world, schedule, 1)
        serve(world, schedule, 1)
        (first,) = runs_of(world, schedule)
        assert (first["coverage"], first["sessions"], first["new"], first["isLow"]) == (1.0, 20, 0, False)
        assert (first["experimentId"], first["reason"], first["played"]) == (None, None, None)
        assert hook.deliveries() == []

        traffic(world, prompt_id, CANCEL, 20, "cancel")
        make_fingerprints(world)
        for hour in (2, 3):
            serve(world, schedule, hour)
        third, second, _ = runs_of(world, schedule)
        assert 0 < third["coverage"] == second["coverage"] < 0.9
        assert (second["isLow"], second["sessions"], second["new"] > 0) == (True, 40, True)
        (sent,) = hook.deliveries()
    assert sent["event"] == "coverage.fell"
    told = {
        name: sent["data"][name] for name in ("promptId", "scheduleId", "suite", "minCoverage", "share", "sessions")
    }
    assert told == {
        "promptId": prompt_id,
        "scheduleId": schedule["id"],
        "suite": "release",
        "minCoverage": 0.9,
        "share": second["coverage"],
        "sessions": 40,
    }


def test_few_sessions_have_no_share_and_no_event(world: World) -> None:
    prompt_id = world.prompt()
    traffic(world, prompt_id, SEARCH, 19, "search")
    make_fingerprints(world)
    schedule = make(world, prompt_id, minCoverage=1)
    with receiving() as receiver:
        hook = new_hook(world, receiver.url)
        serve(world, schedule, 1)
        assert hook.deliveries() == []
    (run,) = runs_of(world, schedule)
    assert (run["coverage"], run["sessions"], run["isLow"]) == (None, 19, False)


def test_a_deleted_suite_is_the_reason_that_nothing_was_read(world: World) -> None:
    prompt_id = world.prompt()
    traffic(world, prompt_id, SEARCH, 1, "search")
    with_suite(world, prompt_id)
    schedule = make(world, prompt_id, suite="release")
    (suite,) = world.get(f"/api/v1/prompts/{prompt_id}/suites").json["suites"]
    assert world.delete(f"/api/v1/suites/{suite['id']}").status_code == 204
    serve(world, schedule, 1)
    (run,) = runs_of(world, schedule)
    assert (run["coverage"], run["sessions"], "no suite" in run["reason"]) == (None, None, True)


def test_a_busy_process_leaves_the_due_time_to_the_next_sweep(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = make(world, world.prompt())

    def busy(*_arguments: object, **_options: object) -> None:
        raise Unavailable("Too many large readings at once.")

    with monkeypatch.context() as patch:
        patch.setattr(CoverageService, "recent", busy)
        serve(world, schedule, 1)
        assert runs_of(world, schedule) == []
    serve(world, schedule, 1)
    assert len(runs_of(world, schedule)) == 1


def test_a_schedule_that_became_one_of_coverage_meanwhile_is_served_by_the_next_sweep(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule = make(world, world.prompt())
    service = clock_at(world, datetime.now(UTC) + timedelta(hours=1))
    monkeypatch.setattr(type(service), "_coverage", lambda _service, _id: None)
    service.serve(schedule["id"])
    assert runs_of(world, schedule) == []
    monkeypatch.undo()
    with world.container.database.write() as connection:
        connection.execute(
            update(schedules).where(schedules.c.id == schedule["id"]).values(kind="experiment", min_coverage=None)
        )
    service.serve(schedule["id"])
    (run,) = runs_of(world, schedule)
    assert (run["coverage"], run["reason"] is not None) == (None, True)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"repeats": 3}, "repeats: The kind suite-coverage plays nothing"),
        ({"maxCost": 1}, "repeats: The kind suite-coverage plays nothing"),
        ({"kind": "watch", "minCoverage": 0.5}, "minCoverage: Only the kind suite-coverage"),
        ({"minCoverage": 0}, "minCoverage"),
        ({"minCoverage": 1.1}, "minCoverage"),
        ({"suite": "none"}, "suite"),
    ],
)
def test_a_wrong_schedule_is_refused(world: World, values: dict[str, Any], message: str) -> None:
    body = {"cron": "0 3 * * *", "kind": "suite-coverage"} | values
    answer = world.post(f"/api/v1/prompts/{world.prompt()}/schedules", json=body)
    assert (answer.status_code, message in answer.json["error"]) == (400, True), answer.text
