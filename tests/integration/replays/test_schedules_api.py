"""Schedules over HTTP."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.services.experiments.schedules import SCHEDULES_MAX, ScheduleService
from app.services.replays.case_commands import WrittenCase
from tests.support.world import World, new_world

NIGHTLY = {"cron": "0 3 * * *", "timezone": "Europe/Berlin", "maxCost": 0.5}


def with_case(world: World) -> int:
    prompt_id = world.prompt()
    world.container.services.test_cases.by_hand(
        project_id=world.project_id, prompt_id=prompt_id, written=WrittenCase("Where is my parcel?", "On its way.")
    )
    return prompt_id


def make(world: World, prompt_id: int, **values: Any) -> dict[str, Any]:
    answer = world.post(f"/api/v1/prompts/{prompt_id}/schedules", json=NIGHTLY | values)
    assert answer.status_code == 201, answer.text
    schedule: dict[str, Any] = answer.json
    return schedule


def clock_at(world: World, when: datetime) -> ScheduleService:
    services = world.container.services
    return ScheduleService(
        database=world.container.database,
        now=lambda: when,
        experiments=services.experiments,
        coverage=replace(services.schedules.coverage, now=lambda: when),
        metrics=world.container.services.schedules.metrics,
        earlier_now=lambda _connection, now: now,
    )


def runs_of(world: World, schedule: dict[str, Any]) -> list[dict[str, Any]]:
    answer = world.get(f"/api/v1/schedules/{schedule['id']}/runs")
    assert answer.status_code == 200, answer.text
    runs: list[dict[str, Any]] = answer.json["runs"]
    return runs


def test_a_schedule_is_made_read_changed_and_deleted(world: World) -> None:
    prompt_id = with_case(world)
    schedule = make(world, prompt_id)
    path = f"/api/v1/schedules/{schedule['id']}"
    assert world.get(path).json == schedule
    assert world.get(f"/api/v1/prompts/{prompt_id}/schedules").json == {"schedules": [schedule]}
    due = datetime.fromisoformat(schedule["nextDueAt"])
    assert timedelta() < due - datetime.now(UTC) <= timedelta(days=1, hours=1)

    paused = world.patch(path, json={"enabled": False})
    assert (paused.status_code, paused.json["nextDueAt"]) == (200, None)
    assert paused.json == schedule | {"enabled": False, "nextDueAt": None}

    assert world.delete(path).status_code == 204
    assert world.get(path).status_code == 404
    assert world.get(f"/api/v1/prompts/{prompt_id}/schedules").json == {"schedules": []}


@pytest.mark.parametrize(
    ("values", "start"),
    [
        ({"cron": "* * * * *"}, "cron: Must not be due more often"),
        ({"cron": "0 3 * *  "}, "cron: "),
        ({"cron": "0 3 * * \0"}, "cron: "),
        ({"cron": "0 3 * * 😀"}, "cron: Bad day-of-week"),
        ({"timezone": "Mars/Olympus"}, "timezone: Must be a time zone"),
        ({"timezone": "../../etc/passwd"}, "timezone: Must be a time zone"),
        ({"suite": "nowhere"}, "suite: "),
        ({"repeats": 0}, "repeats: "),
        ({"maxCost": 0}, "maxCost: "),
        ({"kind": "party"}, "kind: "),
    ],
)
def test_an_impossible_schedule_is_refused_with_the_path(world: World, values: dict[str, Any], start: str) -> None:
    answer = world.post(f"/api/v1/prompts/{with_case(world)}/schedules", json=NIGHTLY | values)
    assert answer.status_code == 400, answer.text
    assert answer.json["error"].startswith(start), answer.text


def test_a_prompt_has_a_limited_number_of_schedules(world: World) -> None:
    prompt_id = with_case(world)
    for _ in range(SCHEDULES_MAX):
        make(world, prompt_id)
    assert world.post(f"/api/v1/prompts/{prompt_id}/schedules", json=NIGHTLY).status_code == 400


def test_the_clock_starts_one_experiment_for_a_due_time(world: World) -> None:
    schedule = make(world, with_case(world), repeats=3)
    due = datetime.fromisoformat(schedule["nextDueAt"])

    clock_at(world, due - timedelta(seconds=1)).serve(schedule["id"])
    assert runs_of(world, schedule) == []
    for _ in range(3):
        clock_at(world, due + timedelta(seconds=1)).serve(schedule["id"])

    (run,) = runs_of(world, schedule)
    assert (datetime.fromisoformat(run["dueAt"]), run["missed"], run["reason"]) == (due, 0, None)
    experiment = world.get(f"/api/v1/experiments/{run['experimentId']}").json
    assert (experiment["repeats"]["min"], experiment["maxCost"]) == (3, 0.5)


def test_due_times_without_a_clock_are_caught_up_once_and_counted(world: World) -> None:
    schedule = make(world, with_case(world))
    due = datetime.fromisoformat(schedule["nextDueAt"])
    clock = clock_at(world, due + timedelta(days=3, hours=2))
    clock.serve(schedule["id"])
    clock.serve(schedule["id"])
    (run,) = runs_of(world, schedule)
    assert run["missed"] == 3
    assert datetime.fromisoformat(run["dueAt"]) > due + timedelta(days=2)


def test_due_times_of_a_pause_are_not_caught_up(world: World) -> None:
    schedule = make(world, with_case(world), enabled=False)
    clock_at(world, datetime.now(UTC) + timedelta(days=5)).serve(schedule["id"])
    later = clock_at(world, datetime.now(UTC) + timedelta(days=5, minutes=1))
    later.change(project_id=world.project_id, schedule_id=schedule["id"], values={"enabled": True})
    later.serve(schedule["id"])
    assert runs_of(world, schedule) == []


def test_a_run_that_can_not_start_gives_the_reason(world: World) -> None:
    schedule = make(world, world.prompt())
    clock_at(world, datetime.now(UTC) + timedelta(days=2)).serve(schedule["id"])
    (run,) = runs_of(world, schedule)
    assert (run["experimentId"], run["reason"]) == (None, "testCaseIds: The prompt has no test cases.")


def test_history_that_retention_removed_is_not_served_again(world: World) -> None:
    schedule = make(world, with_case(world))
    clock = clock_at(world, datetime.now(UTC) + timedelta(days=2))
    clock.serve(schedule["id"])
    with world.container.database.write() as connection:
        connection.exec_driver_sql(f"DELETE FROM schedule_runs WHERE schedule_id = {schedule['id']}")
    clock.serve(schedule["id"])
    assert runs_of(world, schedule) == []


def test_a_schedule_of_another_project_does_not_exist(world: World) -> None:
    schedule, stranger = make(world, with_case(world)), new_world(world.container)
    path = f"/api/v1/schedules/{schedule['id']}"
    answers = [stranger.get(path), stranger.get(f"{path}/runs"), stranger.delete(path), stranger.patch(path, json={})]
    assert {answer.status_code for answer in answers} == {404}
    assert world.get(path).status_code == 200


def test_erasing_a_prompt_removes_its_schedules_with_their_history(world: World) -> None:
    prompt_id = with_case(world)
    schedule = make(world, prompt_id)
    clock_at(world, datetime.now(UTC) + timedelta(days=2)).serve(schedule["id"])
    world.container.services.deletion.erase_prompt(project_id=world.project_id, prompt_id=prompt_id)
    assert (world.count("schedules"), world.count("schedule_runs")) == (0, 0)
