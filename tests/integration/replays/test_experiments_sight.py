"""An experiment passes only if its test cases could have shown a drop."""

from __future__ import annotations

from typing import Any

from sqlalchemy import update

from app.models.experiments import experiments
from tests.fakes.upstream import Upstream
from tests.integration.replays.experimenting import PING, PONG, behave, case, changed_prompt, run, verdict
from tests.integration.replays.recording import prompt
from tests.support.world import World


def test_a_quarter_of_failures_is_to_be_found_if_nothing_else_is_requested(world: World) -> None:
    prompt_id = prompt(world, model="echo")
    case(world, prompt_id)

    accepted = world.post(f"/api/v1/prompts/{prompt_id}/experiments", json={})

    found = world.get(accepted.headers["Location"]).json
    assert (found["detect"], found["repeats"], found["minSighted"]) == (0.25, {"min": 9, "max": 90}, 0.5)


def test_test_cases_that_the_baseline_never_passes_are_blind_and_too_many_of_them_decide_nothing(
    world: World, upstream: Upstream
) -> None:
    prompt_id = changed_prompt(world, cases=2)
    behave(upstream, PONG, version=PONG)

    found = run(world, prompt_id)

    assert verdict(found) == ("finished", "inconclusive")
    assert found["reason"] == "2 of 2 test cases pass too rarely with the baseline to show a drop."
    assert (found["blind"], found["sighted"], found["detectable"]) == (2, 0, None)
    assert [each["blind"] for each in found["testCases"]] == [True, True]
    # They are not played again: nothing that they could show would change the verdict.
    assert found["progress"] == {"done": 16, "total": 16}


def test_a_share_of_blind_test_cases_can_be_permitted_but_not_all(world: World, upstream: Upstream) -> None:
    prompt_id = changed_prompt(world, cases=2)
    case(world, prompt_id, "Pong?", answer="Pong")
    behave(upstream, PONG, version=PONG)

    refused = run(world, prompt_id)
    permitted = run(world, prompt_id, minSighted=0.3)
    none = run(world, prompt_id, minSighted=0, testCaseIds=[refused["testCases"][0]["testCaseId"]])

    assert [verdict(each)[1] for each in (refused, permitted, none)] == ["inconclusive", "passed", "inconclusive"]
    assert (permitted["blind"], permitted["sighted"]) == (2, 1)
    assert permitted["reason"] == "A step that fails more than 44 % of the time would have shown."


def test_a_draft_that_mends_what_the_version_never_passes_may_pass(world: World, upstream: Upstream) -> None:
    prompt_id = changed_prompt(world)
    behave(upstream, PING, version=PONG)

    found = run(world, prompt_id)

    assert (verdict(found), found["classes"]) == (("finished", "passed"), {"improved": 1})
    assert (found["blind"], found["sighted"], found["detectable"]) == (1, 1, None)


def test_replays_that_need_review_pass_nothing_and_the_reason_counts_them(world: World, upstream: Upstream) -> None:
    prompt_id = changed_prompt(world)
    (test_case,) = world.get(f"/api/v1/prompts/{prompt_id}/test-cases").json["testCases"]
    manual: dict[str, Any] = {"steps": [{"turn": 0, "step": 0, "check": {"answer": "manual"}}]}
    changed = world.patch(f"/api/v1/test-cases/{test_case['id']}", json=manual)
    assert changed.status_code == 200, changed.text
    behave(upstream, PING)

    found = run(world, prompt_id)

    assert verdict(found) == ("finished", "inconclusive")
    assert found["reason"].endswith("to show a drop (8 replays need review).")
    assert found["testCases"][0]["class"] == "undecided"
    assert [found["testCases"][0][side]["undecided"] for side in ("candidate", "baseline")] == [4, 4]


def test_an_experiment_of_an_earlier_release_is_read_without_what_it_did_not_store(
    world: World, upstream: Upstream
) -> None:
    prompt_id = changed_prompt(world)
    behave(upstream, PING)
    found = run(world, prompt_id)
    with world.container.database.write() as connection:
        stored = experiments.c.id == found["id"]
        row = connection.execute(experiments.select().where(stored)).mappings().one()
        summary = {name: value for name, value in row["summary"].items() if name not in ("blind", "sighted")}
        result = {**row["result"], "testCases": [_earlier(each) for each in row["result"]["testCases"]]}
        design = {name: value for name, value in row["design"].items() if name != "minSighted"}
        connection.execute(update(experiments).where(stored).values(summary=summary, result=result, design=design))

    read = world.get(f"/api/v1/experiments/{found['id']}").json

    assert (read["blind"], read["sighted"], read["minSighted"]) == (0, None, 0)
    without = {"blind", "sighted", "minSighted"}
    assert {name: value for name, value in read.items() if name not in without} == {
        name: value for name, value in found.items() if name not in without
    }


def _earlier(test_case: dict[str, Any]) -> dict[str, Any]:
    """Return the findings of a test case as an earlier release stored them."""
    sides = {side: _without(test_case[side], "undecided") for side in ("candidate", "baseline")}
    return _without(test_case, "blind") | sides


def _without(stored: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in stored.items() if key != name}
