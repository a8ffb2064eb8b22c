"""A worker's runs are kept young for as long as it works on them, and no longer."""

import threading

from app.services.runs import RunCommand
from app.services.runs.claims import RUN_WORK
from app.work.heartbeat import Heartbeat
from tests.integration.runs.asking import prompt
from tests.support.waiting import wait_until

TOKEN = "mine"


def claimed(world, token=TOKEN) -> int:
    command = RunCommand(prompt_id=prompt(world), question="q")
    run_id = world.container.services.runs.start(command, project_id=world.project_id).run_id
    with world.container.database.write() as connection:
        RUN_WORK.claim(connection, [run_id], token=token, now=world.container.now())
    return run_id


def alive_at(world, run_id):
    with world.container.database.read() as connection:
        return next((c.alive_at for c in RUN_WORK.list_claims(connection) if c.row_id == run_id), None)


def heartbeat(world):
    return Heartbeat(database=world.container.database, now=world.container.now, table=RUN_WORK, every_s=0.02)


def beating():
    return [thread for thread in threading.enumerate() if thread.name == "heartbeat"]


def test_a_run_in_work_moves_again_and_again(world):
    run_id = claimed(world)
    with heartbeat(world).of(run_id, TOKEN):
        for _ in range(3):
            before = alive_at(world, run_id)
            wait_until(lambda before=before: alive_at(world, run_id) != before, "a beat")


def test_another_workers_claim_is_not_touched(world):
    run_id, other = claimed(world), claimed(world, "theirs")
    before = alive_at(world, other)
    beats = heartbeat(world)
    with beats.of(other, "not its token"), beats.of(run_id, TOKEN):
        first = alive_at(world, run_id)
        wait_until(lambda: alive_at(world, run_id) != first, "a beat")
        assert alive_at(world, other) == before


def test_the_thread_ends_with_the_last_run_and_comes_back_with_the_next(world):
    run_id = claimed(world)
    beats = heartbeat(world)
    others = set(beating())  # a worker that an earlier test left behind may still be at work
    for _ in range(2):
        with beats.of(run_id, TOKEN):
            (thread,) = set(beating()) - others
        wait_until(lambda thread=thread: not thread.is_alive(), "the end of the thread")
