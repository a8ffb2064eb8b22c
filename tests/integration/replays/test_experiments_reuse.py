"""Results are used again where the content, the test case and the judge are the same, and are a week old at most."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from app.models.language_models import language_models
from app.models.replays import replays
from tests.fakes.upstream import Upstream
from tests.integration.replays.experimenting import PING, behave, case, changed_prompt, run, verdict
from tests.integration.replays.recording import prompt
from tests.support.world import World


def reused(found: dict[str, Any]) -> tuple[int, int]:
    """Return the number of reused results of the first test case, of the candidate and of the baseline."""
    sides = found["testCases"][0]
    return sides["candidate"]["reused"], sides["baseline"]["reused"]


@pytest.fixture
def played(world: World, upstream: Upstream) -> dict[str, Any]:
    """An experiment that has ended."""
    prompt_id = changed_prompt(world)
    behave(upstream, PING)
    return run(world, prompt_id)


def test_the_same_experiment_costs_nothing(world: World, upstream: Upstream, played: dict[str, Any]) -> None:
    upstream.requests.clear()
    again = run(world, played["promptId"])

    assert (verdict(again), reused(again), upstream.requests) == (("finished", "passed"), (4, 4), [])
    assert (again["reused"], again["cost"]["total"], again["tokens"]["total"]) == (8, 0, 0)
    assert again["testCases"][0]["baseline"]["replayIds"] == played["testCases"][0]["baseline"]["replayIds"]
    assert world.count("replays") == 8


def test_a_new_draft_plays_against_the_results_of_the_baseline(
    world: World, upstream: Upstream, played: dict[str, Any]
) -> None:
    world.patch(f"/api/v1/prompts/{played['promptId']}", json={"value": "Be bad. Be quick."})
    upstream.requests.clear()
    again = run(world, played["promptId"])

    assert (reused(again), len(upstream.requests)) == ((0, 4), 4)
    assert again["testCases"][0]["baseline"]["cost"]["total"] == 0
    assert again["testCases"][0]["candidate"]["cost"]["total"] == again["cost"]["total"] > 0


def test_reuse_can_be_refused(world: World, upstream: Upstream, played: dict[str, Any]) -> None:
    upstream.requests.clear()
    again = run(world, played["promptId"], reuse=False)
    assert (reused(again), len(upstream.requests)) == ((0, 0), 8)


def test_a_single_replay_is_used_and_the_rest_is_played(world: World, upstream: Upstream) -> None:
    prompt_id = changed_prompt(world)
    behave(upstream, PING)
    run(world, prompt_id, baseline=None, repeats={"min": 1})
    upstream.requests.clear()
    again = run(world, prompt_id)
    assert (reused(again), len(upstream.requests)) == ((1, 0), 7)


def test_a_test_case_that_has_changed_is_played_again(world: World, upstream: Upstream, played: dict[str, Any]) -> None:
    changed = world.patch(
        f"/api/v1/test-cases/{played['testCases'][0]['testCaseId']}",
        json={"steps": [{"turn": 0, "step": 0, "check": {"answer": "contains", "value": "Ping"}}]},
    )
    assert changed.status_code == 200, changed.text
    upstream.requests.clear()
    again = run(world, played["promptId"])
    assert (reused(again), len(upstream.requests)) == ((0, 0), 8)


def test_replays_are_not_reused_for_another_judge(world: World, upstream: Upstream, played: dict[str, Any]) -> None:
    again = run(world, played["promptId"], judgeModelName="gpt-4.1")
    assert reused(again) == (0, 0)


@pytest.mark.parametrize("judges", [False, True])
def test_results_of_a_model_that_has_changed_are_not_used(
    world: World, upstream: Upstream, played: dict[str, Any], judges: bool
) -> None:
    asked = {"judgeModelName": "gpt-4.1"} if judges else {}
    run(world, played["promptId"], **asked)
    assert reused(run(world, played["promptId"], **asked)) == (4, 4)
    changed = update(language_models).where(language_models.c.name == ("gpt-4.1" if judges else "gpt-4o-mini"))
    with world.container.database.write() as connection:
        connection.execute(changed.values(updated_at=world.container.now()))

    assert reused(run(world, played["promptId"], **asked)) == (0, 0)


def test_results_are_used_for_a_week(world: World, played: dict[str, Any]) -> None:
    old = update(replays).where(replays.c.prompt_id == played["promptId"])
    with world.container.database.write() as connection:
        connection.execute(old.values(finished_at=world.container.now() - timedelta(days=7, minutes=1)))
    assert reused(run(world, played["promptId"])) == (0, 0)


def test_equal_contents_are_played_once_for_both_sides(world: World, upstream: Upstream) -> None:
    prompt_id = prompt(world)
    case(world, prompt_id)
    behave(upstream, PING)

    found = run(world, prompt_id, minPassRate=0.5)

    assert (verdict(found), len(upstream.requests)) == (("finished", "passed"), 4)
    sides = found["testCases"][0]
    assert sides["candidate"] == sides["baseline"]
    assert found["candidate"]["fingerprint"] == found["baseline"]["fingerprint"]
