"""Asynchronous and idempotent runs: one key, one model call, one answer."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from app.models.idempotency_keys import idempotency_keys
from app.work.sweeper import Resending
from tests.fakes.wire import Reply
from tests.integration.runs.asking import prompt, record, run
from tests.support.waiting import wait_until
from tests.support.world import new_world

AT_ONCE = 20


def key(value="k1"):
    return {"Idempotency-Key": value}


def test_respond_async_answers_202_and_where_to_look(world, upstream):
    later = threading.Event()
    upstream.script(Reply(text="Later.", held=later))
    answer = run(world, prompt(world, model="gpt-4o-mini"), headers={"Prefer": "wait=5, Respond-Async"})

    assert answer.status_code == 202
    assert answer.headers["Preference-Applied"] == "respond-async"
    assert answer.headers["Location"] == f"/api/v1/runs/{answer.json['id']}"
    assert answer.headers["X-Run-Id"] == str(answer.json["id"])
    assert record(world, answer)["status"] != "done"
    later.set()
    done = wait_until(lambda: (found := record(world, answer))["status"] == "done" and found, "the run")
    assert done["answer"] == "Later."


def test_the_same_key_and_body_give_the_stored_answer(world, upstream):
    upstream.script(Reply(text="one"), Reply(text="two"))
    prompt_id = prompt(world, model="gpt-4o-mini")
    first, second = (run(world, prompt_id, headers=key()) for _ in range(2))

    assert first.json == second.json
    assert first.headers["X-Run-Id"] == second.headers["X-Run-Id"]
    assert len(upstream.requests) == 1


def test_the_order_of_fields_and_white_space_make_no_other_body(world):
    prompt_id = prompt(world)
    bodies = (f'{{"id": {prompt_id}, "question": "q"}}', f'{{"question":"q",  "id":{prompt_id}}}')
    headers = key() | {"Content-Type": "application/json"}
    first, second = (world.post("/api/v1/prompts/run", body=body, headers=headers) for body in bodies)

    assert first.headers["X-Run-Id"] == second.headers["X-Run-Id"]


def test_the_same_key_with_another_body_is_409(world):
    prompt_id = prompt(world)
    run(world, prompt_id, headers=key())

    assert run(world, prompt_id, "another", headers=key()).status_code == 409


def test_keys_of_different_api_keys_are_apart(world, container):
    stranger = new_world(container)
    mine, theirs = (run(w, prompt(w), headers=key("same")) for w in (world, stranger))

    assert mine.headers["X-Run-Id"] != theirs.headers["X-Run-Id"]


def test_a_stored_failure_is_given_again_without_another_call(world, upstream):
    upstream.script(Reply(status=400, message="No such thing"), Reply(text="never"))
    prompt_id = prompt(world, model="gpt-4o-mini")
    first, second = (run(world, prompt_id, headers=key()) for _ in range(2))

    assert (first.status_code, first.json) == (second.status_code, second.json)
    assert first.status_code == 502
    assert len(upstream.requests) == 1


def test_concurrent_duplicates_make_one_run_one_call_one_answer(world, upstream):
    upstream.script(Reply(text="the one", latency_s=0.3))
    prompt_id = prompt(world, model="gpt-4o-mini")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(lambda _: run(world, prompt_id, headers=key()), range(AT_ONCE)))

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.text for answer in answers}) == 1
    assert len({answer.headers["X-Run-Id"] for answer in answers}) == 1
    assert len(upstream.requests) == 1
    assert world.count("runs") == 1


def test_a_key_is_forgotten_after_a_day(world):
    prompt_id = prompt(world)
    first = run(world, prompt_id, headers=key())
    _age_keys(world, timedelta(hours=24))

    assert run(world, prompt_id, "another", headers=key()).status_code == 200
    assert run(world, prompt_id, headers=key()).status_code == 409
    assert first.status_code == 200


def test_a_sweep_deletes_expired_keys(world):
    run(world, prompt(world), headers=key())
    _age_keys(world, timedelta(hours=24))
    world.container.run_delivery.sweep()

    with world.container.database.read() as connection:
        assert connection.exec_driver_sql("SELECT COUNT(*) FROM idempotency_keys").scalar() == 0


@pytest.mark.parametrize("jump", [timedelta(hours=25), timedelta(hours=-1)])
def test_a_clock_that_jumps_pays_for_nothing_twice(world, monkeypatch, jump):
    service, prompt_id = world.container.services.runs, prompt(world)
    first = run(world, prompt_id, headers=key())
    monkeypatch.setattr(service.inserter, "now", lambda: world.container.now() + jump)
    replace(service.sweeper, now=service.inserter.now, resending=Resending()).sweep()
    again = run(world, prompt_id, headers=key())
    monkeypatch.undo()

    assert (again.status_code, again.headers["X-Run-Id"]) == (200, first.headers["X-Run-Id"])
    assert run(world, prompt_id, headers=key()).headers["X-Run-Id"] == first.headers["X-Run-Id"]
    assert world.count("runs") == 1


@pytest.mark.parametrize("value", ["", " ", "x" * 256])
def test_a_key_of_impossible_length_is_400(world, value):
    assert run(world, prompt(world), headers=key(value)).status_code == 400
    assert world.count("runs") == 0


def _age_keys(world, by):
    table = idempotency_keys
    with world.container.database.write() as connection:
        connection.execute(table.update().values(created_at=world.container.now() - by))
