"""A request to a vendor has what GET and render show."""

import json

import pytest

from tests.fakes.wire import Reply
from tests.integration.runs.asking import prompt, run
from tests.integration.runs.test_runs_streaming import stream
from tests.support.backends import SQLITE_CONTAINER

pytestmark = SQLITE_CONTAINER
ASKED = [run, stream]


def limit_in(body):
    generation = body.get("generationConfig", body)
    names = ("max_tokens", "max_completion_tokens", "maxOutputTokens")
    return next((generation[name] for name in names if name in generation), None)


def add_model(world, upstream):
    """Add a model at an endpoint of OpenAI's format."""
    model = {"name": "local", "baseUrl": upstream.base_url("CUSTOM_OPENAI_COMPATIBLE"), "completionTokensMax": 900}
    assert world.post("/api/v1/models", json=model).status_code == 201


@pytest.mark.parametrize("ask", ASKED)
@pytest.mark.parametrize("model", ["claude-haiku-4-5", "claude-opus-5-5", "gemini-2.5-flash", "local"])
def test_the_limit_that_is_shown_is_sent(world, upstream, model, ask):
    add_model(world, upstream)
    prompt_id = prompt(world, model=model)
    shown = world.get(f"/api/v1/prompts/{prompt_id}").json["languageModelConfig"]["max_tokens"]
    other = prompt(world, model="gpt-4o-mini")

    ask(world, prompt_id)
    assert limit_in(upstream.requests[-1].body) == shown
    ask(world, other, languageModelName=model)
    assert limit_in(upstream.requests[-1].body) == shown
    changed = {"languageModelConfig": {"max_tokens": 800}}
    assert world.patch(f"/api/v1/prompts/{prompt_id}", json=changed).status_code == 200
    ask(world, prompt_id, productive=False)
    assert limit_in(upstream.requests[-1].body) == 800


@pytest.mark.parametrize("ask", ASKED)
@pytest.mark.parametrize(
    "words",
    [
        "'max_tokens' or 'max_completion_tokens' is too large: 900. This model's maximum context length is 512 tokens.",
        "Unsupported parameter: 'max_tokens' is not supported with this model.",
        "`inputs` tokens + `max_new_tokens` must be <= 512",
    ],
)
def test_the_limit_of_a_model_is_left_out_where_its_server_refuses_it(world, upstream, ask, words):
    add_model(world, upstream)
    prompt_id = prompt(world, model="local")
    upstream.script(Reply(status=400, message=words), Reply(text="Yes."))

    answer = ask(world, prompt_id)

    assert answer.status_code == 200, answer.text
    assert [limit_in(request.body) for request in upstream.requests] == [900, None]


def test_a_limit_that_the_prompt_has_is_never_left_out(world, upstream):
    add_model(world, upstream)
    prompt_id = prompt(world, model="local", languageModelConfig={"max_tokens": 800})
    upstream.script(Reply(status=400, message="max_tokens is too large"), Reply(text="Yes."))

    assert run(world, prompt_id).status_code == 502
    assert len(upstream.requests) == 1


@pytest.mark.parametrize(("model", "sent"), [("claude-haiku-4-5", '"strict": true'), ("gemini-2.5-flash", "VALIDATED")])
def test_strict_tools_are_sent_as_such(world, upstream, model, sent):
    for strict in (True, False):
        tools = [{"name": "look", "parameters": {"type": "object"}, "strict": strict}]
        run(world, prompt(world, model=model, languageModelConfig={"tools": tools}))
        assert (sent in json.dumps(upstream.requests[-1].body)) is strict


@pytest.mark.parametrize("ask", ASKED)
def test_tools_reach_models_that_reason(world, upstream, ask):
    tools = [{"name": "look", "parameters": {"type": "object"}}]
    prompt_id = prompt(world, model="gpt-6.1-sol", languageModelConfig={"tools": tools, "reasoning_effort": "high"})
    upstream.script(Reply(text="Let me see.", tool_calls=[("look", {"n": 1})], reasoning_tokens=3))

    answer = ask(world, prompt_id)

    sent = upstream.requests[-1]
    assert sent.path.endswith("/responses")
    assert (sent.body["reasoning"], sent.body["tools"][0]["name"]) == ({"effort": "high"}, "look")
    kept = world.get(f"/api/v1/runs/{answer.headers['X-Run-Id']}").json
    assert (kept["answer"], [call["name"] for call in kept["toolCalls"]]) == ("Let me see.", ["look"])


CALLS = [
    {"id": "a", "function": {"name": "look", "arguments": '{"n": 1}'}},
    {"id": "a", "function": {"name": "look", "arguments": {"n": 18446744073709551616}}},
    {"id": "", "function": {"name": "look", "arguments": '{"n": '}},
    {"function": {"name": "", "arguments": "[1]"}},
    {"id": "x" * 300, "function": {"name": "a.b/c", "arguments": None}},
]
NEXT = ["gpt-4o-mini", "claude-haiku-4-5", "gemini-2.5-flash", "gpt-6-luna", "local"]


@pytest.mark.parametrize("model", NEXT)
def test_any_calls_are_stored_shown_and_sent_again_to_any_vendor(world, upstream, model):
    add_model(world, upstream)
    message = {"choices": [{"message": {"content": None, "tool_calls": CALLS}, "finish_reason": "tool_calls"}]}
    upstream.script(Reply(raw=json.dumps(message).encode()))
    answer = run(world, prompt(world, model="gpt-4o-mini"))
    calls = world.get(f"/api/v1/runs/{answer.headers['X-Run-Id']}").json["toolCalls"]
    assert [call["arguments"] for call in calls] == [{"n": 1}, {"n": "18446744073709551616"}, '{"n": ', [1], {}]
    assert len({call["id"] for call in calls}) == len(CALLS)

    history = [
        {"role": "user", "text": "Where?"},
        {"role": "assistant", "text": "", "toolCalls": calls},
        *({"role": "tool", "text": f"result {n}", "toolCallId": call["id"]} for n, call in enumerate(calls)),
    ]
    again = run(world, prompt(world, model=model), history=history)

    assert again.status_code == 200, again.text
    sent = json.dumps(upstream.requests[-1].body)
    assert all(f"result {number}" in sent for number in range(len(CALLS)))
