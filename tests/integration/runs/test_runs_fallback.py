"""A prompt's second model answers when its first fails, and everybody can see that it did."""

import pytest

from app.metrics.registry import RUNS
from tests.fakes.models import MODELS
from tests.fakes.wire import Reply
from tests.integration.runs.asking import prompt, record, run
from tests.integration.runs.test_runs_streaming import events, said, stream
from tests.support.backends import SQLITE_CONTAINER
from tests.support.counting import Since

FIRST, SECOND = MODELS["OPENAI"], MODELS["ANTHROPIC"]
DOWN = Reply(status=400, message="No luck")


@pytest.fixture
def prompt_id(world):
    return prompt(world, model=FIRST, fallbackModelName=SECOND)


@SQLITE_CONTAINER
def test_the_first_model_answers_while_it_can(world, upstream, prompt_id):
    answer = run(world, prompt_id)

    assert (answer.json["model"]["name"], "fallback" in answer.json) == (FIRST, False)
    assert [asked.vendor for asked in upstream.requests] == ["OPENAI"]


def test_the_second_answers_when_the_first_fails_and_the_answer_and_the_record_name_it(world, upstream, prompt_id):
    upstream.script(DOWN, Reply(text="From the second."))
    answer = run(world, prompt_id)

    assert (answer.status_code, answer.json["answer"], answer.json["fallback"]) == (200, "From the second.", True)
    assert answer.json["model"] == {**answer.json["model"], "name": SECOND, "vendor": "ANTHROPIC"}
    found = record(world, answer)
    assert found["languageModel"] == answer.json["model"]
    assert found["fallback"]["firstError"].startswith(f"{FIRST}: ")
    assert "No luck" in found["fallback"]["firstError"]


@SQLITE_CONTAINER
def test_it_is_counted_under_the_model_that_answered(world, upstream, prompt_id):
    upstream.script(DOWN, Reply(text="From the second."))
    counted = Since(world, RUNS)
    run(world, prompt_id)

    assert counted.moved() == {(SECOND, "ok"): 1}


@SQLITE_CONTAINER
def test_it_costs_what_the_model_that_answered_costs(world, upstream, prompt_id):
    upstream.script(DOWN, Reply(text="one two three"))
    fallen = run(world, prompt_id)
    upstream.script(Reply(text="one two three"))
    direct = run(world, prompt(world, model=SECOND))

    assert fallen.json["tokens"] == direct.json["tokens"]
    assert fallen.json["cost"] == direct.json["cost"]
    assert fallen.json["cost"]["total"] > 0


@SQLITE_CONTAINER
def test_a_first_model_that_never_answers_leaves_time_for_the_second(world, upstream, prompt_id, monkeypatch):
    monkeypatch.setattr("app.services.runs.execution.FIRST_SHARE", 0.001)
    # The first call may end before it has reached the upstream.
    hangs_first = {FIRST: Reply(hang=True), SECOND: Reply(text="In time.")}
    monkeypatch.setattr(upstream, "choose", lambda body: hangs_first[body["model"]])

    assert run(world, prompt_id).json["answer"] == "In time."


@SQLITE_CONTAINER
def test_a_vendor_without_a_credential_is_a_failure_too(world):
    prompt_id = prompt(world, model=MODELS["DEEPSEEK"], fallbackModelName=FIRST)

    assert run(world, prompt_id).json["model"]["name"] == FIRST


@SQLITE_CONTAINER
def test_when_both_fail_the_error_has_the_words_of_each(world, upstream, prompt_id):
    upstream.script(Reply(status=400, message="First words"), Reply(status=400, message="Last words"))
    answer = run(world, prompt_id)

    assert answer.status_code == 502
    assert "First words" in answer.json["error"]
    assert "Last words" in answer.json["error"]
    assert record(world, answer)["languageModel"]["name"] == FIRST


@SQLITE_CONTAINER
def test_an_answer_that_cannot_be_used_is_no_failure(world, upstream, prompt_id):
    upstream.script(Reply(refusal="No."))
    answer = run(world, prompt_id)

    assert answer.json["status"].startswith("NOK")
    assert len(upstream.requests) == 1


@SQLITE_CONTAINER
def test_a_stream_goes_on_with_the_second_before_the_first_has_sent_anything(world, upstream, prompt_id):
    upstream.script(DOWN, Reply(text="From the second."))
    found = events(stream(world, prompt_id))

    assert said(found) == "From the second."
    assert (found[-1][0], found[-1][2]["fallback"]) == ("done", True)


@SQLITE_CONTAINER
def test_a_stream_that_has_begun_is_never_begun_again(world, upstream, prompt_id):
    upstream.script(Reply(text="one two three four five", cut=True, cut_after=4), Reply(text="never"))
    found = events(stream(world, prompt_id))

    assert found[-1][0] == "error"
    assert len(upstream.requests) == 1


def test_a_second_model_that_was_disabled_since_is_not_asked(world, container, upstream, prompt_id):
    models = container.services.models
    [second] = [m for m in models.list(organization_id=world.organization_id) if m.name == SECOND]
    models.choose(organization_id=world.organization_id, model_id=second.id, disabled=True)
    upstream.script(DOWN)

    assert run(world, prompt_id).status_code == 502
    assert len(upstream.requests) == 1


def test_the_second_model_is_part_of_drafts_and_versions(world, prompt_id):
    path = f"/api/v1/prompts/{prompt_id}"
    first = world.get(path).json
    assert first["fallbackModelName"] == SECOND

    changed = world.patch(path, json={"fallbackModelName": None}).json
    assert (changed["fallbackModelName"], changed["commited"]) == (None, False)
    assert world.patch(path, json={"name": "Other"}).json["fallbackModelName"] is None
    world.post(f"{path}/commit", json={})
    assert world.get(path).json["fallbackModelName"] is None
    assert world.get(f"{path}/versions/{first['commitHash']}").json["fallbackModelName"] == SECOND

    restored = world.post(f"{path}/versions/{first['commitHash']}/restore", json={})
    assert restored.json["fallbackModelName"] == SECOND


@SQLITE_CONTAINER
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"fallbackModelName": "none such"}, "fallbackModelName: The model 'none such' is not enabled"),
        ({"fallbackModelName": FIRST}, "fallbackModelName: Must be another model"),
        ({"fallbackModelName": 7}, "fallbackModelName: Not a valid string."),
        ({"fallbackModelName": SECOND, "languageModelConfig": {"temperature": 1.5}}, SECOND),
    ],
)
def test_a_second_model_that_would_not_do_is_400(world, fields, message):
    body = {"name": "P", "value": "v", "languageModelName": FIRST, **fields}
    answer = world.post("/api/v1/prompts", json=body)

    assert answer.status_code == 400
    assert message in answer.json["error"]
