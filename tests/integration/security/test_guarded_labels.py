"""A guard that asks for evidence is not opened by an experiment of one trivial test case and one repeat."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from app.experiments.drift import Counts, DriftState
from app.models import schedules
from app.models.queries import insert_row
from app.models.schedules import CaseCounts, WatchedRun
from tests.integration.prompts.test_labels import moved, new_prompt, put, with_scopes
from tests.support.waiting import wait_until
from tests.support.world import World


class Guarded:
    """A prompt with three versions that all pass two test cases, and a guarded label on the first version."""

    def __init__(self, world: World, **evidence: Any) -> None:
        self.world = world
        self.path, self.hashes = new_prompt(world)
        self.cases = [self.case(name) for name in ("trivial", "hard")]
        self.label = moved(world, self.path, self.hashes[0], guarded=True, evidence=evidence)

    def rule(self, **evidence: Any) -> None:
        moved(self.world, self.path, self.hashes[0], evidence=evidence)

    def case(self, question: str) -> int:
        answer = self.world.post(f"{self.path}/test-cases", json={"question": question, "expectedAnswer": question})
        case_id: int = answer.json["id"]
        return case_id

    def experiment(self, **body: Any) -> int:
        """Return the id of a passed experiment of the second version against the first one."""
        sides = {"candidate": {"commitHash": self.hashes[1]}, "baseline": {"commitHash": self.hashes[0]}}
        started = self.world.post(f"{self.path}/experiments", json={**sides, **body})
        assert started.status_code == 202, started.text
        path = f"/api/v1/experiments/{started.json['id']}"

        def ended() -> Any:
            found = self.world.get(path).json
            return found if found["finishedAt"] else None

        assert wait_until(ended, "the experiment")["verdict"] == "passed"
        experiment_id: int = started.json["id"]
        return experiment_id

    def refusal(self, experiment_id: int) -> str:
        answer = put(self.world, self.path, self.hashes[1], experimentId=experiment_id)
        assert answer.status_code == 409, answer.text
        error: str = answer.json["error"]
        return error


def test_one_trivial_test_case_and_one_repeat_open_no_guard_that_asks_for_evidence(world: World) -> None:
    guarded = Guarded(world)

    trivial = guarded.experiment(testCaseIds=guarded.cases[:1], repeats={"min": 1, "max": 1})

    assert guarded.refusal(trivial) == (
        "experimentId: The label production is guarded, and the experiment is no evidence: "
        f"it lacks the test case {guarded.cases[1]}; its repeats.min is 1, and at least 9 are required."
    )
    assert moved(world, guarded.path, guarded.hashes[1], experimentId=guarded.experiment())["evidence"] == {
        "repeats": 9,
        "detect": 0.25,
        "alpha": 0.05,
        "minSighted": 0.5,
        "testCaseIds": None,
        "watchDays": None,
    }


def test_evidence_is_of_the_test_cases_as_they_are_now(world: World) -> None:
    guarded = Guarded(world, repeats=1)
    passed = guarded.experiment(repeats={"min": 1, "max": 1})
    changed = {"steps": [{"turn": 0, "step": 0, "check": {"answer": "contains", "value": "a"}}]}

    world.patch(f"/api/v1/test-cases/{guarded.cases[0]}", json=changed)
    added = guarded.case("a new one")

    assert f"it lacks the test case {added}; since then the test case {guarded.cases[0]} changed" in guarded.refusal(
        passed
    )
    world.delete(f"/api/v1/test-cases/{added}")
    world.delete(f"/api/v1/test-cases/{guarded.cases[0]}")
    assert moved(world, guarded.path, guarded.hashes[1], experimentId=passed)["commitHash"] == guarded.hashes[1]


@pytest.mark.parametrize(
    ("design", "refusal"),
    [
        ({"detect": 0.9, "repeats": {"min": 4, "max": 4}}, "its detect is 0.9, and at most 0.25 is required"),
        ({"minJudgeCaught": 0}, "its minJudgeCaught is 0, and at least 0.8 is required"),
        ({"alpha": 1e-9}, "its alpha is 1e-09, and at least 0.05 is required"),
    ],
)
def test_a_lenient_experiment_is_no_evidence(world: World, design: dict[str, Any], refusal: str) -> None:
    guarded = Guarded(world)
    assert refusal in guarded.refusal(guarded.experiment(**design))


def test_only_an_admin_asks_for_less_evidence(world: World) -> None:
    guarded, writer = Guarded(world, repeats=5), with_scopes(world, "read", "write", "run")

    guarded.rule(repeats=12)
    less = [
        *(None, {"repeats": 4}, {"repeats": 12, "detect": 0.9}, {"repeats": 12, "alpha": 0.01}),
        *({"repeats": 12, "minSighted": 0.2}, {"repeats": 12, "testCaseIds": guarded.cases}),
    ]
    answers = [put(writer, guarded.path, guarded.hashes[0], evidence=evidence) for evidence in less]

    assert {(answer.status_code, answer.json["error"][:9]) for answer in answers} == {(403, "evidence:")}
    assert moved(writer, guarded.path, guarded.hashes[0], evidence={"repeats": 13})["evidence"]["repeats"] == 13
    assert moved(world, guarded.path, guarded.hashes[0], evidence=None)["evidence"]["repeats"] == 9


@pytest.mark.parametrize("evidence", [None, {}], ids=["none", "defaults"])
def test_a_guard_without_the_setting_requires_the_default_evidence(world: World, evidence: Any) -> None:
    guarded = Guarded(world)
    moved(world, guarded.path, guarded.hashes[0], evidence=evidence)

    trivial = guarded.experiment(testCaseIds=guarded.cases[:1], repeats={"min": 1, "max": 1})

    assert "is no evidence: it lacks the test case" in guarded.refusal(trivial)


def test_a_label_may_name_the_test_cases_of_its_suite(world: World) -> None:
    guarded = Guarded(world)
    guarded.rule(testCaseIds=guarded.cases[:1])
    other = guarded.experiment(testCaseIds=guarded.cases[1:])
    suite = guarded.experiment(testCaseIds=guarded.cases[:1])

    assert f"it lacks the test case {guarded.cases[0]}." in guarded.refusal(other)
    world.delete(f"/api/v1/test-cases/{guarded.cases[0]}")
    assert "the label's suite has no test case any more" in guarded.refusal(suite)
    guarded.rule(testCaseIds=guarded.cases[1:])
    assert moved(world, guarded.path, guarded.hashes[1], experimentId=other)["evidence"]["testCaseIds"] == [
        guarded.cases[1]
    ]


@pytest.mark.parametrize(
    "evidence", [{"repeats": 0}, {"detect": 1}, {"minSighted": 2}, {"testCaseIds": []}, {"cases": 3}, "all"]
)
def test_what_is_no_rule_of_evidence_is_refused_by_its_path(world: World, evidence: Any) -> None:
    path, hashes = new_prompt(world)
    answer = put(world, path, hashes[0], evidence=evidence)
    assert (answer.status_code, answer.json["error"][:8]) == (400, "evidence")


def watched(guarded: Guarded, *, days_ago: int, state: DriftState = "steady", project_id: int | None = None) -> None:
    """Store a run of a watch that has ended."""
    world, prompt_id = guarded.world, int(guarded.path.rpartition("/")[2])
    due_at = world.container.now() - timedelta(days=days_ago)
    run = WatchedRun((CaseCounts(guarded.cases[0], 0, Counts(9, 1), state),))
    owner = {"project_id": project_id or world.project_id, "prompt_id": prompt_id}
    with world.container.database.write() as connection:
        insert_row(
            connection,
            schedules.schedule_runs,
            **owner,
            schedule_id=2**40 + days_ago,
            due_at=due_at,
            missed=0,
            watched=run,
            created_at=due_at,
        )


def test_a_guard_may_require_a_young_watch_without_a_drop(world: World) -> None:
    guarded = Guarded(world, watchDays=7)
    experiment_id = guarded.experiment()

    lacking = "no watch of the prompt has ended in the last 7 days"
    assert lacking in guarded.refusal(experiment_id)
    watched(guarded, days_ago=8)
    assert lacking in guarded.refusal(experiment_id)
    watched(guarded, days_ago=2, state="dropped")
    assert "found 1 dropped test case" in guarded.refusal(experiment_id)
    watched(guarded, days_ago=1)
    assert put(world, guarded.path, guarded.hashes[1], experimentId=experiment_id).status_code == 200


def test_an_older_watch_or_none_is_less_evidence(world: World) -> None:
    guarded = Guarded(world, watchDays=7)
    key = with_scopes(world, "write")
    for days in (None, 8):
        answer = put(key, guarded.path, guarded.hashes[0], evidence={"watchDays": days})
        assert answer.status_code == 403, answer.text
    assert put(key, guarded.path, guarded.hashes[0], evidence={"watchDays": 6}).status_code == 200
    assert put(key, guarded.path, guarded.hashes[0], evidence={"watchDays": 0}).status_code == 400
