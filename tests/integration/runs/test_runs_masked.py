"""Masked text can be read nowhere, before, during and after the run; the waiting caller gets the model's words."""

import time
from base64 import b64encode
from dataclasses import replace

import pytest

from app.chat import File, Message, ToolCall
from app.encryption import ContentCipher
from app.errors import Invalid, Unavailable
from app.models.data_policies import DataPolicy
from app.models.runs import run_file_chunks as table
from app.services.masking.rules import MaskingRules
from app.services.runs import RunCommand
from app.services.runs.following import AnswerPiece
from app.services.runs.request import history_of
from tests.fakes.models import MODELS
from tests.fakes.wire import Reply
from tests.integration.runs.asking import prompt, record, run
from tests.integration.runs.test_runs_faults import claim
from tests.integration.runs.test_runs_streaming import events, follow, said
from tests.support.readable import readable, tables_with
from tests.support.sweeping import sweep_runs
from tests.support.waiting import wait_until

EVENTS = {"Accept": "text/event-stream"}
LATER = {"Prefer": "respond-async"}
MASK = "[masked]"


@pytest.fixture
def secret(world):
    return f"ada{world.project_id}@example.org"


@pytest.fixture
def masking(world):
    """Sets the project's rules."""

    def put(*rules):
        policy = DataPolicy(masking=[{"kind": kind, "value": value} for kind, value in rules])
        world.container.services.data_policies.put(project_id=world.project_id, policy=policy)

    return put


@pytest.fixture
def masked(masking):
    masking(("pattern", r"[\w.]+@[\w.]+"))


def a_file(name, content):
    return {"fileName": name, "contentType": "text/plain", "base64": b64encode(content.encode()).decode()}


def accepted(world, secret, **fields):
    """A run that is committed, with a file, and was never sent."""
    files = (File(f"{secret}.txt", "text/plain", f"File of {secret}".encode()),)
    command = RunCommand(prompt(world, **fields), f"I am {secret}", files, selections={secret: "x"})
    return world.container.services.runs.start(command, project_id=world.project_id).run_id


def chunks(world, *run_ids):
    with world.container.database.read() as connection:
        return connection.execute(table.select().where(table.c.run_id.in_(run_ids))).all()


@pytest.mark.usefixtures("masked")
def test_the_caller_gets_the_models_words_and_only_masked_ones_are_readable_afterwards(world, upstream, secret):
    upstream.script(Reply(text=f"Hello {secret}"))
    asked = {"files": [a_file(f"{secret}.txt", f"File of {secret}")], "placeholders": {secret: "x"}}
    answer = run(world, prompt(world, model="gpt-4o-mini"), f"I am {secret}", **asked)

    assert answer.json["answer"] == f"Hello {secret}"
    assert "masked" not in answer.json
    assert f"I am {secret}" in str(upstream.requests[0].body)
    assert f"File of {secret}" in str(upstream.requests[0].body)
    assert readable(world, secret) == []
    kept = record(world, answer)
    assert (kept["question"], kept["answer"]) == (f"I am {MASK}", f"Hello {MASK}")
    assert kept["files"][0]["fileName"] == MASK
    assert kept["placeholders"]["ignored"] == [MASK]
    assert kept["instruction"] == "Be helpful."


@pytest.mark.usefixtures("masked")
def test_while_a_run_waits_and_while_it_is_in_work_nothing_of_it_can_be_read(world, secret):
    run_id = accepted(world, secret)
    assert readable(world, secret) == []

    [row] = claim(world, run_id)
    assert readable(world, secret) == []
    masking = world.container.services.runs.masking
    assert masking.requested(row).question == f"I am {secret}"
    assert masking.contents(row) == [f"File of {secret}".encode()]
    assert masking.contents(masking.requested(row)) == [f"File of {secret}".encode()]


@pytest.mark.usefixtures("masked")
def test_what_was_sealed_goes_with_the_end_of_the_run_whoever_ends_it(world, secret):
    finished, interrupted, given_up = (accepted(world, secret) for _ in range(3))
    assert len(chunks(world, finished, interrupted, given_up)) == 6

    world.container.services.runs.execute(finished)
    claim(world, interrupted)
    sweep_runs(world)
    world.container.services.runs.ending.give_up(given_up, "not sent")

    assert chunks(world, finished, interrupted, given_up) == []
    assert readable(world, secret) == []
    runs = [world.get(f"/api/v1/runs/{run_id}").json for run_id in (finished, interrupted, given_up)]
    assert [found["status"] for found in runs] == ["done", "failed", "failed"]
    assert {found["question"] for found in runs} == {f"I am {MASK}"}


