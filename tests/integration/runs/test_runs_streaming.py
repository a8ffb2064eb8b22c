"""Run Prompt as server-sent events: whole, in order, and for whoever comes back."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import redis
from falcon.testing import TestClient
from sqlalchemy import func, select

from app.models import runs
from app.process.application import build_app
from app.redis_store.keys import run_events
from app.services.runs.following import AnswerPiece
from app.services.runs.outcome import failed
from tests.fakes.models import MODELS
from tests.fakes.wire import Reply
from tests.integration.runs.asking import prompt, record, run
from tests.support.waiting import wait_until
from tests.support.world import new_world

EVENTS = {"Accept": "text/event-stream"}
LATER = {"Prefer": "respond-async"}
SLOW = {"per_event_s": 0.1}


def events(answer):
    """[(event, id, data)] of an answer's body."""
    found = []
    for block in answer.text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "event" in fields:
            found.append((fields["event"], fields.get("id"), json.loads(fields["data"])))
    return found


def kinds(answer):
    return [kind for kind, _, _ in events(answer)]


def said(found):
    return "".join(data["text"] for kind, _, data in found if kind == "token")


def follow(world, run_id, **headers):
    return world.get(f"/api/v1/runs/{run_id}/events", headers=headers)


def stream(world, prompt_id, question="Where is order 7?", headers=None, **fields):
    return run(world, prompt_id, question, headers=EVENTS | (headers or {}), **fields)


@pytest.mark.parametrize("vendor", sorted(set(MODELS) - {"DEEPSEEK", "CUSTOM_OPENAI_COMPATIBLE"}))
def test_the_answer_comes_in_tokens_and_ends_with_the_whole(world, upstream, vendor):
    rest = threading.Event()
    upstream.script(Reply(text="It is in Oslo, on its way to you.", held=rest, cut_after=5))
    with ThreadPoolExecutor(1) as pool:
        streamed = pool.submit(stream, world, prompt(world, model=MODELS[vendor]))
        wait_until(lambda: tokens_of_newest(world), "the first tokens")
        rest.set()
        answer = streamed.result()

    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    assert answer.headers["Cache-Control"] == "no-store"
    found = events(answer)
    assert said(found) == "It is in Oslo, on its way to you."
    assert kinds(answer).count("token") > 1
    kind, event_id, done = found[-1]
    assert (kind, event_id, done["answer"]) == ("done", "end", "It is in Oslo, on its way to you.")
    assert record(world, answer)["answer"] == done["answer"]


def test_done_has_the_fields_of_the_json_answer(world):
    prompt_id = prompt(world)
    done = events(stream(world, prompt_id))[-1][2]
    plain = run(world, prompt_id).json

    assert done.keys() == plain.keys()
    assert {**done, "response_time_ms": 0} == {**plain, "response_time_ms": 0}


def test_reasoning_and_tool_calls_are_separate_events(world, upstream):
    upstream.script(Reply(text="Let me look.", reasoning="Hm.", tool_calls=[("find", {"q": "order 7"})]))
    answer = stream(world, prompt(world, model=MODELS["ANTHROPIC"]))

    found = events(answer)
    assert [data for kind, _, data in found if kind == "reasoning"] == [{"text": "Hm."}]
    [call] = [data for kind, _, data in found if kind == "tool_call"]
    assert (call["name"], call["arguments"]) == ("find", {"q": "order 7"})
    assert found[-1][2]["toolCalls"] == [call]


def test_without_asking_for_events_the_answer_is_json(world):
    for accept in ("*/*", "application/json", "application/json, text/event-stream"):
        assert run(world, prompt(world), headers={"Accept": accept}).json["answer"] == "Where is order 7?"


def test_what_is_refused_before_the_start_is_plain_json(world):
    answer = stream(world, world.prompt())

    assert answer.status_code == 404
    assert answer.headers["Content-Type"].startswith("application/json")
    assert "error" in answer.json


