"""A watch: what its runs keep, that a drop is reported once, and what moves its reference."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select

from app.experiments import behaviour_watch
from app.models import schedules
from app.models.webhook_deliveries import webhook_deliveries
from app.services.experiments import watch
from app.services.experiments.schedules import ScheduleService
from app.services.replays import player
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.experimenting import PING, PONG, case, ended
from tests.integration.replays.recording import prompt
from tests.integration.replays.test_schedules_api import clock_at, make, runs_of, with_case
from tests.support.world import World, new_world


class Watching:
    """A watch over a prompt, of which each day is served at once."""

    def __init__(self, world: World, **values: Any) -> None:
        self.world, self.days = world, 0
        self.prompt_id = prompt(world)
        self.case_ids = [case(world, self.prompt_id, f"Ping {number}") for number in range(2)]
        self.schedule = make(world, self.prompt_id, **{"kind": "watch", "repeats": 10, "maxCost": None, **values})
        self.path = f"/api/v1/schedules/{self.schedule['id']}"

    def clock(self) -> ScheduleService:
        return clock_at(self.world, datetime.now(UTC) + timedelta(days=self.days))

    def start(self) -> dict[str, Any]:
        self.days += 1
        self.clock().serve(self.schedule["id"])
        run = runs_of(self.world, self.schedule)[0]
        assert run["reason"] is None, run
        services = self.world.container.services
        row = services.experiments.row(project_id=self.world.project_id, experiment_id=run["experimentId"])
        self.world.container.experiment_delivery.begin(row)
        return run

    def day(self) -> dict[str, Any]:
        """Play the run of the next day; returns it."""
        run = self.start()
        ended(self.world, f"/api/v1/experiments/{run['experimentId']}")
        return runs_of(self.world, self.schedule)[0]

    def watch(self) -> dict[str, Any]:
        answer = self.world.get(f"{self.path}/reference")
        assert answer.status_code == 200, answer.text
        watch: dict[str, Any] = answer.json
        return watch

    def counts(self) -> list[list[int]]:
        names = ("referencePassed", "referenceFailed", "sincePassed", "sinceFailed")
        cases = sorted(self.watch()["testCases"], key=lambda watched: watched["testCaseId"])
        return [[watched[name] for name in names] for watched in cases]

    def compared(self) -> list[int]:
        """Return the replays in the reference of the answers of each test case."""
        with self.world.container.database.read() as connection:
            of_schedule = {"project_id": self.world.project_id, "schedule_id": self.schedule["id"]}
            watch = schedules.watch_of(connection, **of_schedule)
        assert watch
        return [case.behaviour.reference.replays for case in watch.cases]


def breaks(upstream: Upstream, question: str) -> None:
    upstream.choose = lambda body: PONG if body["messages"][-1]["content"] == question else PING


def test_runs_collect_the_reference_and_play_only_the_newest_version(world: World, upstream: Upstream) -> None:
    upstream.choose = lambda body: PING
    watching = Watching(world)
    assert watching.watch() == {"since": None, "commitHash": None, "models": [], "testCases": []}
    run = watching.day()
    assert (run["verdict"], run["played"], run["passed"], run["dropped"]) == ("passed", 20, 20, 0)
    experiment = world.get(f"/api/v1/experiments/{run['experimentId']}").json
    head = world.get(f"/api/v1/prompts/{watching.prompt_id}").json["commitHash"]
    assert (experiment["candidate"]["commitHash"], experiment["baseline"]) == (head, None)
    watching.day()
    watch = watching.watch()
    assert (watch["commitHash"], watching.counts()) == (head, [[20, 0, 0, 0]] * 2)
    assert run["models"] == watch["models"] != []


def test_a_drop_is_reported_once_and_stays_until_a_person_begins_a_new_reference(
    world: World, upstream: Upstream
) -> None:
    upstream.choose = lambda body: PING
    watching = Watching(world)
    hook = {"url": "http://127.0.0.1/", "events": ["model.drifted"]}
    assert world.post("/api/v1/webhooks", json=hook).status_code == 201
    watching.day()
    watching.day()
    breaks(upstream, "Ping 1")
    run = watching.day()
    assert (run["verdict"], run["played"], run["passed"], run["dropped"]) == ("failed", 20, 10, 1)
    watch = watching.watch()
    assert [(watched["name"], watched["state"]) for watched in watch["testCases"]] == [
        ("Ping 1", "dropped"),
        ("Ping 0", "steady"),
    ]
    assert watching.counts() == [[30, 0, 0, 0], [20, 0, 0, 10]]
    assert watching.day()["verdict"] == "failed"
    with world.container.database.read() as connection:
        c = webhook_deliveries.c
        (sent,) = connection.execute(select(c.event, c.data).where(c.project_id == world.project_id)).all()
    assert sent.event == "model.drifted"
    assert sent.data == {
        "projectId": world.project_id,
        "promptId": watching.prompt_id,
        "promptName": sent.data["promptName"],
        "scheduleId": watching.schedule["id"],
        "experimentId": run["experimentId"],
        "dropped": 1,
        "testCaseIds": [watching.case_ids[1]],
        "modelsBefore": watch["models"],
        "models": run["models"],
    }

    assert world.delete(f"{watching.path}/reference").status_code == 204
    assert watching.watch()["testCases"] == []
    assert watching.day()["verdict"] == "passed"
    assert watching.counts() == [[10, 0, 0, 0], [0, 10, 0, 0]]


def test_a_new_version_and_a_changed_test_case_begin_their_own_references(world: World, upstream: Upstream) -> None:
    upstream.choose = lambda body: PING
    watching = Watching(world)
    watching.day()
    assert world.patch(f"/api/v1/test-cases/{watching.case_ids[1]}", json={"order": "any"}).status_code == 200
    watching.day()
    assert watching.counts() == [[20, 0, 0, 0], [10, 0, 0, 0]]
    assert world.patch(f"/api/v1/prompts/{watching.prompt_id}", json={"value": "Be better."}).status_code == 200
    assert world.post(f"/api/v1/prompts/{watching.prompt_id}/commit", json={"message": "New"}).status_code == 201
    watching.day()
    assert watching.counts() == [[10, 0, 0, 0], [10, 0, 0, 0]]


def test_a_run_that_ends_after_a_new_reference_is_only_in_the_history(world: World, upstream: Upstream) -> None:
    upstream.choose = lambda body: PING
    watching = Watching(world)
    watching.day()
    held = threading.Event()
    upstream.choose = lambda body: Reply(text="Ping", held=held)
    run = watching.start()
    assert world.delete(f"{watching.path}/reference").status_code == 204
    held.set()
    ended(world, f"/api/v1/experiments/{run['experimentId']}")
    assert runs_of(world, watching.schedule)[0]["played"] == 20
    assert watching.watch()["testCases"] == []


def test_a_prompt_without_a_version_has_nothing_to_watch(world: World) -> None:
    schedule = make(world, with_case(world), kind="watch")
    clock_at(world, datetime.now(UTC) + timedelta(days=2)).serve(schedule["id"])
    (run,) = runs_of(world, schedule)
    assert (run["experimentId"], run["reason"]) == (None, "The prompt has no version to watch: commit one.")


def test_the_reference_of_another_projects_watch_does_not_exist(world: World) -> None:
    path, stranger = f"/api/v1/schedules/{make(world, with_case(world))['id']}/reference", new_world(world.container)
    assert {stranger.get(path).status_code, stranger.delete(path).status_code} == {404}
    assert world.get(path).status_code == 200


def answers(upstream: Upstream, text: str) -> None:
    """Let the model answer "Ping 1" with this text, which fails, and anything else as recorded."""
    upstream.choose = lambda body: Reply(text=text) if body["messages"][-1]["content"] == "Ping 1" else PING


def test_answers_that_differ_from_the_reference_are_a_warning_that_changes_no_verdict(
    world: World, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(behaviour_watch, "SMALLEST_REFERENCE", 20)
    answers(upstream, "Pong")
    watching = Watching(world)
    hook = {"url": "http://127.0.0.1/", "events": ["model.drifted"]}
    assert world.post("/api/v1/webhooks", json=hook).status_code == 201
    for _ in range(2):
        watching.day()
    answers(upstream, "Pong " * 30)
    run = watching.day()
    assert (run["verdict"], run["dropped"]) == ("passed", 0)
    changed, same = sorted(watching.watch()["testCases"], key=lambda watched: -len(watched["changes"]))
    assert (changed["name"], changed["state"], same["changes"]) == ("Ping 1", "steady", [])
    (change,) = changed["changes"]
    assert change == {
        "kind": "longer",
        "name": "",
        "text": "Answers are longer, about 4 → 150 characters: more than 4 in 10 of 10 replays, "
        "in the reference in 0 of 20.",
        "replays": 10,
        "of": 10,
        "referenceReplays": 0,
        "referenceOf": 20,
        "experimentId": run["experimentId"],
    }
    with world.container.database.read() as connection:
        c = webhook_deliveries.c
        assert not connection.scalars(select(c.event).where(c.project_id == world.project_id)).all()

    # Only a person ends it: the answers of before don't.
    answers(upstream, "Pong")
    later = watching.day()
    kept = {watched["name"]: watched["changes"] for watched in watching.watch()["testCases"]}
    assert kept["Ping 1"] == [change]
    assert later["experimentId"] != change["experimentId"]
    assert world.delete(f"{watching.path}/reference").status_code == 204
    watching.day()
    assert all(not watched["changes"] for watched in watching.watch()["testCases"])


def test_replays_of_an_earlier_release_are_not_compared(
    world: World, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.choose = lambda body: PING
    watching = Watching(world)
    with monkeypatch.context() as earlier:
        earlier.setattr(player, "behaviour_of", lambda turns: None)
        watching.day()
    watching.day()
    assert watching.compared() == [10, 10]


def test_the_answers_of_the_first_test_cases_of_a_run_are_compared(
    world: World, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "COMPARED_MAX", 1)
    upstream.choose = lambda body: PING
    watching = Watching(world)
    watching.day()
    assert watching.compared() == [10, 0]