@pytest.mark.usefixtures("masked")
@pytest.mark.parametrize("how", ["failed", "nok", "fallback", "timeout", "tools"])
def test_no_way_in_which_a_run_can_end_keeps_it_readable(request, world, upstream, secret, how):
    if how == "timeout":
        request.getfixturevalue("impatient")
    replies, fields = {
        "failed": ([Reply(status=400, message=f"Bad: {secret}")], {}),
        "nok": ([Reply(refusal=f"I know {secret}")], {}),
        "fallback": (
            [Reply(status=400, message=f"Bad: {secret}"), Reply(text=f"Hello {secret}")],
            {"fallbackModelName": MODELS["ANTHROPIC"]},
        ),
        "timeout": ([Reply(hang=True)], {}),
        "tools": ([Reply(tool_calls=[("mail", {"to": secret, "deep": [{"cc": secret}]})])], {}),
    }[how]
    upstream.script(*replies)
    answer = run(world, prompt(world, model="gpt-4o-mini", **fields), f"I am {secret}")

    assert readable(world, secret) == []
    assert MASK in str(record(world, answer))
    told = {"nok": f"I know {secret}", "fallback": f"Hello {secret}", "tools": f"'to': '{secret}'"}
    assert told.get(how, "") in str(answer.json)
    assert answer.status_code == {"failed": 502, "timeout": 504}.get(how, 200)


@pytest.mark.usefixtures("masked")
def test_a_repeated_request_gets_what_is_stored_and_is_marked_so(world, upstream, secret):
    upstream.script(Reply(text=f"Hello {secret}"))
    prompt_id = prompt(world, model="gpt-4o-mini")
    first = run(world, prompt_id, f"I am {secret}", headers={"Idempotency-Key": "k"})
    again = run(world, prompt_id, f"I am {secret}", headers={"Idempotency-Key": "k"})

    assert first.headers["X-Run-Id"] == again.headers["X-Run-Id"]
    assert first.json["answer"] == f"Hello {secret}"
    assert (again.json["answer"], again.json["masked"]) == (f"Hello {MASK}", True)


@pytest.mark.usefixtures("masked")
def test_a_caller_who_did_not_wait_and_the_log_see_the_masked_run(world, upstream, secret):
    upstream.script(Reply(text=f"Hello {secret}"))
    prompt_id = prompt(world, model="gpt-4o-mini")
    answer = run(world, prompt_id, f"I am {secret}", headers=LATER)
    assert answer.json["question"] == f"I am {MASK}"
    wait_until(lambda: record(world, answer)["finishedAt"], "the end")

    assert record(world, answer)["answer"] == f"Hello {MASK}"
    assert secret not in world.get(f"/api/v1/prompts/{prompt_id}/logs").text
    assert readable(world, secret) == []


@pytest.mark.usefixtures("masked")
def test_a_stream_has_the_models_words_and_leaves_nothing_to_read(world, upstream, secret):
    upstream.script(Reply(text=f"Hello {secret} , how are you?", reasoning=f"It is {secret}", per_event_s=0.02))
    answer = run(world, prompt(world, model=MODELS["ANTHROPIC"]), f"I am {secret}", headers=EVENTS)

    found = events(answer)
    assert said(found) == f"Hello {secret} , how are you?"
    assert found[-1][2]["answer"] == said(found)
    assert found[-1][2]["chainOfThoughts"] == f"It is {secret}"
    assert readable(world, secret) == []
    assert record(world, answer)["chainOfThoughts"] == f"It is {MASK}"


@pytest.mark.usefixtures("masked")
def test_events_are_true_for_the_key_that_began_the_run_and_masked_for_another(world, upstream, secret):
    upstream.script(Reply(text=f"Hello {secret}"))
    answer = run(world, prompt(world, model="gpt-4o-mini"), f"I am {secret}", headers=LATER | EVENTS)
    run_id = answer.headers["X-Run-Id"]
    own = events(follow(world, run_id))
    other_key = world.container.services.keys.create(project_id=world.project_id, name="other").secret
    others = events(follow(replace(world, key=other_key), run_id))

    assert (said(own), own[-1][2]["answer"]) == (f"Hello {secret}", f"Hello {secret}")
    [(kind, _, done)] = others
    assert (kind, done["answer"], done["masked"]) == ("done", f"Hello {MASK}", True)


