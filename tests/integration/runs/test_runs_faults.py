"""Workers die, messages come twice or never, Redis is away: no run is lost and none is answered twice."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest
import redis

from app.errors import Unavailable, WaitTimeout
from app.models import runs as run_rows
from app.services.runs import RunCommand, StartedRun
from app.services.runs.claims import RUN_WORK
from app.services.runs.sweeper import RunSweeper
from app.work.heartbeat import Patience
from app.work.sweeper import DOUBT_S
from tests.fakes.wire import Reply
from tests.integration.runs.asking import prompt, record, run
from tests.support.sweeping import ROUND_S, Clock, run_sweeper, sweep_for, sweep_runs
from tests.support.waiting import wait_until

QUESTION = "Where is order 7?"


@pytest.fixture
def service(world):
    return world.container.services.runs


def started(world, **fields) -> StartedRun:
    """A run that is committed and was never sent."""
    command = RunCommand(prompt_id=prompt(world, **fields), question=QUESTION)
    return world.container.services.runs.start(command, project_id=world.project_id)


def status(world, run_id):
    return world.get(f"/api/v1/runs/{run_id}").json["status"]


def claim(world, run_id, token="dead"):
    with world.container.database.write() as connection:
        RUN_WORK.claim(connection, [run_id], token=token, now=world.container.now())
        return run_rows.find_claimed(connection, run_ids=[run_id], token=token)


def sweep_until_interrupted(world, run_id):
    """Of a worker that is alive, as one of this process is: each of its heartbeats gives it its time again."""

    def interrupted():
        sweep_runs(world)
        return status(world, run_id) == "failed"

    wait_until(interrupted, "the interruption")


def make_older(world, run_id, by_s):
    table = run_rows.runs
    with world.container.database.write() as connection:
        created_at = world.container.now() - by_s
        connection.execute(table.update().where(table.c.id == run_id).values(created_at=created_at))


def test_of_runs_claimed_together_each_goes_to_one_message_and_none_to_who_comes_late(world, service):
    first, taken, last = (started(world).run_id for _ in range(3))
    claim(world, taken)
    claims = service.executor.claims

    claimed = claims.claim_all([last, taken, first, last, first + 10_000])

    assert [got and got[0].id for got in claimed] == [last, None, first, None, None]
    assert [got[1].row_id for got in claimed if got] == [last, first]
    assert {status(world, run_id) for run_id in (first, taken, last)} == {"running"}
    assert claims.claim_all([first, taken, last]) == [None] * 3


def test_a_message_that_comes_twice_makes_one_call(world, service, upstream):
    answer = threading.Event()
    upstream.script(Reply(text="once", held=answer))
    run_id = started(world, model="gpt-4o-mini").run_id
    with ThreadPoolExecutor(8) as pool:
        executions = [pool.submit(service.execute, run_id) for _ in range(8)]
        wait_until(lambda: sum(one.done() for one in executions) == 7, "all but the one that calls")
        answer.set()

    assert len(upstream.requests) == 1
    assert status(world, run_id) == "done"


def test_its_actor_gives_dramatiq_nothing_to_warn_of(world, container):
    """Dramatiq writes a line to the log for a result that is not stored, for each run."""
    run_id = started(world).run_id

    assert container.actors.run_prompt(run_id) is None
    assert status(world, run_id) == "done"


def test_a_run_that_another_worker_claimed_is_not_called_again(world, service, upstream):
    run_id = started(world, model="gpt-4o-mini").run_id
    claim(world, run_id)

    assert service.execute(run_id) is False
    assert upstream.requests == []
    assert status(world, run_id) == "running"


def test_a_run_of_a_dead_worker_is_shown_as_interrupted(world):
    run_id = started(world).run_id
    claim(world, run_id)
    clock = Clock()
    clock_process = run_sweeper(world, clock)
    clock_process.sweep()
    sweep_for(clock_process, clock, RunSweeper.stale_s - ROUND_S)
    assert status(world, run_id) == "running"
    sweep_for(clock_process, clock, ROUND_S)

    found = world.get(f"/api/v1/runs/{run_id}").json
    assert (found["status"], found["error"]["kind"]) == ("failed", "interrupted")
    assert found["finishedAt"]


def test_a_worker_that_beats_keeps_its_run(world):
    run_id = started(world).run_id
    claim(world, run_id, "alive")
    clock = Clock()
    clock_process = run_sweeper(world, clock)
    clock_process.sweep()
    for _ in range(3):
        sweep_for(clock_process, clock, RunSweeper.stale_s - ROUND_S)
        with world.container.database.write() as connection:
            table = run_rows.runs
            moved = world.container.now().replace(microsecond=int(clock.at) * 1000)
            connection.execute(table.update().where(table.c.id == run_id).values(alive_at=moved))

    assert status(world, run_id) == "running"


def test_two_clocks_do_not_share_their_impatience(world):
    run_id = started(world).run_id
    claim(world, run_id)
    clock = Clock()
    sweep_for(run_sweeper(world, clock), clock, RunSweeper.stale_s)
    sweep_for(run_sweeper(world, clock), clock, RunSweeper.stale_s)

    assert status(world, run_id) == "running"


def test_an_answer_after_the_interruption_changes_nothing(world, upstream, service):
    answer = threading.Event()
    upstream.script(Reply(text="too late", held=answer))
    run_id = started(world, model="gpt-4o-mini").run_id
    worker = threading.Thread(target=service.execute, args=(run_id,))
    worker.start()
    wait_until(lambda: status(world, run_id) == "running", "the claim")
    sweep_until_interrupted(world, run_id)
    answer.set()
    worker.join()

    found = world.get(f"/api/v1/runs/{run_id}").json
    assert (found["status"], found["answer"]) == ("failed", None)


def test_an_outage_of_the_database_interrupts_no_run(world):
    run_id = started(world).run_id
    claim(world, run_id)
    clock = Clock()
    clock_process = run_sweeper(world, clock)
    clock_process.sweep()
    clock.at += 10 * RunSweeper.stale_s
    clock_process.sweep()

    assert status(world, run_id) == "running", "its worker had no time to beat again"


def test_a_clock_that_begins_sends_for_all_that_wait(world, container):
    run_id = started(world).run_id
    for waiting in run_sweeper(world, Clock()).sweep():
        container.broker.enqueue(container.actors.run_prompt.message(waiting))

    wait_until(lambda: status(world, run_id) == "done", "the run")


def test_a_run_in_a_long_queue_is_sent_again_at_doubled_ages(world):
    clock = Clock()
    clock_process = run_sweeper(world, clock)
    clock_process.sweep()
    run_id = started(world).run_id
    clock_process.sweep()

    assert [at for at, sent in sweep_for(clock_process, clock, 100).items() if run_id in sent] == [10, 20, 40, 80]


def test_a_run_that_no_worker_starts_within_an_hour_fails(world):
    run_id = started(world).run_id
    make_older(world, run_id, RunSweeper.expires_after + timedelta(seconds=1))
    clock = Clock()
    clock_process = run_sweeper(world, clock)

    assert run_id not in clock_process.sweep()
    assert status(world, run_id) == "queued", "its maker's clock may have been wrong"
    assert not any(run_id in sent for sent in sweep_for(clock_process, clock, DOUBT_S).values())
    assert world.get(f"/api/v1/runs/{run_id}").json["error"]["kind"] == "not_started"


@pytest.mark.parametrize(
    ("begun", "jump"),
    [(timedelta(0), timedelta(hours=-1)), (timedelta(0), timedelta(days=1)), (timedelta(days=1), timedelta(0))],
)
def test_a_clock_that_jumps_ends_no_run(world, service, begun, jump):
    jumps = iter([begun])
    clock = Clock()
    clock_process = replace(run_sweeper(world, clock), now=lambda: world.container.now() + next(jumps, jump))
    queued, running = started(world).run_id, started(world).run_id
    clock_process.sweep()
    sent = sweep_for(clock_process, clock, 2 * DOUBT_S)
    claim(world, running)
    clock_process.sweep()

    assert [at for at, ids in sent.items() if queued in ids][:2] == [10, 20]
    assert (status(world, queued), status(world, running)) == ("queued", "running")
    assert service.execute(queued)


def test_a_run_that_could_not_be_sent_is_never_executed_and_frees_its_key(world, container, monkeypatch, upstream):
    prompt_id = prompt(world, model="gpt-4o-mini")
    headers = {"Idempotency-Key": "k"}
    with monkeypatch.context() as patch:
        patch.setattr(container.broker, "enqueue", _redis_away)
        answer = run(world, prompt_id, headers=headers)

    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "1"
    assert record(world, answer)["error"]["kind"] == "not_started"
    container.services.runs.execute(int(answer.headers["X-Run-Id"]))
    assert upstream.requests == []
    again = run(world, prompt_id, headers=headers)
    assert again.status_code == 200
    assert again.headers["X-Run-Id"] != answer.headers["X-Run-Id"]


def test_a_message_that_got_through_although_redis_reported_a_fault_is_waited_for(world, container, monkeypatch):
    enqueue = container.broker.enqueue

    def unsure(message):
        enqueue(message)
        wait_until(lambda: world.count("runs") and status(world, _newest(world)) != "queued", "the claim")
        _redis_away(message)

    monkeypatch.setattr(container.broker, "enqueue", unsure)
    assert run(world, prompt(world)).status_code == 200


def test_a_waiting_caller_learns_that_the_run_was_interrupted(world, container, service):
    run_ = started(world)
    claim(world, run_.run_id)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(container.run_delivery.finished, run_)
        sweep_runs(world)
        # The dead worker's message is delivered to another one.
        container.broker.enqueue(container.actors.run_prompt.message(run_.run_id).copy(message_id=f"run-{run_.run_id}"))
        assert waiting.result(timeout=120).error_kind == "interrupted"


def test_a_caller_who_waited_too_long_learns_where_the_run_goes_on(world, container):
    run_ = started(world)
    delivery = container.run_delivery
    impatient = type(delivery)(
        broker=container.broker,
        actor=container.actors.run_prompt,
        runs=container.services.runs,
        owners=container.services.owners,
        wait_s=1,
    )
    with pytest.raises(WaitTimeout, match=f"/api/v1/runs/{run_.run_id}"):
        impatient.finished(run_)
    assert status(world, run_.run_id) == "queued"


def test_a_draft_that_changes_after_the_acceptance_changes_nothing(world, service):
    draft = world.prompt()
    command = RunCommand(prompt_id=draft, question=QUESTION, productive=False)
    run_id = service.start(command, project_id=world.project_id).run_id
    world.patch(f"/api/v1/prompts/{draft}", json={"value": "Something else"})
    world.delete(f"/api/v1/prompts/{draft}")
    service.execute(run_id)

    assert "Be helpful." in world.get(f"/api/v1/runs/{run_id}").json["instruction"]


def test_a_bug_while_a_run_is_executed_leaves_it_failed(world, service):
    class Broken:
        def complete(self, request):
            raise ZeroDivisionError

    run_id = started(world).run_id
    broken = replace(service.executor, caller=replace(service.executor.caller, providers=Broken()))
    with pytest.raises(ZeroDivisionError):
        broken.execute(run_id)
    assert world.get(f"/api/v1/runs/{run_id}").json["error"]["kind"] == "internal"


def test_an_answer_waits_for_a_database_that_is_away(world, service, monkeypatch):
    run_id = started(world).run_id
    database = world.container.database
    faults = iter([False, True, True])
    write = database.retrying

    def shaky(work, **options):
        if next(faults, False):
            raise Unavailable("away")
        return write(work, **options)

    pauses = []
    monkeypatch.setattr(database, "retrying", shaky)
    replace(service.executor, patience=Patience(pauses.append)).execute(run_id)

    assert status(world, run_id) == "done"
    assert len(pauses) == 2


def _newest(world):
    with world.container.database.read() as connection:
        return connection.exec_driver_sql("SELECT MAX(id) FROM runs").scalar()


def _redis_away(_message):
    raise redis.ConnectionError("away")
