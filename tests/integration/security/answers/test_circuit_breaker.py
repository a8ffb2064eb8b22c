"""Runs of one prompt that fail do not affect those of another; a run that is refused asks its second model."""

import pytest

from app.providers.breaker import CALLS_MIN, COOL_DOWN_S
from tests.fakes.models import MODELS
from tests.fakes.wire import Reply
from tests.integration.runs.asking import prompt, record, run

DOWN = Reply(status=503, message="down")
REFUSED = "Most of the latest calls of"


@pytest.fixture(autouse=True)
def minute(world, breaker_clock):
    """A minute that lasts as long as the test, after all that was before."""
    breaker_clock.now += 1000
    breaker_clock.step = 0.0
    yield breaker_clock
    breaker_clock.step = 1000.0


def fail(world, upstream, prompt_id, times):
    upstream.script(*[DOWN] * times)
    for _ in range(times):
        answer = run(world, prompt_id)
        assert (answer.status_code, REFUSED in answer.json["error"]) == (502, False)


def test_two_failing_runs_of_one_prompt_refuse_no_other_prompts_next(world, upstream):
    fail(world, upstream, prompt(world, model=MODELS["OPENAI"]), 2)

    assert run(world, prompt(world, model=MODELS["OPENAI"])).status_code == 200
    assert run(world, prompt(world, model="gpt-4o")).status_code == 200


def test_a_model_that_is_down_refuses_its_runs_and_those_of_no_other_model(world, upstream):
    prompt_id = prompt(world, model=MODELS["OPENAI"])
    fail(world, upstream, prompt_id, CALLS_MIN)
    asked = len(upstream.requests)
    refused = run(world, prompt_id)

    assert (refused.status_code, REFUSED in refused.json["error"], len(upstream.requests)) == (502, True, asked)
    assert record(world, refused)["error"]["kind"] == "provider"
    assert run(world, prompt(world, model="gpt-4o")).status_code == 200


def test_a_run_that_is_refused_asks_its_second_model(world, upstream):
    fail(world, upstream, prompt(world, model=MODELS["GOOGLE"]), CALLS_MIN)
    answer = run(world, prompt(world, model=MODELS["GOOGLE"], fallbackModelName=MODELS["ANTHROPIC"]))

    assert (answer.status_code, answer.json["model"]["name"]) == (200, MODELS["ANTHROPIC"])
    assert upstream.requests[-1].vendor == "ANTHROPIC"
    assert REFUSED in record(world, answer)["fallback"]["firstError"]


def test_after_a_pause_one_run_that_succeeds_lets_all_through(world, upstream, minute):
    prompt_id = prompt(world, model=MODELS["ANTHROPIC"])
    fail(world, upstream, prompt_id, CALLS_MIN)
    assert run(world, prompt_id).status_code == 502
    minute.now += COOL_DOWN_S

    assert [run(world, prompt_id).status_code for _ in range(2)] == [200, 200]