@pytest.mark.usefixtures("masked")
def test_when_redis_has_lost_the_models_words_the_stored_ones_are_answered_and_marked(world, upstream, secret):
    upstream.script(Reply(text=f"Hello {secret}"))
    answer = run(world, prompt(world, model="gpt-4o-mini"), f"I am {secret}", headers=LATER | EVENTS)
    wait_until(lambda: record(world, answer)["finishedAt"], "the end")
    run_id = answer.headers["X-Run-Id"]
    assert 0 < world.container.redis.commands.ttl(f"reprise:run:{run_id}:words") <= 600
    world.container.redis.commands.delete(f"reprise:run:{run_id}:words", f"reprise:run:{run_id}:events")

    [(_, _, done)] = events(follow(world, run_id))
    assert (done["answer"], done["masked"]) == (f"Hello {MASK}", True)


def test_rules_that_are_set_while_a_run_is_queued_hold_for_its_end(world, masking, secret):
    run_id = accepted(world, secret)
    assert {"runs", "run_file_chunks"} <= set(tables_with(world, secret))
    masking(("pattern", r"[\w.]+@[\w.]+"))
    world.container.services.runs.execute(run_id)

    assert readable(world, secret) == []
    assert world.get(f"/api/v1/runs/{run_id}").json["answer"] == f"I am {MASK}"


@pytest.mark.usefixtures("masked")
def test_the_conversation_before_a_question_is_masked_and_the_model_gets_it_whole(world, upstream, secret):
    upstream.script(Reply(text="Yes."))
    call = ToolCall("1", "look", {"who": secret})
    history = (
        Message("user", f"I am {secret}"),
        Message("assistant", f"Hello {secret}", tool_calls=(call,)),
        Message("tool", f"Found {secret}", tool_call_id="1"),
    )
    command = RunCommand(prompt(world, model="gpt-4o-mini"), "Who am I?", history=history)
    run_id = world.container.services.runs.start(command, project_id=world.project_id).run_id
    assert readable(world, secret) == []

    world.container.services.runs.execute(run_id)

    assert readable(world, secret) == []
    row = world.container.services.runs.get(project_id=world.project_id, run_id=run_id)
    assert [message.text for message in history_of(row.request)] == [f"I am {MASK}", f"Hello {MASK}", f"Found {MASK}"]
    assert str(upstream.requests[0].body).count(secret) == 4


def test_a_run_that_was_sealed_is_run_although_the_rules_are_gone(world, masking, secret):
    masking(("pattern", r"[\w.]+@[\w.]+"))
    run_id = accepted(world, secret)
    masking()
    world.container.services.runs.execute(run_id)

    assert chunks(world, run_id) == []
    found = world.get(f"/api/v1/runs/{run_id}").json
    assert (found["status"], found["question"], found["answer"]) == ("done", f"I am {MASK}", f"I am {secret}")


def test_a_worker_that_knows_of_no_rules_yet_looks_again_before_it_stores_a_sealed_run(world, masking, secret):
    rules = world.container.services.masking
    stale = rules.of(world.project_id)
    masking(("pattern", r"[\w.]+@[\w.]+"))
    run_id = accepted(world, secret)
    rules.cache.put(world.project_id, stale, time.monotonic())
    world.container.services.runs.execute(run_id)

    assert readable(world, secret) == []


@pytest.mark.parametrize(
    ("pointer", "question", "answer", "instruction"),
    [
        ("/gen_ai.input.messages/*/parts/*/content", MASK, '{"to": "Ada", "about": 7}', "Be helpful."),
        ("/gen_ai.output.messages/0/parts/0/content/to", "Who?", '{"to":"[masked]","about":7}', "Be helpful."),
        ("/gen_ai.output.messages", "Who?", MASK, "Be helpful."),
        ("/gen_ai.system_instructions/*/content", "Who?", '{"to": "Ada", "about": 7}', MASK),
        ("/elsewhere/*/content", "Who?", '{"to": "Ada", "about": 7}', "Be helpful."),
    ],
)
def test_a_pointer_names_in_a_run_what_it_names_in_the_span_of_such_a_call(
    world, upstream, masking, pointer, question, answer, instruction
):
    masking(("pointer", pointer))
    upstream.script(Reply(text='{"to": "Ada", "about": 7}'))
    found = record(world, run(world, prompt(world, model="gpt-4o-mini"), "Who?"))

    assert (found["question"], found["answer"], found["instruction"]) == (question, answer, instruction)


def test_a_pointer_into_arguments_is_followed_in_the_calls_of_a_run(world, upstream, masking):
    masking(("pointer", "/gen_ai.tool.call.arguments/customer/name"))
    arguments = {"customer": {"name": "Ada", "since": 1843}}
    upstream.script(Reply(tool_calls=[("mail", arguments)]))
    answer = run(world, prompt(world, model="gpt-4o-mini"))

    assert answer.json["toolCalls"][0]["arguments"] == arguments
    [call] = record(world, answer)["toolCalls"]
    assert (call["name"], call["arguments"]) == ("mail", {"customer": {"name": MASK, "since": 1843}})


