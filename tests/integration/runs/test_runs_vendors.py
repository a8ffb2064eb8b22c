"""The vendors that tests elsewhere leave out, through a whole run: DEEPSEEK, and an endpoint of one's own."""

import pytest

from app.models.language_models import language_models
from tests.fakes.models import MODELS
from tests.fakes.wire import Reply
from tests.integration.runs.asking import prompt, record, run
from tests.integration.runs.test_runs_streaming import events, said, stream
from tests.support.own_models import add_own_model

KEY = "sk-of-this-organization"


@pytest.fixture
def deepseek(world, upstream):
    world.container.services.credentials.set(
        world.organization_id, "DEEPSEEK", api_key=KEY, base_url=upstream.base_url("DEEPSEEK")
    )
    return prompt(world, model=MODELS["DEEPSEEK"])


@pytest.fixture
def custom(world, upstream):
    """A model of the organization's own, on its own server, with its own prices."""
    add_own_model(world, "llama3", upstream.base_url("CUSTOM_OPENAI_COMPATIBLE"))
    return prompt(world, model="llama3")


@pytest.mark.parametrize("vendor", ["deepseek", "custom"])
def test_it_answers_whole_and_as_a_stream(world, upstream, request, vendor):
    prompt_id = request.getfixturevalue(vendor)
    upstream.script(Reply(text="one two"), Reply(text="one two"))
    whole = run(world, prompt_id)

    assert (whole.status_code, whole.json["answer"]) == (200, "one two")
    assert said(events(stream(world, prompt_id))) == "one two"
    assert record(world, whole)["languageModel"]["vendor"] == upstream.requests[-1].vendor


def test_thoughts_in_the_text_of_an_own_model_are_no_answer(world, upstream, custom):
    text = "<think>They ask about `</think>`.</think>\n\nThe tag </think> ends <think>."
    upstream.script(Reply(text=text), Reply(text=text), Reply(text="<think>They ask", truncated=True))
    whole = run(world, custom).json
    streamed = events(stream(world, custom))

    assert whole["answer"] == said(streamed) == "The tag </think> ends <think>."
    assert whole["chainOfThoughts"] == "They ask about `</think>`."
    assert "".join(data["text"] for kind, _, data in streamed if kind == "reasoning") == whole["chainOfThoughts"]
    assert (streamed[-1][2]["answer"], streamed[-1][2]["chainOfThoughts"]) == (said(streamed), whole["chainOfThoughts"])
    cut = run(world, custom).json
    assert (cut["answer"], cut["chainOfThoughts"], cut["status"][:3]) == ("", "They ask", "NOK")


def test_deepseek_gets_the_organizations_key(world, upstream, deepseek):
    run(world, deepseek)

    assert upstream.requests[-1].headers["authorization"] == f"Bearer {KEY}"


def test_an_own_model_costs_its_own_prices(world, custom):
    answer = run(world, custom).json

    expected = (answer["tokens"]["prompt"] + 2 * answer["tokens"]["completion"]) / 1_000_000
    assert answer["cost"]["total"] == pytest.approx(expected)


def test_a_model_that_was_retired_since_is_400(world, custom):
    table = language_models
    with world.container.database.write() as connection:
        mine = table.update().where(table.c.organization_id == world.organization_id)
        connection.execute(mine.values(retired=True))
    world.container.services.models.cache.clear()
    answer = run(world, custom)

    assert answer.status_code == 400
    assert "llama3 is retired" in answer.json["error"]
    assert world.count("runs") == 0
