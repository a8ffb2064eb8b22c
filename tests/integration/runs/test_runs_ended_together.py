"""Runs that end at the same time are ended by one transaction, each with its own outcome, and none for another's."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy import func, select

from app.models import runs as run_rows
from app.models.idempotency_keys import idempotency_keys
from app.services.runs import Idempotency, RunCommand
from app.services.runs.outcome import RunEnd, failed
from app.work.table import Claim
from tests.fakes.wire import Reply
from tests.integration.runs.asking import prompt
from tests.integration.runs.holding import WAIT_S, Held
from tests.integration.runs.test_runs_faults import QUESTION, claim, started, status
from tests.integration.runs.test_usage import used
from tests.support.waiting import wait_until
from tests.support.world import new_world

TOKEN = "dead"


@pytest.fixture
def service(world):
    return world.container.services.runs


@pytest.fixture
def held(service, monkeypatch):
    held = Held(service.ending._end, monkeypatch)
    yield held
    held.gate.set()


@pytest.fixture
def pool():
    with ThreadPoolExecutor(16) as pool:
        yield pool


def test_all_that_end_meanwhile_share_a_transaction_and_are_counted(world, service, held, pool):
    before = used(world)["total"]["runs"]
    run_ids = [started(world).run_id for _ in range(9)]
    first = pool.submit(service.execute, run_ids[0])
    held.until_begun()
    others = [pool.submit(service.execute, run_id) for run_id in run_ids[1:]]
    held.until_waiting(8)
    held.gate.set()

    assert all(one.result(WAIT_S) for one in (first, *others))
    assert held.sizes == [1, 8]
    assert {status(world, run_id) for run_id in run_ids} == {"done"}
    assert used(world)["total"]["runs"] == before + 9


def test_each_run_has_its_own_answer_and_error(world, service, upstream, held, pool):
    prompt_id = prompt(world, model="gpt-4o-mini")
    executions = [pool.submit(service.execute, started(world).run_id)]
    held.until_begun()
    run_ids = []
    for place, reply in enumerate((Reply(text="one"), Reply(status=400), Reply(text="two")), 1):
        upstream.script(reply)
        run_ids.append(service.start(RunCommand(prompt_id, QUESTION), project_id=world.project_id).run_id)
        executions.append(pool.submit(service.execute, run_ids[-1]))
        held.until_waiting(place)
    held.gate.set()

    assert all(one.result(WAIT_S) for one in executions)
    assert held.sizes == [1, 3]
    found = [world.get(f"/api/v1/runs/{run_id}").json for run_id in run_ids]
    assert [(one["status"], one["answer"], (one["error"] or {}).get("kind")) for one in found] == [
        ("done", "one", None),
        ("failed", None, "provider"),
        ("done", "two", None),
    ]


def test_the_runs_of_another_project_are_ended_by_another_transaction(world, service, held, pool):
    other = new_world(world.container)
    run_ids = [started(one).run_id for one in (world, other)]
    executions = [pool.submit(service.execute, run_id) for run_id in run_ids]
    wait_until(lambda: held.sizes == [1, 1], "both transactions")
    held.gate.set()

    assert [one.result(WAIT_S) for one in executions] == [True, True]
    assert [used(one)["total"]["runs"] for one in (world, other)] == [1, 1]


def test_a_run_that_another_worker_has_is_left_to_it_and_not_counted(world, service, held, pool):
    before = used(world)["total"]["runs"]
    run_ids = [started(world).run_id for _ in range(3)]
    executions = [pool.submit(service.execute, run_ids[0])]
    held.until_begun()
    executions += [pool.submit(service.execute, run_id) for run_id in run_ids[1:]]
    held.until_waiting(2)
    table = run_rows.runs
    with world.container.database.write() as connection:
        connection.execute(table.update().where(table.c.id == run_ids[1]).values(claim="another worker's"))
    held.gate.set()

    assert [one.result(WAIT_S) for one in executions] == [True, False, True]
    assert status(world, run_ids[1]) == "running"
    assert used(world)["total"]["runs"] == before + 2


def claimed(world):
    """A run of this process: its row and its claim."""
    [row] = claim(world, started(world).run_id, TOKEN)
    with world.container.database.read() as connection:
        alive_at = connection.scalar(select(run_rows.runs.c.alive_at).where(run_rows.runs.c.id == row.id))
    return row, Claim(row.id, TOKEN, alive_at)


def test_only_the_end_that_the_database_refuses_fails(world, service, held, pool):
    before = used(world)["total"]["runs"]
    first, good, bad = (claimed(world) for _ in range(3))
    ends = [pool.submit(service.ending.finish, *first, RunEnd(status="done", answer="first"))]
    held.until_begun()
    ends.append(pool.submit(service.ending.finish, *good, RunEnd(status="done", answer="good")))
    ends.append(pool.submit(service.ending.finish, *bad, RunEnd(status="done", answer="\ud800")))
    held.until_waiting(2)
    held.gate.set()

    assert [one.result(WAIT_S).answer for one in ends[:2]] == ["first", "good"]
    with pytest.raises(ValueError, match="surrogates"):
        ends[2].result(WAIT_S)
    assert held.sizes == [1, 2, 1, 1]
    assert [status(world, row.id) for row, _ in (first, good, bad)] == ["done", "done", "running"]
    assert used(world)["total"]["runs"] == before + 2


def test_a_key_is_deleted_only_of_a_run_that_ended_without_a_call(world, service):
    """A key is kept once the model was called: a repeated request gets that run."""
    key_id = world.container.services.keys.list(project_id=world.project_id)[0].id
    rows = {}
    for name in ("done", "unavailable", "taken"):
        started_with_key = service.start(
            RunCommand(prompt(world), QUESTION),
            project_id=world.project_id,
            idempotency=Idempotency.of(key_id, f"together {name}", b"{}"),
        )
        [row] = claim(world, started_with_key.run_id, TOKEN)
        rows[name] = row
    claims = {
        name: Claim(row.id, TOKEN if name != "taken" else "another", row.created_at) for name, row in rows.items()
    }
    ends = {"done": RunEnd(status="done", answer="a")} | {
        name: failed("unavailable", "away") for name in ("unavailable", "taken")
    }
    ended = {name: service.ending.finish(rows[name], claims[name], ends[name]) for name in rows}

    assert [name for name, row in ended.items() if row] == ["done", "unavailable"]
    with world.container.database.read() as connection:
        kept = {
            name: connection.scalar(select(func.count()).where(idempotency_keys.c.run_id == row.id))
            for name, row in rows.items()
        }
    assert kept == {"done": 1, "unavailable": 0, "taken": 1}


def test_a_run_is_returned_in_its_stored_form(world, service):
    row, token = claimed(world)
    ended = service.ending.finish(row, token, replace(failed("provider", "no"), response_time_ms=7))

    assert ended == service.get(project_id=world.project_id, run_id=row.id)
    assert service.ending.finish(row, token, RunEnd(status="done", answer="again")) is None
