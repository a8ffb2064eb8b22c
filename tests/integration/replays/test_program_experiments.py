"""Experiments over a program over the API: who gets its replays, what is refused, and what ends it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from reprise_formats.experiment_report import markdown

from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.experimenting import ended
from tests.integration.replays.recording import HOT
from tests.integration.replays.test_programs_api import ASKS, CANDIDATE, HOT_TEXT, Program, case_of, play
from tests.support.waiting import wait_until
from tests.support.world import World, beside

EARLIER = {"external": {"name": "concierge", "revision": "r1"}}


def start(world: World, case: dict[str, Any], repeats: int = 2, **body: Any) -> str:
    body = {"candidate": CANDIDATE, "repeats": {"min": repeats, "max": repeats}, **body}
    started = world.post(f"/api/v1/prompts/{case['promptId']}/experiments", json=body)
    assert started.status_code == 202, started.text
    path: str = started.headers["Location"]
    audits = f"/api/v1/prompts/{case['promptId']}/judge-audits"
    wait_until(lambda: all(audit["finishedAt"] for audit in world.get(audits).json["judgeAudits"]), "the audit")
    return path


def answers(upstream: Upstream, city: str = "Rome") -> None:
    def choose(body: dict[str, Any]) -> Reply:
        if body["messages"][-1]["role"] == "tool":
            return HOT_TEXT
        return Reply(tool_calls=[("weather", {"city": city})])

    upstream.choose = choose


def play_all(world: World, path: str) -> dict[str, Any]:
    """Play all replays that await the program, as one copy of it does, until the experiment has ended."""
    while True:
        given = world.post(f"{path}/program-replays")
        if given.status_code == 204:
            if world.get(path).json["finishedAt"]:
                return ended(world, path)
            continue
        play(world, f"/api/v1/replays/{given.json['id']}", Program(world, given.json["token"]))


def test_each_replay_is_given_to_one_copy_of_the_program(world: World, upstream: Upstream) -> None:
    path = start(world, case_of(world, HOT), repeats=6)

    with ThreadPoolExecutor(4) as pool:
        given = list(pool.map(lambda _: world.post(f"{path}/program-replays"), range(9)))

    ids = [answer.json["id"] for answer in given if answer.status_code == 200]
    assert (len(ids), len(set(ids))) == (6, 6), [answer.text for answer in given]
    assert sorted(answer.status_code for answer in given) == [200] * 6 + [204] * 3


def test_the_next_turn_of_a_replay_that_awaits_its_program_is_refused(world: World, upstream: Upstream) -> None:
    case = case_of(world, HOT)
    start(world, case)
    waiting = world.get(f"/api/v1/prompts/{case['promptId']}/replays").json["replays"][0]["id"]

    refused = world.post(f"/api/v1/replays/{waiting}/turns")

    assert (refused.status_code, refused.json["error"]) == (
        409,
        "The replay is not one that a program plays now: queued.",
    )


def test_earlier_results_of_a_revision_are_the_baseline(world: World, upstream: Upstream) -> None:
    case = case_of(world, HOT)
    answers(upstream)
    first = play_all(world, start(world, case, candidate=EARLIER))
    assert (first["verdict"], first["baseline"]) == ("passed", None)

    second = play_all(world, start(world, case, repeats=2, reuse=False))

    assert second["verdict"] == "passed"
    assert second["baseline"]["external"] == {"name": "concierge", "revision": "r1", "dirty": False}
    assert second["testCases"][0]["baseline"]["replayIds"] == first["testCases"][0]["candidate"]["replayIds"]


def test_a_revision_is_no_markup_in_a_comment(world: World, upstream: Upstream) -> None:
    case = case_of(world, HOT)
    answers(upstream)
    revision = "@octo-org/everybody <img src=x> [free](https://evil.example)"
    play_all(world, start(world, case, candidate={"external": {"name": "concierge", "revision": revision}}))

    text = markdown(play_all(world, start(world, case, reuse=False)))

    assert "octo-org" in text
    assert [markup for markup in ("<img", "@octo", "[free]") if markup in text] == []


def test_a_dirty_revision_is_no_baseline(world: World, upstream: Upstream) -> None:
    case = case_of(world, HOT)
    answers(upstream)
    dirty = {"external": {**EARLIER["external"], "dirty": True}}
    assert play_all(world, start(world, case, candidate=dirty))["verdict"] == "passed"

    assert world.get(start(world, case)).json["baseline"] is None


def test_a_baseline_with_too_few_results_is_not_chosen(world: World, upstream: Upstream) -> None:
    case = case_of(world, HOT)
    answers(upstream)
    play_all(world, start(world, case, candidate=EARLIER))

    assert world.get(start(world, case, repeats=3)).json["baseline"] is None
    named = {"candidate": CANDIDATE, "baseline": EARLIER, "repeats": {"min": 3}}
    refused = world.post(f"/api/v1/prompts/{case['promptId']}/experiments", json=named)
    assert (refused.status_code, "has 2 results" in refused.json["error"]) == (400, True), refused.text
    forecast = {"candidate": CANDIDATE, "baseline": EARLIER, "repeats": {"min": 2}}
    counted = world.post(f"/api/v1/prompts/{case['promptId']}/experiments/forecast", json=forecast)
    assert counted.json["repeats"] == {"min": 2, "max": 2}, counted.text
    assert counted.json["replays"] == {"min": 2, "max": 2}


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"candidate": CANDIDATE, "baseline": {"commitHash": "a" * 40}}, "baseline: Must be a program"),
        ({"baseline": EARLIER}, "baseline: Must not be a program"),
        ({"candidate": CANDIDATE, "languageModelNames": ["gpt-4o"]}, "languageModelNames: Must be empty"),
        ({"candidate": CANDIDATE, "baseline": CANDIDATE}, "baseline: The candidate has this revision, too"),
        (
            {"candidate": CANDIDATE, "baseline": {"external": {**EARLIER["external"], "dirty": True}}},
            "baseline.external.dirty",
        ),
        ({"candidate": {"external": {"name": "concierge"}}}, "candidate.external.revision"),
    ],
)
def test_sides_that_do_not_fit_are_refused(world: World, body: dict[str, Any], error: str) -> None:
    case = case_of(world, HOT)

    refused = world.post(f"/api/v1/prompts/{case['promptId']}/experiments", json=body)

    assert (refused.status_code, error in refused.json["error"]) == (400, True), refused.text


def test_an_experiment_over_a_text_gives_no_replay_to_a_program(world: World, upstream: Upstream) -> None:
    upstream.script(ASKS, HOT_TEXT)
    case = case_of(world, HOT)
    started = world.post(f"/api/v1/prompts/{case['promptId']}/experiments", json={"repeats": {"min": 1, "max": 1}})

    refused = world.post(f"{started.headers['Location']}/program-replays")

    assert (refused.status_code, "no program plays" in refused.json["error"]) == (409, True), refused.text


def test_a_cancelled_experiment_gives_no_replay(world: World, upstream: Upstream) -> None:
    path = start(world, case_of(world, HOT))
    world.post(f"{path}/cancel")

    assert world.post(f"{path}/program-replays").status_code == 204


def test_an_experiment_that_no_program_plays_is_cancelled_after_an_hour(world: World, upstream: Upstream) -> None:
    path = start(world, case_of(world, HOT))
    world.container.services.program_experiments.sweep()
    assert world.get(path).json["status"] == "running"

    late = beside(world.container, now=lambda: world.container.now() + timedelta(hours=2))
    late.services.program_experiments.sweep()

    experiment = world.get(path).json
    assert (experiment["status"], experiment["reason"]) == (
        "cancelled",
        "Its program asked for no replay within an hour.",
    )


def test_no_call_is_paid_after_the_experiments_cost_has_reached_its_limit(world: World, upstream: Upstream) -> None:
    upstream.choose = lambda body: Reply(text="Hot " * 200)
    path = start(world, case_of(world, HOT), repeats=6, maxCost=0.0000001)
    given = [world.post(f"{path}/program-replays").json for _ in range(2)]
    statuses = []
    for replay in given:
        assert world.post(f"/api/v1/replays/{replay['id']}/turns").status_code == 200
        program = Program(world, replay["token"])
        statuses.append([program.fork(f"Question {number}") for number in range(3)])

    assert [[answer.status_code for answer in of_one] for of_one in statuses] == [[200, 400, 409], [400, 409, 409]]
    assert "The experiment's cost reached $1e-07." in statuses[0][1].text
    assert sum("Question" in str(request.body["messages"]) for request in upstream.requests) == 1
    assert world.post(f"{path}/program-replays").status_code == 204
    replay = world.get(f"/api/v1/replays/{given[0]['id']}").json
    assert (replay["status"], replay["error"]) == ("cancelled", "The experiment's cost reached $1e-07.")
    world.container.experiment_delivery.sweep()
    experiment = ended(world, path)
    assert (experiment["status"], experiment["verdict"]) == ("finished", "inconclusive")
    assert "the cost reached" in experiment["reason"]
