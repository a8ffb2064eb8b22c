"""Runs are read for the project that has them, and large ones few at a time: a short stored form may have megabytes."""

from __future__ import annotations

import json

import pytest

from app.concurrency import computing
from app.concurrency.computing import LARGE_TEXT, ComputingPlace
from app.concurrency.quotas import FairSemaphore, Quota
from app.errors import NotFound, Unavailable
from app.models import runs
from tests.integration.runs.asking import prompt, run
from tests.support.world import World, new_world


def made(world: World, question: str) -> int:
    answered = run(world, prompt(world), question)
    assert answered.status_code == 200, answered.text
    return int(answered.headers["X-Run-Id"])


def test_a_run_of_another_project_is_not_read(world: World) -> None:
    run_id, other = made(world, "x" * LARGE_TEXT), new_world(world.container)
    with world.container.database.read() as connection:
        stored = runs.find_stored(connection, [(other.project_id, run_id)])
    assert stored == {}
    with pytest.raises(NotFound):
        world.container.services.runs.get(project_id=other.project_id, run_id=run_id)


def test_a_large_run_is_read_when_the_request_has_its_place_and_a_small_one_at_once(world: World) -> None:
    # Each stored form has some hundred bytes.
    small, large = made(world, "small"), made(world, "x" * LARGE_TEXT)
    places, get = FairSemaphore(Quota(1, 1, 1)), world.container.services.runs.get
    with places.hold(0, wait_s=0):
        computing.offer(ComputingPlace(places, 1, wait_s=0))
        assert get(project_id=world.project_id, run_id=small).question == "small"
        with pytest.raises(Unavailable):
            get(project_id=world.project_id, run_id=large)
    computing.offer(ComputingPlace(places, 1, wait_s=30))
    assert get(project_id=world.project_id, run_id=large).question == "x" * LARGE_TEXT
    assert places._shares.taken == 1
    computing.finish()


@pytest.mark.parametrize("text", ["x", "\N{GRINNING FACE} and ", '{"a": [1, 2]}', "\u0301"])
def test_the_length_of_a_stored_run_is_that_of_its_texts(world: World, text: str) -> None:
    run_id = made(world, text * 3000)
    key = world.project_id, run_id
    with world.container.database.read() as connection:
        stored = runs.find_stored(connection, [key])[key]
        row = runs.find_run(connection, project_id=world.project_id, run_id=run_id)
    assert row is not None
    assert stored.opened() == row
    texts = len(row.question) + len(row.answer or "")
    assert texts < stored.length < 2 * len(json.dumps(world.get(f"/api/v1/runs/{run_id}").json))