def test_the_reason_of_a_nok_does_not_reveal_what_is_masked_of_it(world, upstream, masking):
    masking(("pointer", "/gen_ai.output.messages/*/parts/*/content/to"))
    schema = {"type": "object", "properties": {"to": {"type": "integer"}}}
    config = {"response_format": "json_schema", "json_schema": schema}
    upstream.script(Reply(text='{"to": "Ada Lovelace"}'))
    answer = run(world, prompt(world, model="gpt-4o-mini", languageModelConfig=config))

    assert "Ada Lovelace" in answer.json["status"]
    assert record(world, answer)["nok"] == f"NOK: the answer breaks json_schema at $.to: {MASK}"
    assert "Ada Lovelace" not in str(record(world, answer))


@pytest.mark.usefixtures("masked")
def test_an_answer_that_nests_too_deeply_to_be_looked_into_is_masked_whole(world, upstream):
    deep = "[" * 600 + "]" * 600
    upstream.script(Reply(text=deep))
    answer = run(world, prompt(world, model="gpt-4o-mini"), deep)

    assert answer.json["answer"] == deep
    found = record(world, answer)
    assert (found["question"], found["answer"]) == (MASK, MASK)


@pytest.mark.usefixtures("masked")
def test_usage_counts_a_masked_run_as_any_other(world, upstream, secret):
    upstream.script(Reply(text=f"Hello {secret}"))
    answer = run(world, prompt(world, model="gpt-4o-mini"), f"I am {secret}")

    assert record(world, answer)["tokens"] == answer.json["tokens"]
    assert record(world, answer)["cost"] == answer.json["cost"]
    assert answer.json["tokens"]["total"] > 0


def test_nothing_is_stored_while_the_rules_can_not_be_read(world, monkeypatch, secret):
    prompt_id = prompt(world)

    def away(_rules, _project_id):
        raise Unavailable("The database is not available; try again.")

    monkeypatch.setattr(MaskingRules, "of", away)
    assert run(world, prompt_id, secret).status_code == 503
    assert tables_with(world, secret) == []


def test_without_a_key_to_seal_with_a_project_that_masks_is_asked_to_set_one(world, masking):
    masking(("pattern", "x"))
    keyless = MaskingRules(database=world.container.database, cipher=ContentCipher(""))
    with pytest.raises(Unavailable, match="REPRISE_SECRET_KEY"):
        keyless.of(world.project_id)

    policies = replace(world.container.services.data_policies, can_encrypt=False)
    with pytest.raises(Invalid, match="masking: Set REPRISE_SECRET_KEY"):
        policies.put(project_id=world.project_id, policy=policies.get(project_id=world.project_id))


@pytest.mark.usefixtures("masked")
def test_a_run_that_was_sealed_with_another_key_fails_with_a_reason(world, secret):
    run_id = accepted(world, secret)
    with world.container.database.write() as connection:
        content = ContentCipher("other").encrypt(b"{}")
        connection.execute(table.update().where(table.c.run_id == run_id).values(content=content))
    world.container.services.runs.execute(run_id)

    found = world.get(f"/api/v1/runs/{run_id}").json
    assert (found["status"], found["error"]["kind"]) == ("failed", "invalid")
    assert "REPRISE_SECRET_KEY" in found["error"]["message"]


def test_without_rules_a_run_is_stored_as_it_came_and_nothing_is_sealed(world, upstream, secret):
    run_id = accepted(world, secret)
    assert len(chunks(world, run_id)) == 1
    upstream.script(Reply(text=f"Hello {secret}"))
    answer = run(world, prompt(world, model="gpt-4o-mini"), f"I am {secret}")
    assert record(world, answer)["answer"] == f"Hello {secret}"
    assert not world.container.redis.commands.exists(f"reprise:run:{answer.headers['X-Run-Id']}:words")

    streamed = run(world, prompt(world), f"I am {secret}", headers=EVENTS)
    assert f"reprise:run:{streamed.headers['X-Run-Id']}:events".encode() in readable(world, secret)


def test_a_follower_within_skips_pieces_that_are_not_for_it(world, masking, upstream, secret):
    masking(("pattern", r"[\w.]+@[\w.]+"))
    upstream.script(Reply(text=f"Hello {secret}"))
    answer = run(world, prompt(world, model="gpt-4o-mini"), f"I am {secret}", headers=EVENTS)
    seen = list(
        world.container.run_follower.follow(project_id=world.project_id, run_id=int(answer.headers["X-Run-Id"]))
    )
    assert not any(isinstance(one, AnswerPiece) for one in seen)
    assert seen[-1].answer == f"Hello {MASK}"