def test_a_failure_after_the_start_is_an_event_with_its_status(world, upstream):
    upstream.script(Reply(status=400, message="No such model"))
    answer = stream(world, prompt(world, model="gpt-4o-mini"))

    assert answer.status_code == 200
    [(kind, event_id, data)] = events(answer)
    assert (kind, event_id, data["status"]) == ("error", "end", 502)
    assert "No such model" in data["error"]


def test_a_stream_that_the_vendor_cuts_ends_with_an_error_after_its_tokens(world, upstream):
    upstream.script(Reply(text="one two three four five six", cut=True, cut_after=4))
    answer = stream(world, prompt(world, model="gpt-4o-mini"))

    assert kinds(answer)[0] == "token"
    assert kinds(answer)[-1] == "error"
    assert len(upstream.requests) == 1, "words that were sent must not be sent again"
    assert record(world, answer)["status"] == "failed"


def test_whoever_comes_back_gets_what_is_missing_and_nothing_twice(world, upstream):
    upstream.script(Reply(text="one two three four five six seven", **SLOW))
    prompt_id = prompt(world, model="gpt-4o-mini")
    first = stream(world, prompt_id)
    all_of_it = events(first)
    for seen in range(len(all_of_it) - 1):
        again = events(follow(world, first.headers["X-Run-Id"], **{"Last-Event-ID": all_of_it[seen][1]}))
        assert again == all_of_it[seen + 1 :]
    assert len(upstream.requests) == 1


def test_the_same_post_with_its_idempotency_key_joins_the_stream(world, upstream):
    upstream.script(Reply(text="one two three four five", **SLOW))
    prompt_id = prompt(world, model="gpt-4o-mini")
    headers = {"Idempotency-Key": "k"}
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(stream, world, prompt_id, headers=headers)
        wait_until(lambda: len(upstream.requests) == 1, "the call")
        second = pool.submit(stream, world, prompt_id, headers=headers)
        first, second = first.result(), second.result()

    assert first.headers["X-Run-Id"] == second.headers["X-Run-Id"]
    assert events(first) == events(second)
    seen = events(first)[0][1]
    third = stream(world, prompt_id, headers=headers | {"Last-Event-ID": seen})
    assert events(third) == events(first)[1:]
    assert len(upstream.requests) == 1


def test_a_new_run_begins_at_its_beginning_whatever_the_caller_saw_before(world, upstream):
    upstream.script(Reply(text="one two"))
    answer = stream(world, prompt(world, model="gpt-4o-mini"), headers={"Last-Event-ID": "9999-0"})

    assert said(events(answer)) == "one two"


def test_a_stream_may_be_started_now_and_followed_later(world, upstream):
    upstream.script(Reply(text="one two three"))
    accepted = stream(world, prompt(world, model="gpt-4o-mini"), headers=LATER)

    assert accepted.status_code == 202
    assert said(events(follow(world, accepted.json["id"]))) == "one two three"


def test_late_comers_get_the_end_from_the_row(world, container):
    first = stream(world, prompt(world))
    run_id = first.headers["X-Run-Id"]
    # Its end is heard before the time that it is kept for is set.
    wait_until(lambda: 0 < container.redis.commands.ttl(run_events(int(run_id))) <= 600, "its time")
    container.redis.commands.delete(run_events(int(run_id)))

    late = follow(world, run_id, **{"Last-Event-ID": events(first)[0][1]})
    assert events(late) == events(first)[-1:]


def test_a_run_that_was_not_streamed_can_be_followed_to_its_end(world):
    plain = run(world, prompt(world))

    assert kinds(follow(world, plain.headers["X-Run-Id"])) == ["done"]


def test_after_the_last_event_there_is_nothing(world):
    run_id = stream(world, prompt(world)).headers["X-Run-Id"]

    assert follow(world, run_id, **{"Last-Event-ID": "end"}).status_code == 204


@pytest.mark.parametrize("seen", ["x", "1-", "-1", "1-1-1", "$", ">", "9" * 30 + "-0"])
def test_an_id_that_was_never_given_is_400(world, seen):
    run_id = stream(world, prompt(world)).headers["X-Run-Id"]

    assert follow(world, run_id, **{"Last-Event-ID": seen}).status_code == 400


