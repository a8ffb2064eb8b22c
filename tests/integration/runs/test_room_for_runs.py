"""Large runs that a worker executes at once have a bound of memory together, and wait for it without failing."""

from __future__ import annotations

import threading
from base64 import b64encode
from dataclasses import replace

import pytest

from app.concurrency.quotas import FairSemaphore, NoFreePlace, Quota
from app.models import runs
from app.models.data_policies import DataPolicy
from app.services.runs import RunCommand, RunService, memory
from app.services.runs.new_runs import TOGETHER_MAX
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.runs.asking import prompt, record, run
from tests.support.waiting import wait_until
from tests.support.world import World

LARGE = "x" * TOGETHER_MAX
LATER = {"Prefer": "respond-async"}
MODEL = "gpt-4o-mini"


@pytest.fixture
def semaphore(world: World, monkeypatch: pytest.MonkeyPatch) -> FairSemaphore:
    """Let the world's worker have room for a single large run; further tests have the same world."""
    only = FairSemaphore(Quota(1, 1, 1))
    monkeypatch.setattr(world.container.services.runs.memory, "_semaphore", only)
    return only


@pytest.fixture
def service(world: World) -> RunService:
    return world.container.services.runs


def not_sent(world: World, question: str = LARGE) -> int:
    """Make a run without a message, and return its id."""
    command = RunCommand(prompt_id=prompt(world), question=question)
    return world.container.services.runs.start(command, project_id=world.project_id).run_id


def status(world: World, run_id: int) -> str:
    shown: str = world.get(f"/api/v1/runs/{run_id}").json["status"]
    return shown


def test_a_large_run_waits_until_another_one_has_ended_and_a_small_one_does_not(
    world: World, upstream: Upstream, semaphore: FairSemaphore
) -> None:
    answer = threading.Event()
    upstream.script(Reply(text="Yes.", held=answer), Reply(text="Yes."))
    asked = prompt(world, model=MODEL)
    first = run(world, asked, LARGE, headers=LATER).json["id"]
    wait_until(lambda: len(upstream.requests) == 1, "the first run calls its model")
    encoded = b64encode(LARGE.encode()).decode()
    file = {"fileName": "a.txt", "contentType": "text/plain", "base64": encoded}
    second = run(world, asked, "Short?", headers=LATER, files=[file]).json["id"]
    wait_until(lambda: semaphore._lines, "the second run waits")

    assert run(world, prompt(world), "Small?").json["answer"] == "Small?"
    assert (status(world, first), status(world, second)) == ("running", "queued")
    answer.set()
    wait_until(lambda: status(world, second) == "done", "the second run")
    assert status(world, first) == "done"
    wait_until(lambda: semaphore._shares.taken == 0, "the worker has given the memory back")


def test_a_run_without_room_goes_back_to_the_queue(
    world: World, semaphore: FairSemaphore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "WAIT_S", 0.0)
    refused, execute_large = list[int](), RunService.execute_large

    def noting(service: RunService, run_id: int) -> bool:
        executed = execute_large(service, run_id)
        refused.extend([] if executed else [run_id])
        return executed

    monkeypatch.setattr(RunService, "execute_large", noting)
    with semaphore.hold(0, wait_s=0):
        sent = run(world, prompt(world), LARGE, headers=LATER).json["id"]
        wait_until(lambda: refused.count(sent) > 1, "the message comes back")
        assert status(world, sent) == "queued"
    wait_until(lambda: status(world, sent) == "done", "the run")


def test_a_large_run_that_waits_for_room_is_not_claimed_by_a_process_that_ends(
    world: World, service: RunService, semaphore: FairSemaphore
) -> None:
    run_id = not_sent(world)
    ending = replace(service.memory, stopping=lambda: True)
    ending._semaphore = semaphore
    with semaphore.hold(0, wait_s=0), pytest.raises(NoFreePlace), ending.hold(run_id):
        pass
    assert status(world, run_id) == "queued"


def test_a_run_that_is_sent_again_is_measured(world: World, semaphore: FairSemaphore) -> None:
    """The clock does not know its size."""
    run_id = not_sent(world)
    delivery = replace(world.container.run_delivery, runs=Swept(run_id))
    with semaphore.hold(0, wait_s=0):
        delivery.sweep()
        wait_until(lambda: semaphore._lines, "the run waits")
        assert status(world, run_id) == "queued"
    wait_until(lambda: status(world, run_id) == "done", "the run")


class Swept:
    """A service of which the sweeper returns one run."""

    def __init__(self, run_id: int) -> None:
        self.sweeper = self
        self._run_id = run_id

    def sweep(self) -> list[int]:
        return [self._run_id]


def test_the_size_has_the_files_and_the_texts(world: World) -> None:
    file = {"fileName": "a.txt", "contentType": "text/plain", "base64": b64encode(b"x" * 100_000).decode()}
    answer = run(world, prompt(world), "y" * 30_000, files=[file])
    with world.container.database.read() as connection:
        (row,) = runs.find_runs(connection, run_ids=[record(world, answer)["id"]])
    assert 130_000 < memory.size_of(row) < 135_000


def test_what_is_sealed_counts_twice(world: World) -> None:
    policy = DataPolicy(masking=[{"kind": "pattern", "value": "secret"}])
    open_id = not_sent(world)
    world.container.services.data_policies.put(project_id=world.project_id, policy=policy)
    sealed_id = not_sent(world)
    with world.container.database.read() as connection:
        rows = {row.id: row for row in runs.find_runs(connection, run_ids=[open_id, sealed_id])}
    assert rows[sealed_id].request.sealed
    assert memory.size_of(rows[sealed_id]) > 1.9 * memory.size_of(rows[open_id])
