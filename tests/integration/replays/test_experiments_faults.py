"""Experiments when something dies, fails or is taken away: each ends once, and plays nothing twice."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any
from unittest.mock import patch

import pytest

from app.models.data_policies import DataPolicy
from app.services.experiments.advance import IN_WORK_MAX, ExperimentAdvancer
from app.services.experiments.request import NewExperiment
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.experimenting import (
    PING,
    behave,
    case,
    changed_prompt,
    ended,
    experiment,
    held_baseline,
    is_draft,
    run,
    statuses,
    verdict,
)
from tests.integration.replays.recording import prompt
from tests.support.waiting import wait_until
from tests.support.world import World

REFUSED = Reply(status=401)
AT_ONCE = 8
REPLAY_ENDED = ExperimentAdvancer.replay_ended


class Counted:
    """Metrics that keep what was counted."""

    def __init__(self) -> None:
        self.labels: list[str] = []

    def count(self, _metric: object, *labels: str, by: int = 1) -> None:
        self.labels += labels * by


def advancers(world: World, metrics: Any) -> list[ExperimentAdvancer]:
    """As many as there are processes that advance an experiment at once."""
    of = world.container
    mutants = of.services.experiment_advancer.mutants
    return [
        ExperimentAdvancer(database=of.database, now=of.now, metrics=metrics, mutants=mutants) for _ in range(AT_ONCE)
    ]


def at_once(world: World, experiment_id: int) -> tuple[list[int], list[str]]:
    """The replays that were added, and the verdicts that were counted, when many advance at the same time."""
    barrier, metrics = Barrier(AT_ONCE), Counted()

    def advance(advancer: ExperimentAdvancer) -> list[int]:
        barrier.wait()
        return advancer.advance(experiment_id)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        added = [each for ids in pool.map(advance, advancers(world, metrics)) for each in ids]
    return added, metrics.labels


@pytest.fixture
def nobody_advances() -> Iterator[None]:
    """Every process dies right after a replay or an audit has ended, before it advances experiments."""
    with (
        patch.object(ExperimentAdvancer, "replay_ended", lambda _self, _replay_id: []),
        patch.object(ExperimentAdvancer, "audit_ended", lambda _self, _prompt_id: []),
    ):
        yield


class Looking(ExperimentAdvancer):
    """Counts the experiments that are looked at, and does nothing with them."""

    def ended(self, replay_id: int) -> int:
        """Return the number of experiments that are looked at once a replay has ended."""
        self.looked: list[int] = []
        REPLAY_ENDED(self, replay_id)
        return len(self.looked)

    def _advance(self, experiment_id: int) -> list[int]:
        self.looked.append(experiment_id)
        return []


def all_played(world: World, prompt_id: int, count: int) -> None:
    wait_until(lambda: statuses(world, prompt_id)["passed"] == count, f"{count} replays")


def test_many_that_advance_at_once_add_each_replay_once(world: World, nobody_advances: None) -> None:
    prompt_id = changed_prompt(world)
    row = world.container.services.experiments.start(
        project_id=world.project_id, prompt_id=prompt_id, new=NewExperiment(detect=0.5)
    )
    added, _ = at_once(world, row.id)
    assert (len(added), len(set(added)), world.count("replays")) == (8, 8, 8)


def test_many_that_advance_at_once_end_it_once(world: World, upstream: Upstream, nobody_advances: None) -> None:
    prompt_id = changed_prompt(world)
    behave(upstream, PING)
    path = experiment(world, prompt_id)
    all_played(world, prompt_id, 8)

    added, verdicts = at_once(world, world.get(path).json["id"])

    assert (added, verdicts) == ([], ["passed"])
    assert verdict(world.get(path).json) == ("finished", "passed")


def test_the_clock_advances_what_was_left_behind(world: World, upstream: Upstream, nobody_advances: None) -> None:
    prompt_id = changed_prompt(world)
    behave(upstream, lambda number: PING if number else Reply(text="Pong"))
    path = experiment(world, prompt_id)
    assert world.get(path).json["status"] == "running"

    def swept() -> bool:
        world.container.experiment_delivery.sweep()
        return bool(world.get(path).json["finishedAt"])

    wait_until(swept, path, interval_s=0.2)
    assert verdict(world.get(path).json)[0] == "finished"


def test_the_clock_starts_what_was_never_advanced(world: World, upstream: Upstream) -> None:
    prompt_id = changed_prompt(world)
    behave(upstream, PING)
    row = world.container.services.experiments.start(
        project_id=world.project_id, prompt_id=prompt_id, new=NewExperiment(detect=0.5)
    )
    assert world.get(f"/api/v1/experiments/{row.id}").json["status"] == "queued"
    world.container.experiment_delivery.sweep()
    world.container.audit_delivery.send([row.design["auditId"]])
    assert verdict(ended(world, f"/api/v1/experiments/{row.id}")) == ("finished", "passed")


def test_the_clock_does_nothing_while_replays_are_in_work(world: World, upstream: Upstream) -> None:
    prompt_id = changed_prompt(world)
    with held_baseline(upstream):
        path = experiment(world, prompt_id)
        wait_until(lambda: world.get(path).json["progress"]["done"] == 4, path)
        behind, experiment_id = world.container.services.experiment_advancer.behind, world.get(path).json["id"]
        wait_until(lambda: experiment_id not in behind(), "the last advance")
    ended(world, path)


def test_a_replay_with_an_error_is_played_once_more_and_not_counted(world: World, upstream: Upstream) -> None:
    prompt_id = changed_prompt(world)
    behave(upstream, lambda number: REFUSED if number == 1 else PING)

    found = run(world, prompt_id)

    assert verdict(found) == ("finished", "passed")
    assert found["progress"] == {"done": 9, "total": 9}
    assert found["testCases"][0]["candidate"]["runs"] == 4
    assert statuses(world, prompt_id) == {"passed": 8, "error": 1}


def test_only_errors_are_no_verdict(world: World, upstream: Upstream) -> None:
    prompt_id = changed_prompt(world)
    behave(upstream, REFUSED)

    found = run(world, prompt_id)

    assert verdict(found) == ("error", None)
    assert found["reason"].startswith("No replay of the candidate has a result: ")
    assert statuses(world, prompt_id)["error"] == 8, "each is tried once more"


def test_a_provider_that_is_away_ends_a_large_experiment_early(world: World, upstream: Upstream) -> None:
    prompt_id = changed_prompt(world, cases=15)
    upstream.choose = lambda body: REFUSED
    found = run(world, prompt_id)
    assert verdict(found) == ("error", None)
    assert len(upstream.requests) <= 3 * IN_WORK_MAX


def test_some_errors_too_many_leave_it_undecided(world: World, upstream: Upstream) -> None:
    prompt_id = changed_prompt(world, cases=2)

    def choose(body: dict[str, Any]) -> Reply:
        return REFUSED if is_draft(body) and body["messages"][-1]["content"] == "Ping 1" else PING

    upstream.choose = choose
    found = run(world, prompt_id)
    assert verdict(found) == ("finished", "inconclusive")
    assert "replays ended without a result" in found["reason"]


def test_a_test_case_that_is_deleted_meanwhile_ends_it_cleanly(world: World, upstream: Upstream) -> None:
    prompt_id = changed_prompt(world)
    with held_baseline(upstream):
        path = experiment(world, prompt_id, repeats={"min": 40, "max": 40})
        case_id = world.get(path).json["testCases"][0]["testCaseId"]
        assert world.delete(f"/api/v1/test-cases/{case_id}").status_code == 204
    found = ended(world, path)
    assert found["status"] in ("finished", "error")
    assert found["verdict"] in ("inconclusive", None)


def test_a_prompt_that_is_archived_meanwhile_ends_it_cleanly(world: World, upstream: Upstream) -> None:
    prompt_id = changed_prompt(world)
    with held_baseline(upstream):
        path = experiment(world, prompt_id, repeats={"min": 40, "max": 40})
        assert world.delete(f"/api/v1/prompts/{prompt_id}").status_code == 204
    assert ended(world, path)["status"] in ("finished", "error")


def test_erasing_a_prompt_erases_its_experiments(world: World, upstream: Upstream) -> None:
    prompt_id = changed_prompt(world)
    with held_baseline(upstream):
        path = experiment(world, prompt_id)
        world.container.services.deletion.erase_prompt(project_id=world.project_id, prompt_id=prompt_id)
        assert world.get(path).status_code == 404
        world.container.experiment_delivery.sweep()

    def emptied() -> bool:
        """Do as the clock does, as what was in work may have stored a row after the erasure."""
        world.container.services.deletion.sweep()
        return (world.count("experiments"), world.count("replays")) == (0, 0)

    wait_until(emptied, "the experiment and its replays are gone")


def test_no_more_replays_wait_than_others_can_bear(world: World, upstream: Upstream) -> None:
    prompt_id = prompt(world)
    for number in range(12):
        case(world, prompt_id, f"Ping {number}")
    with held_baseline(upstream):
        path = experiment(world, prompt_id, minPassRate=0.5)
        assert world.count("replays") == IN_WORK_MAX
        assert world.get(path).json["progress"] == {"done": 0, "total": 48}
    assert verdict(ended(world, path)) == ("finished", "passed")


def test_an_experiment_is_not_looked_at_for_each_replay_while_many_others_are_in_work(
    world: World, upstream: Upstream, nobody_advances: None
) -> None:
    prompt_id = prompt(world)
    for number in range(12):
        case(world, prompt_id, f"Ping {number}")
    with held_baseline(upstream):
        experiment(world, prompt_id, minPassRate=0.5)
        replay_id = world.get(f"/api/v1/prompts/{prompt_id}/replays").json["replays"][0]["id"]
        container = world.container
        mutants = container.services.experiment_advancer.mutants
        advancer = Looking(database=container.database, now=container.now, metrics=container.metrics, mutants=mutants)
        assert advancer.ended(replay_id) == 0
    all_played(world, prompt_id, IN_WORK_MAX)
    assert advancer.ended(replay_id) == 1


def test_replays_of_an_experiment_that_goes_on_are_not_removed(world: World, upstream: Upstream) -> None:
    prompt_id = changed_prompt(world)
    with held_baseline(upstream):
        path = experiment(world, prompt_id)
        wait_until(lambda: world.get(path).json["progress"]["done"] == 4, path)
        kept_for_no_time(world)
        assert world.get(path).json["testCases"][0]["candidate"]["runs"] == 4
    assert verdict(ended(world, path)) == ("finished", "passed")
    kept_for_no_time(world)
    assert (world.get(path).status_code, world.count("replays")) == (404, 0)


def kept_for_no_time(world: World) -> None:
    """Apply a policy by which whatever was stored until now is too old."""
    services = world.container.services
    services.data_policies.put(project_id=world.project_id, policy=DataPolicy(replays_days=1))
    retention = services.retention
    with patch.object(retention, "earlier_now", lambda _c, now: now + timedelta(days=2)):
        retention.apply()


def test_the_cost_ends_what_is_undecided(world: World, upstream: Upstream) -> None:
    prompt_id = changed_prompt(world)
    behave(upstream, PING)
    found = run(world, prompt_id, maxCost=0.000001)
    assert verdict(found) == ("finished", "inconclusive")
    assert "the cost reached <$0.0001" in found["reason"]
    assert found["maxCost"] == 0.000001
    again = run(world, prompt_id, maxCost=10)
    assert verdict(again) == ("finished", "passed")
