"""How a prompt's test cases do is read from its own replays, not from those of experiments and calibrations."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.upstream import Upstream
from tests.integration.replays.experimenting import PING, PONG, behave, case, changed_prompt, run, verdict
from tests.integration.replays.recording import prompt, replayed
from tests.support.waiting import wait_until
from tests.support.world import World

OVERLAY = {"value": "Be bad. Be quick."}


def trend(world: World, case_id: int) -> list[int]:
    """Return the ids of the replays that the page of test cases shows."""
    history = world.container.services.replay_history
    return [outcome.id for outcome in history.trends(test_case_ids=[case_id])[case_id]]


def last_run(world: World, prompt_id: int) -> list[int]:
    history = world.container.services.replay_history
    return [outcome.id for outcome in history.newest_batch(prompt_id=prompt_id)]


def passed(world: World, prompt_id: int) -> int:
    """Return the number of passed test cases in the table of prompts."""
    activity = world.container.services.overview.recent(project_id=world.project_id, prompt_ids=[prompt_id]).prompts
    return activity[prompt_id].passed


def batch(world: World, replay_id: int) -> list[Any]:
    """Return each replay of a batch with how its test case did the time before."""
    entries = world.container.services.replay_history.batch(project_id=world.project_id, replay_id=replay_id)
    return [(entry.row.id, entry.before) for entry in entries]


@pytest.fixture
def prompt_id(world: World) -> int:
    """Return a prompt with a test case and a draft that is no version."""
    return changed_prompt(world)


@pytest.fixture
def case_id(world: World, prompt_id: int) -> int:
    test_case: int = world.get(f"/api/v1/prompts/{prompt_id}/test-cases").json["testCases"][0]["id"]
    return test_case


def told(world: World, prompt_id: int, case_id: int) -> tuple[list[int], list[int], int]:
    return trend(world, case_id), last_run(world, prompt_id), passed(world, prompt_id)


@pytest.mark.parametrize("candidate", [None, OVERLAY])
def test_experiments_leave_the_test_cases_as_they_were(
    world: World, upstream: Upstream, prompt_id: int, case_id: int, candidate: Any
) -> None:
    behave(upstream, PING)
    own = replayed(world, case_id)["id"]
    assert told(world, prompt_id, case_id) == ([own], [own], 1)

    behave(upstream, PONG)
    asked = {} if candidate is None else {"candidate": candidate}
    gate = run(world, prompt_id, reuse=False, **asked)

    assert verdict(gate) == ("finished", "failed")
    assert told(world, prompt_id, case_id) == ([own], [own], 1)
    again = replayed(world, case_id)["id"]
    assert told(world, prompt_id, case_id) == ([own, again], [again], 0)
    assert batch(world, again) == [(again, "passed")]
    replay_id = gate["testCases"][0]["candidate"]["replayIds"][0]
    assert [id_ for id_, _ in batch(world, replay_id)] == [replay_id]


def test_a_prompt_with_only_replays_of_experiments_was_not_replayed(
    world: World, upstream: Upstream, prompt_id: int, case_id: int
) -> None:
    behave(upstream, PING)
    run(world, prompt_id)
    assert told(world, prompt_id, case_id) == ([], [], 0)


def test_a_replay_that_an_experiment_uses_again_counts_on(
    world: World, upstream: Upstream, prompt_id: int, case_id: int
) -> None:
    behave(upstream, PING)
    own = replayed(world, case_id)["id"]
    found = run(world, prompt_id)

    assert own in found["testCases"][0]["candidate"]["replayIds"]
    assert told(world, prompt_id, case_id) == ([own], [own], 1)


def test_calibrations_leave_the_test_cases_as_they_were(world: World, upstream: Upstream) -> None:
    prompt_id = prompt(world)
    case_id = case(world, prompt_id)
    upstream.choose = lambda _: PING
    own = replayed(world, case_id)["id"]

    upstream.choose = lambda _: PONG
    accepted = world.post(f"/api/v1/test-cases/{case_id}/calibrations", json={"repeats": 2})
    path = accepted.headers["Location"]
    wait_until(lambda: world.get(path).json["status"] == "finished", path)

    assert world.count("replays") == 3
    assert told(world, prompt_id, case_id) == ([own], [own], 1)


def test_a_replay_of_other_content_is_no_result_of_the_draft(
    world: World, upstream: Upstream, prompt_id: int, case_id: int
) -> None:
    behave(upstream, PONG)
    overlaid = replayed(world, case_id, candidate=OVERLAY)
    assert (overlaid["status"], told(world, prompt_id, case_id)) == ("failed", ([], [], 0))
    assert batch(world, overlaid["id"]) == [(overlaid["id"], None)]
