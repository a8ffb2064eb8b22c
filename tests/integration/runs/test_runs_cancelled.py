"""Cancelling a run: while it waits, while its model writes or is silent, and after its end."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import redis

from app.errors import Unavailable
from app.metrics.registry import RUNS
from app.models.data_policies import DataPolicy
from app.redis_store.keys import run_events
from app.redis_store.stops import RunStops
from app.services.runs import RunCommand
from tests.fakes.models import MODELS
from tests.fakes.wire import Reply
from tests.integration.runs.asking import prompt, run
from tests.integration.runs.test_runs_streaming import LATER, events, follow, record_of, stream
from tests.support.counting import Since
from tests.support.waiting import wait_until
from tests.support.world import new_world

TEXT = "one two three four five six"
# No other test of runs asks it.
MODEL = "gpt-4.1"


def cancel(world, run_id):
    return world.post(f"/api/v1/runs/{run_id}/cancel")


def cancelled(world, run_id):
    """Cancel the run, and return its record after its end."""
    answer = cancel(world, run_id)
    assert answer.status_code in (200, 202), answer.text
    return wait_until(lambda: (row := record_of(world, run_id))["finishedAt"] and row, "the end of the run")


def begun(world, upstream, *, model=MODEL, **reply):
    """Start a run that its model answers; the rest of the answer waits for the event."""
    rest, before = threading.Event(), len(upstream.requests)
    upstream.script(Reply(**{"text": TEXT, "held": rest, "cut_after": 4} | reply))
    run_id = stream(world, prompt(world, model=model), headers=LATER).json["id"]
    wait_until(lambda: len(upstream.requests) > before, "the call")
    return run_id, rest


def begun_writing(world, upstream, **fields):
    run_id, rest = begun(world, upstream, **fields)
    wait_until(lambda: world.container.redis.commands.xlen(run_events(run_id)), "the first words")
    return run_id, rest


def queued(world, **fields):
    """Commit a run without a message, so that no worker begins it."""
    command = RunCommand(prompt_id=prompt(world), question="Who?", **fields)
    return world.container.services.runs.start(command, project_id=world.project_id).run_id


def usage(world):
    return world.get("/api/v1/usage").json["total"]


@pytest.mark.parametrize("vendor", ["OPENAI", "ANTHROPIC", "GOOGLE"])
def test_a_run_that_is_cancelled_keeps_what_was_written_and_is_charged_for_it(world, upstream, vendor):
    run_id, rest = begun_writing(world, upstream, model=MODELS[vendor])
    row = cancelled(world, run_id)
    rest.set()

    assert (row["status"], row["error"]["kind"]) == ("cancelled", "cancelled")
    assert row["answer"]
    assert TEXT.startswith(row["answer"])
    assert row["nok"] is None
    assert row["tokens"]["prompt"] > 0
    assert row["tokens"]["completion"] > 0
    assert row.get("tokensEstimated", False) == (vendor == "OPENAI"), "it reports tokens at the end only"
    assert row["cost"]["total"] > 0
    assert row["response_time_ms"] is not None
    assert record_of(world, run_id) == row, "its worker changes nothing later"
    total = usage(world)
    assert (total["runs"], total["failed"]) == (1, 0)
    assert total["tokens"]["completion"] == row["tokens"]["completion"]
    assert total["cost"] == pytest.approx(row["cost"]["total"])


def test_the_stream_of_a_cancelled_run_ends_with_an_event_about_it(world, upstream):
    run_id, rest = begun_writing(world, upstream)
    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(follow, world, run_id)
        row = cancelled(world, run_id)
        seen = events(following.result(timeout=120))
    rest.set()

    kind, event_id, data = seen[-1]
    assert (kind, event_id, data) == ("error", "end", {"error": "The run was cancelled.", "status": 409})
    assert "".join(data["text"] for kind, _, data in seen if kind == "token") == row["answer"]
    assert events(follow(world, run_id))[-1] == seen[-1]


def test_a_caller_that_waits_for_a_run_learns_that_it_was_cancelled(world, upstream):
    upstream.script(Reply(hang=True))
    prompt_id = prompt(world, model=MODEL)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(run, world, prompt_id)
        wait_until(lambda: upstream.requests, "the call")
        [entry] = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"]
        row = cancelled(world, entry["id"])
        answer = waiting.result(timeout=120)

    assert (answer.status_code, answer.json["error"]) == (409, "The run was cancelled.")
    assert row["answer"] == ""


def test_a_run_with_a_silent_model_is_cancelled_and_its_connection_closed(world, upstream):
    run_id, _ = begun(world, upstream, hang=True)
    row = cancelled(world, run_id)

    assert (row["status"], row["answer"]) == ("cancelled", "")
    wait_until(lambda: upstream.open_now == 0, "the end of the connection")


def test_a_run_that_pauses_before_another_try_is_cancelled_without_it(world, upstream):
    run_id, _ = begun(world, upstream, status=429, headers={"retry-after": "20"}, held=None)
    row = cancelled(world, run_id)

    assert (row["status"], row["tokens"]["total"], row["cost"]["total"]) == ("cancelled", 0, 0)
    assert len(upstream.requests) == 1


def test_a_cancelled_run_does_not_ask_the_second_model(world, upstream):
    rest = threading.Event()
    upstream.script(Reply(text=TEXT, held=rest, cut_after=0))
    prompt_id = prompt(world, model=MODEL, fallbackModelName="gpt-4o")
    run_id = stream(world, prompt_id, headers=LATER).json["id"]
    wait_until(lambda: upstream.requests, "the call")
    row = cancelled(world, run_id)
    rest.set()

    assert row["status"] == "cancelled"
    assert len(upstream.requests) == 1


def test_a_run_that_no_worker_has_begun_is_cancelled_at_once(world):
    run_id = queued(world, stream=True)
    answer = cancel(world, run_id)

    assert (answer.status_code, answer.json["status"]) == (200, "cancelled")
    assert (answer.json["answer"], answer.json["tokens"]) == (None, None)
    assert not world.container.services.runs.executor.execute(run_id), "no worker can begin it"
    assert events(follow(world, run_id))[-1][2]["status"] == 409
    assert usage(world)["runs"] == 1


def test_a_run_is_cancelled_once(world, upstream):
    run_id, rest = begun_writing(world, upstream)
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda _: cancel(world, run_id), range(2)))
    row = cancelled(world, run_id)
    rest.set()

    assert {answer.status_code for answer in answers} == {202}
    again = cancel(world, run_id)
    assert (again.status_code, again.json) == (200, row)
    assert usage(world)["runs"] == 1


def test_a_run_that_has_ended_can_not_be_cancelled(world, upstream):
    answered = stream(world, prompt(world)).headers["X-Run-Id"]
    upstream.script(Reply(status=400))
    refused = stream(world, prompt(world, model=MODEL)).headers["X-Run-Id"]
    before = [record_of(world, run_id) for run_id in (answered, refused)]

    answers = [cancel(world, run_id) for run_id in (answered, refused)]
    assert [answer.status_code for answer in answers] == [409, 409]
    assert [answer.json["error"] for answer in answers] == ["The run has ended: done.", "The run has ended: failed."]
    assert [record_of(world, run_id) for run_id in (answered, refused)] == before


def test_another_projects_run_can_not_be_cancelled(world, container):
    run_id = queued(world)

    assert cancel(new_world(container), run_id).status_code == 404
    assert record_of(world, run_id)["status"] == "queued"


def test_a_key_that_may_not_start_runs_may_not_cancel_them(world):
    run_id = queued(world)
    keys = world.container.services.keys
    reader = keys.create(project_id=world.project_id, name="reader", scopes=frozenset({"read"})).secret

    assert cancel(replace(world, key=reader), run_id).status_code == 403
    assert record_of(world, run_id)["status"] == "queued"


def test_a_repeated_request_gets_the_cancelled_run_and_not_a_new_one(world, upstream):
    prompt_id, headers = prompt(world, model=MODEL), {"Idempotency-Key": "k"}
    upstream.script(Reply(hang=True))
    run_id = stream(world, prompt_id, headers=LATER | headers).json["id"]
    wait_until(lambda: upstream.requests, "the call")
    cancelled(world, run_id)
    again = run(world, prompt_id, headers=headers)

    assert (again.status_code, again.headers["X-Run-Id"]) == (409, str(run_id))
    assert len(upstream.requests) == 1


def test_a_cancelled_run_is_no_failure_in_the_log_the_metrics_and_the_comparison(world, upstream):
    counted = Since(world, RUNS)
    run_id, rest = begun_writing(world, upstream)
    prompt_id = cancelled(world, run_id)["promptId"]
    rest.set()
    log = f"/api/v1/prompts/{prompt_id}/logs"

    wait_until(lambda: counted.moved(MODEL) == {(MODEL, "cancelled"): 1}, "the count")
    assert [entry["id"] for entry in world.get(f"{log}?status=cancelled").json["entries"]] == [run_id]
    for other in ("ok", "nok", "failed", "running"):
        assert world.get(f"{log}?status={other}").json["entries"] == []


def test_a_cancelled_run_can_be_gone_on_with(world, upstream):
    run_id, rest = begun_writing(world, upstream)
    row = cancelled(world, run_id)
    rest.set()
    history = [{"role": "user", "text": row["question"]}, {"role": "assistant", "text": row["answer"]}]
    upstream.script(Reply(text="four"))

    assert run(world, row["promptId"], "Go on", history=history).json["answer"] == "four"


def test_the_answer_so_far_is_masked_as_a_whole_one(world, upstream):
    policy = DataPolicy(masking=[{"kind": "pattern", "value": r"[\w.]+@[\w.]+"}])
    world.container.services.data_policies.put(project_id=world.project_id, policy=policy)
    run_id, rest = begun_writing(world, upstream, text="ann@example.org wrote two three four five six")
    row = cancelled(world, run_id)
    rest.set()

    assert row["status"] == "cancelled"
    assert "ann@example.org" not in row["answer"]


def test_without_redis_a_run_in_work_is_not_cancelled(world):
    class Away:
        def set(self, *_args, **_options):
            raise redis.ConnectionError("away")

    with pytest.raises(Unavailable):
        RunStops(Away()).request(1)


def test_a_redis_that_comes_back_still_stops_a_run():
    class Flaky:
        looks = 0

        def mget(self, keys):
            self.looks += 1
            if self.looks == 1:
                raise redis.ConnectionError("away")
            return [b"1" for _ in keys]

    stop = threading.Event()
    with RunStops(Flaky(), every_s=0.001).of(1, stop.set):
        assert stop.wait(120)
