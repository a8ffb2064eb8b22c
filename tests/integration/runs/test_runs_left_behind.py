"""The caller of a run that its worker left behind gets its end at once, and the run is counted under its model."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import redis

from app.chat import StreamEvent
from app.metrics.registry import RUNS
from app.models import runs as run_rows
from app.services.runs import RunCommand, StartedRun
from app.services.runs.claims import RUN_WORK
from app.services.runs.sweeper import RunSweeper
from tests.integration.runs.asking import prompt, run
from tests.support.counting import Since
from tests.support.sweeping import sweep_runs
from tests.support.waiting import PATIENCE_S, wait_until

# No other test runs it: runs that earlier tests left behind are swept here too, and counted under their models.
MODEL = "gpt-4.1-mini"


@pytest.fixture
def service(world):
    return world.container.services.runs


def begun(world, **fields) -> StartedRun:
    """Make a run that a worker claimed before it died."""
    run_ = queued(world, **fields)
    with world.container.database.write() as connection:
        RUN_WORK.claim(connection, [run_.run_id], token="dead", now=world.container.now())
    return run_


def queued(world, **fields) -> StartedRun:
    command = RunCommand(prompt_id=prompt(world, model=MODEL), question="Who?", **fields)
    return world.container.services.runs.start(command, project_id=world.project_id)


def test_a_follower_of_a_run_gets_its_end_although_its_worker_can_not_send_it(world, service):
    run_ = begun(world, stream=True)
    with service.executor.live.of(run_.run_id) as note:
        note(StreamEvent("token", "I am"))
    looks = []

    def read_run(project_id, run_id):
        looks.append(run_id)
        return service.get(project_id=project_id, run_id=run_id)

    follower = replace(world.container.run_follower, read_run=read_run, look_s=PATIENCE_S)
    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(list, follower.follow(project_id=world.project_id, run_id=run_.run_id))
        wait_until(lambda: looks, "the follower to find the run in work")
        sweep_runs(world)
        *pieces, end = following.result(timeout=120)

    assert end.error_kind == "interrupted"
    assert None not in pieces, "the end was published; the follower did not have to look for it"


def test_a_caller_that_waits_for_a_run_learns_that_it_was_interrupted(world, service):
    run_ = begun(world)
    service.ending.completions.listen()
    sweep_runs(world)

    assert service.ending.completions.wait(run_.run_id, timeout_s=120)


def test_a_run_that_was_interrupted_is_counted_under_its_model(world):
    counted = Since(world, RUNS)
    begun(world)
    sweep_runs(world)

    assert counted.moved(MODEL) == {(MODEL, "interrupted"): 1}


def test_a_run_that_no_worker_started_is_counted_under_its_model(world):
    run_ = queued(world)
    counted = Since(world, RUNS)
    table = run_rows.runs
    with world.container.database.write() as connection:
        made = world.container.now() - 2 * RunSweeper.expires_after
        connection.execute(table.update().where(table.c.id == run_.run_id).values(created_at=made))
    sweep_runs(world, 90)

    assert counted.moved(MODEL) == {(MODEL, "not_started"): 1}


def test_a_run_that_could_not_be_sent_is_counted(world, monkeypatch):
    def away(_message):
        raise redis.ConnectionError("away")

    counted = Since(world, RUNS)
    monkeypatch.setattr(world.container.broker, "enqueue", away)

    assert run(world, prompt(world, model=MODEL)).status_code == 503
    assert counted.moved(MODEL) == {(MODEL, "not_started"): 1}
