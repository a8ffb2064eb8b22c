"""A verdict applies again to the same texts, and is removed with what it is about."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from app.models.data_policies import DataPolicy
from app.models.known_verdicts import known_verdicts
from tests.fakes.judging import finding, is_question, judged
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.recording import THANKS, finished, make_case, prompt, record, replayed
from tests.support.world import World, new_world

PLAYED = Reply(text="My pleasure.")
JUDGED = judged("passed", findings=[finding("It is as polite.", matters=False)])
FAILED = judged("failed", findings=[finding("It promises too much.", produced="pleasure")])


@pytest.fixture
def asked(upstream: Upstream) -> Iterator[list[str]]:
    """Answer the draft and the judge; the list has the judge's questions."""
    questions: list[str] = []

    def reply(body: dict[str, Any]) -> Reply:
        if not is_question(body):
            return PLAYED
        questions.append(body["messages"][-1]["content"])
        return FAILED if "INSIST" in str(body) else JUDGED

    upstream.choose = reply
    yield questions
    upstream.choose = None


def case_of(world: World, **body: Any) -> dict[str, Any]:
    return make_case(world, record(world, prompt(world, **body), [THANKS]))


def step(replay: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = replay["turns"][0]["steps"][0]
    return found


def rows(world: World) -> list[Any]:
    with world.container.database.read() as connection:
        mine = select(known_verdicts).where(known_verdicts.c.project_id == world.project_id)
        return list(connection.execute(mine))


def test_a_judge_is_asked_once_about_the_same_texts(world: World, asked: list[str]) -> None:
    case = case_of(world)

    first, second = replayed(world, case["id"]), replayed(world, case["id"])

    assert (len(asked), len(rows(world))) == (1, 1)
    assert [(step(replay)["result"], step(replay)["decidedBy"]) for replay in (first, second)] == [
        ("passed", "judge"),
        ("passed", "known"),
    ]
    assert step(second)["findings"] == step(first)["findings"]
    assert "the judge accepted this text" in step(second)["reason"]
    assert second["judgeTokens"]["total"] == 0


def test_a_failure_is_known_with_its_findings(world: World, asked: list[str]) -> None:
    case = case_of(world, value="INSIST")

    first, second = replayed(world, case["id"]), replayed(world, case["id"])

    assert len(asked) == 1
    assert (second["status"], step(second)["decidedBy"]) == ("failed", "known")
    assert step(second)["findings"] == step(first)["findings"]
    assert "It promises too much." in step(second)["reason"]


def test_another_instruction_is_another_question(world: World, asked: list[str]) -> None:
    case = case_of(world)
    replayed(world, case["id"])
    world.patch(f"/api/v1/prompts/{case['promptId']}", json={"value": "Be brief."})

    assert step(replayed(world, case["id"]))["decidedBy"] == "judge"
    assert len(asked) == 2


def test_a_judges_verdict_is_forgotten_after_thirty_days(world: World, asked: list[str]) -> None:
    case = case_of(world)
    replayed(world, case["id"])
    with world.container.database.write() as connection:
        c = known_verdicts.c
        mine = update(known_verdicts).where(c.project_id == world.project_id)
        connection.execute(mine.values(created_at=rows(world)[0].created_at - timedelta(days=31)))

    assert step(replayed(world, case["id"]))["decidedBy"] == "judge"
    assert (len(asked), len(rows(world))) == (2, 1)


def test_a_persons_verdict_outweighs_the_judges_whatever_the_instruction_is(world: World, asked: list[str]) -> None:
    case = case_of(world)
    replay = replayed(world, case["id"])
    decided = world.patch(f"/api/v1/replays/{replay['id']}/steps/0", json={"verdict": "failed"})
    assert decided.json["status"] == "failed"
    world.patch(f"/api/v1/prompts/{case['promptId']}", json={"value": "Be brief."})

    again = replayed(world, case["id"])

    assert (again["status"], step(again)["decidedBy"], len(asked)) == ("failed", "known", 1)
    assert "a person refused this text" in step(again)["reason"]
    undone = world.patch(f"/api/v1/replays/{again['id']}/steps/0", json={"verdict": "passed"})
    assert undone.json["status"] == "passed"
    assert replayed(world, case["id"])["status"] == "passed"


def test_a_persons_verdict_is_known_without_a_judge(world: World, asked: list[str]) -> None:
    case = case_of(world)
    replay = replayed(world, case["id"], judge="never")
    assert (replay["status"], step(replay).get("digest")) == ("needs_review", None)
    world.patch(f"/api/v1/replays/{replay['id']}/steps/0", json={"verdict": "passed"})

    assert step(replayed(world, case["id"], judge="never"))["decidedBy"] == "known"
    assert asked == []


def test_a_verdict_is_known_in_its_test_case_only(world: World, asked: list[str]) -> None:
    session = record(world, prompt(world), [THANKS])
    for case in (make_case(world, session), make_case(world, session)):
        assert step(replayed(world, case["id"]))["decidedBy"] == "judge"
    other = new_world(world.container)
    other.container.services.models.sync_catalogue()

    assert len(asked) == 2
    assert rows(other) == []


def test_replays_at_the_same_time_store_one_verdict(world: World, asked: list[str]) -> None:
    case = case_of(world)
    path = f"/api/v1/test-cases/{case['id']}/replays"
    with ThreadPoolExecutor(4) as pool:
        ids = [answer.json["id"] for answer in pool.map(lambda _: world.post(path, json={}), range(4))]

    assert {finished(world, replay_id)["status"] for replay_id in ids} == {"passed"}
    assert len(rows(world)) == 1


def test_a_masked_text_is_not_remembered(world: World, asked: list[str]) -> None:
    policy = DataPolicy(masking=[{"kind": "pattern", "value": "pleasure"}])
    world.container.services.data_policies.put(project_id=world.project_id, policy=policy)
    case = case_of(world)

    for _ in range(2):
        replay = replayed(world, case["id"])
        assert step(replay)["decidedBy"] == "judge"
    world.patch(f"/api/v1/replays/{replay['id']}/steps/0", json={"verdict": "failed"})

    assert (len(asked), rows(world)) == (2, [])


def test_an_unmasked_text_is_remembered_in_a_project_with_rules(world: World, asked: list[str]) -> None:
    policy = DataPolicy(masking=[{"kind": "pattern", "value": "[0-9]{16}"}])
    world.container.services.data_policies.put(project_id=world.project_id, policy=policy)
    case = case_of(world)

    assert [step(replayed(world, case["id"]))["decidedBy"] for _ in range(2)] == ["judge", "known"]


@pytest.mark.parametrize("removed", ["test case", "prompt", "project"])
def test_a_verdict_is_removed_with_what_it_is_about(world: World, asked: list[str], removed: str) -> None:
    case = case_of(world)
    replayed(world, case["id"])
    assert len(rows(world)) == 1

    deletion = world.container.services.deletion
    if removed == "test case":
        assert world.delete(f"/api/v1/test-cases/{case['id']}").status_code == 204
    elif removed == "prompt":
        deletion.erase_prompt(project_id=world.project_id, prompt_id=case["promptId"])
    else:
        deletion.erase_project(project_id=world.project_id)

    assert rows(world) == []
