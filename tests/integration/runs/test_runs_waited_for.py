"""Callers that wait for runs have nothing of them in memory, however many wait."""

from __future__ import annotations

import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from app.actors import runs as actor
from app.models.runs import RunRow
from app.services.runs import RunCommand, RunService, StartedRun
from tests.integration.runs.asking import prompt
from tests.support.waiting import PATIENCE_S, wait_until
from tests.support.world import World

LOOK_S = 0.2


@pytest.fixture
def queued(world: World) -> StartedRun:
    """A run that no worker executes."""
    command = RunCommand(prompt_id=prompt(world), question="Who?")
    return world.container.services.runs.start(command, project_id=world.project_id)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The ids of the runs that were read."""
    read, get = list[int](), RunService.get

    def noting(service: RunService, *, project_id: int, run_id: int) -> RunRow:
        row = get(service, project_id=project_id, run_id=run_id)
        read.append(run_id)
        return row

    monkeypatch.setattr(RunService, "get", noting)
    return read


def in_memory(run_id: int) -> int:
    gc.collect()
    return sum(isinstance(row, RunRow) and row.id == run_id for row in gc.get_objects())


def test_a_caller_that_waits_does_not_keep_the_row(
    world: World, queued: StartedRun, looks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actor, "ROW_CHECK_S", LOOK_S)
    delivery = replace(world.container.run_delivery, wait_s=PATIENCE_S)
    check(world, queued.run_id, looks, lambda: delivery.finished(queued))


def test_a_follower_does_not_keep_the_row(world: World, queued: StartedRun, looks: list[int]) -> None:
    read = world.container.services.runs.get
    follower = replace(
        world.container.run_follower,
        read_run=lambda project_id, run_id: read(project_id=project_id, run_id=run_id),
        look_s=LOOK_S,
        wait_s=PATIENCE_S,
    )
    follow = follower.follow(project_id=world.project_id, run_id=queued.run_id)
    check(world, queued.run_id, looks, lambda: list(follow)[-1])


def check(world: World, run_id: int, looks: list[int], wait: Callable[[], RunRow]) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(wait)
        try:
            wait_until(lambda: len(looks) > 2, "the row to be read")
            wait_until(lambda: in_memory(run_id) == 0, "the row to be dropped", 10)
        finally:
            world.container.services.runs.ending.cancel_waiting(run_id)
        assert waiting.result().status == "cancelled"
