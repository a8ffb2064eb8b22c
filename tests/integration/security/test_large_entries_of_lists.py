"""Lists with entries of megabytes, of which a page once had two hundred, and batches of all of them at once."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select, update

from app.models.experiments import experiments
from app.models.replays import replays
from app.pagination import PAGE_BYTES
from app.services.replays import frozen
from bench.worst.rows import copy_row
from tests.integration.replays.recording import prompt
from tests.support.waiting import wait_until
from tests.support.world import World


def large_case(world: World, prompt_id: int, name: str, size: int = PAGE_BYTES // 3) -> int:
    turn = {"user": "x" * size, "steps": [{"kind": "answer", "text": "It is so."}]}
    body = {"format": "reprise.test-case/2", "name": name, "testCase": {"turns": [turn]}}
    imported = world.post(f"/api/v1/prompts/{prompt_id}/test-cases/import", json=body)
    assert imported.status_code == 201, imported.text
    test_case_id: int = imported.json["id"]
    return test_case_id


def pages(world: World, path: str, key: str) -> list[list[int]]:
    """Return the ids of the entries of each page, as large as a page may be."""
    listed, cursor = [], ""
    while True:
        page = world.get(f"{path}?limit=200{cursor}")
        assert page.status_code == 200, page.text
        assert len(page.text) < 2 * PAGE_BYTES
        listed.append([entry["id"] for entry in page.json[key]])
        if page.json["nextCursor"] is None:
            return listed
        cursor = f"&cursor={page.json['nextCursor']}"


def lengthened(world: World, table: Any, row_id: int, **values: Any) -> None:
    with world.container.database.write() as connection:
        connection.execute(update(table).where(table.c.id == row_id).values(**values))


def test_a_page_of_the_largest_test_cases_ends_early(world: World) -> None:
    prompt_id = prompt(world, "echo")
    ids = [large_case(world, prompt_id, f"case {number}") for number in range(5)]
    listed = pages(world, f"/api/v1/prompts/{prompt_id}/test-cases", "testCases")
    assert listed == [[ids[4], ids[3]], [ids[2], ids[1]], [ids[0]]]


def test_a_page_of_replays_with_long_violations_ends_early(world: World) -> None:
    prompt_id = prompt(world, "echo")
    test_case_id = large_case(world, prompt_id, "small", size=10)
    replay_id = world.post(f"/api/v1/test-cases/{test_case_id}/replays", json={}).json["id"]
    wait_until(lambda: world.get(f"/api/v1/replays/{replay_id}").json["finishedAt"], "the replay")
    violation = {
        "kind": "extra_write",
        "tool": "t",
        "turn": 0,
        "arguments": {"a": "x" * (PAGE_BYTES // 3)},
        "message": "m",
    }
    lengthened(world, replays, replay_id, violations=[violation])
    copy_row(world.container.database, "replays", replay_id, 4)
    listed = pages(world, f"/api/v1/prompts/{prompt_id}/replays", "replays")
    assert [len(page) for page in listed] == [2, 2, 1]


def test_a_page_of_experiments_with_long_violations_ends_early(world: World) -> None:
    prompt_id = prompt(world, "echo")
    test_case_id = large_case(world, prompt_id, "small", size=10)
    experiment_id = world.post(f"/api/v1/prompts/{prompt_id}/experiments", json={"detect": 0.9}).json["id"]
    path = f"/api/v1/experiments/{experiment_id}"
    wait_until(lambda: world.get(path).json["finishedAt"], path)
    violation = {
        "testCaseId": test_case_id,
        "replayId": 1,
        "kind": "extra_write",
        "tool": "t",
        "turn": 0,
        "message": "m",
    }
    long = violation | {"arguments": {"a": "x" * (PAGE_BYTES // 3)}}
    with world.container.database.read() as connection:
        summary: Any = connection.scalar(select(experiments.c.summary).where(experiments.c.id == experiment_id))
    lengthened(world, experiments, experiment_id, summary={**summary, "violations": [long]})
    copy_row(world.container.database, "experiments", experiment_id, 4)
    listed = pages(world, f"/api/v1/prompts/{prompt_id}/experiments", "experiments")
    assert [len(page) for page in listed] == [2, 2, 1]


@pytest.mark.parametrize("path", ["replays", "experiments"])
def test_a_batch_of_more_test_cases_than_one_request_reads_is_refused(
    world: World, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frozen, "DOCUMENTS_BYTES", 2 * 2**20)
    prompt_id = prompt(world, "echo")
    ids = [large_case(world, prompt_id, f"case {number}") for number in range(2)]

    refused = world.post(f"/api/v1/prompts/{prompt_id}/{path}", json={"testCaseIds": ids})

    assert refused.status_code == 400
    assert "more than 2 MiB together; name fewer at once" in refused.json["error"]
    assert world.count("replays") == 0
    few = world.post(f"/api/v1/prompts/{prompt_id}/{path}", json={"testCaseIds": ids[:1]})
    assert few.status_code == 202, few.text
