"""Long answers of one organization do not fill Redis, which all organizations need."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.models.data_policies import DataPolicy
from app.redis_store.keys import run_events, run_unmasked
from tests.integration.runs.asking import prompt
from tests.integration.runs.test_runs_streaming import events, follow, kinds, said, stream
from tests.support.world import World

LENGTH, RUNS = 100_000, 6
SECRET = "ada@example.org"


@pytest.fixture(autouse=True)
def room(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process keeps some 2 of the answers."""
    monkeypatch.setattr(world.container.services.runs.executor.live.kept, "most", 5 * LENGTH // 2)


def kept(world: World, key_of: Callable[[int], str], run_ids: list[int]) -> list[bool]:
    return [bool(world.container.redis.commands.exists(key_of(run_id))) for run_id in run_ids]


def test_the_oldest_streams_go_and_their_runs_still_have_whole_answers(world: World) -> None:
    questions = [str(number) * LENGTH for number in range(RUNS)]
    prompt_id = prompt(world)
    answers = [stream(world, prompt_id, question) for question in questions]

    assert [said(events(answer)) for answer in answers] == questions
    run_ids = [int(answer.headers["X-Run-Id"]) for answer in answers]
    assert kept(world, run_events, run_ids) == [False] * (RUNS - 2) + [True] * 2
    oldest, newest = follow(world, run_ids[0]), follow(world, run_ids[-1])
    assert events(oldest)[-1][2]["answer"] == questions[0]
    assert kinds(oldest) == ["done"]
    assert said(events(newest)) == questions[-1]


def test_the_oldest_originals_of_masked_answers_go(world: World) -> None:
    policy = DataPolicy(masking=[{"kind": "pattern", "value": SECRET}])
    world.container.services.data_policies.put(project_id=world.project_id, policy=policy)
    question, prompt_id = SECRET + "x" * LENGTH, prompt(world)
    body = {"id": prompt_id, "question": question, "productive": False}
    answers = [world.post("/api/v1/prompts/run", json=body) for _ in range(RUNS)]

    assert [answer.json["answer"] for answer in answers] == [question] * RUNS
    run_ids = [int(answer.headers["X-Run-Id"]) for answer in answers]
    originals = kept(world, run_unmasked, run_ids)
    assert originals[0] is False
    assert originals[-1] is True
    assert originals == sorted(originals)