def test_another_projects_stream_is_not_there(world, container):
    run_id = stream(world, prompt(world)).headers["X-Run-Id"]

    assert follow(new_world(container), run_id).status_code == 404


def test_the_stream_of_a_run_ends_with_an_error_when_its_worker_died(world, container, upstream):
    rest = threading.Event()
    upstream.script(Reply(text="one two three four", held=rest))
    accepted = stream(world, prompt(world, model="gpt-4o-mini"), headers=LATER)
    follower = replace(container.run_follower, look_s=0.05)
    seen = follower.follow(project_id=world.project_id, run_id=accepted.json["id"])
    next(one for one in seen if isinstance(one, AnswerPiece))
    with world.container.database.write() as connection:
        table = runs.runs
        dead = failed("interrupted", "dead")
        connection.execute(table.update().where(table.c.id == accepted.json["id"]).values(dead.columns()))
    *_, last = seen
    rest.set()
    assert last.error_kind == "interrupted"


def test_a_silence_is_filled_so_that_no_caller_hangs_up(world, container, upstream):
    answer = threading.Event()
    upstream.script(Reply(text="late", held=answer, cut_after=0))
    accepted = stream(world, prompt(world, model="gpt-4o-mini"), headers=LATER)
    follower = replace(container.run_follower, look_s=0.05)
    seen = follower.follow(project_id=world.project_id, run_id=accepted.json["id"])

    assert next(seen) is None
    answer.set()
    assert list(seen)[-1].answer == "late"


def test_a_caller_that_waited_too_long_gets_an_event_and_may_come_back(world, container, upstream):
    answer = threading.Event()
    upstream.script(Reply(text="late", held=answer, cut_after=0))
    accepted = stream(world, prompt(world, model="gpt-4o-mini"), headers=LATER)
    impatient = replace(container.run_follower, look_s=0.05, wait_s=0.2)
    cut = follow(with_follower(world, impatient), accepted.json["id"])
    answer.set()
    assert events(cut)[-1][0::2] == ("error", {**events(cut)[-1][2], "status": 504})
    assert events(cut)[-1][1] is None, "it is not the end of the run"
    assert events(follow(world, accepted.json["id"]))[-1][2]["answer"] == "late"


def test_a_redis_that_is_away_loses_tokens_and_never_the_answer(world, container, upstream):
    upstream.script(Reply(text="one two three", per_event_s=0.05))

    class Away:
        def xread(self, *_args, **_kwargs):
            raise redis.ConnectionError("away")

    blind = replace(container.run_follower, client=Away(), pause_s=0.05)
    accepted = stream(world, prompt(world, model="gpt-4o-mini"), headers=LATER)
    answer = follow(with_follower(world, blind), accepted.json["id"])
    assert kinds(answer) == ["done"]
    assert events(answer)[-1][2]["answer"] == "one two three"


def test_a_caller_who_hangs_up_does_not_stop_the_run(world, upstream):
    upstream.script(Reply(text="one two three four five", **SLOW))
    run_id = stream(world, prompt(world, model="gpt-4o-mini"), headers=LATER).json["id"]
    seen = world.container.run_follower.follow(project_id=world.project_id, run_id=run_id)
    next(seen)
    seen.close()

    done = wait_until(lambda: (found := record_of(world, run_id))["status"] == "done" and found, "the run")
    assert done["answer"] == "one two three four five"


def tokens_of_newest(world):
    """Count the entries that Redis has of the world's newest run."""
    with world.container.database.read() as connection:
        newest = connection.scalar(select(func.max(runs.runs.c.id)).where(runs.runs.c.project_id == world.project_id))
    return newest and world.container.redis.commands.xlen(run_events(newest))


def record_of(world, run_id):
    return world.get(f"/api/v1/runs/{run_id}").json


def with_follower(world, follower):
    """The world with an API that follows runs by another follower."""
    return replace(world, client=TestClient(build_app(replace(world.container, run_follower=follower))))
