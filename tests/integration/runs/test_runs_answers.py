"""Run Prompt answers as the contract demands, whatever the model answers."""

import base64

import pytest

from app.models import runs
from tests.fakes.models import MODELS
from tests.fakes.wire import Reply
from tests.integration.runs.asking import prompt, record, run
from tests.integration.runs.conftest import KEY

PNG = base64.b64encode(b"\x89PNG picture").decode()
PLACEHOLDER = [
    {
        "key": "tone",
        "values": [{"name": "calm", "content": "calm", "isDefault": True}, {"name": "loud", "content": "LOUD"}],
    }
]


def test_a_committed_prompt_answers_with_tokens_cost_and_time(world):
    answer = run(world, prompt(world))

    assert answer.status_code == 200
    took = answer.json.pop("response_time_ms")
    assert isinstance(took, int)
    assert answer.json == {
        "answer": "Where is order 7?",
        "tokens": {"prompt": 6, "completion": 4, "total": 10},
        "cost": {"prompt": 0.0, "completion": 0.0, "total": 0.0},
        "response_time_ms": took,
        "placeholders": {"resolved": {}, "ignored": []},
        "model": {"id": answer.json["model"]["id"], "name": "echo", "vendor": "BUILTIN"},
    }


def test_the_record_has_all_that_was_asked_and_answered(world):
    prompt_id = prompt(world, "Be {{tone}}.", placeholders=PLACEHOLDER)
    answer = run(world, prompt_id, placeholders={"tone": "loud", "mood": "x"})
    found = record(world, answer)

    assert found["status"] == "done"
    assert found["promptId"] == prompt_id
    assert len(found["commitHash"]) == 64
    assert found["instruction"] == "Be LOUD."
    assert found["placeholders"] == {"resolved": {"tone": "loud"}, "ignored": ["mood"]}
    assert found["languageModel"]["name"] == "echo"
    assert found["source"] == "api"
    assert found["error"] is None
    assert found["createdAt"] <= found["startedAt"] <= found["finishedAt"]


def test_memory_key_selects_unless_its_placeholder_does(world):
    names = [{"name": "ann", "content": "Ann"}, {"name": "bob", "content": "Bob"}]
    prompt_id = prompt(world, "{{memory_key}}", placeholders=[{"key": "memory_key", "values": names}])

    assert record(world, run(world, prompt_id, memoryKey="ann"))["instruction"] == "Ann"
    both = run(world, prompt_id, memoryKey="ann", placeholders={"memory_key": "bob"})
    assert both.json["placeholders"] == {"resolved": {"memory_key": "bob"}, "ignored": []}


def test_a_draft_runs_only_when_asked_for(world):
    draft = world.prompt()

    assert run(world, draft).status_code == 404
    answer = run(world, draft, productive=False)
    assert answer.status_code == 200
    assert record(world, answer)["commitHash"] is None


def test_a_pinned_version_runs_although_the_draft_and_the_newest_differ(world):
    prompt_id = prompt(world, "first")
    first = world.get(f"/api/v1/prompts/{prompt_id}").json["commitHash"]
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": "second"})
    world.post(f"/api/v1/prompts/{prompt_id}/commit", json={})

    assert record(world, run(world, prompt_id))["instruction"] == "second"
    pinned = record(world, run(world, prompt_id, productive=False, commitHash=first))
    assert (pinned["instruction"], pinned["commitHash"]) == ("first", first)


def test_the_instruction_is_sent_as_system_message_and_the_question_as_users(world, upstream):
    answer = run(world, prompt(world, "# Role\nBe brief", "gpt-4o-mini", instructionFormat="XML"))

    assert answer.json["answer"] == "echo: Where is order 7?"
    system, user = upstream.requests[-1].body["messages"]
    assert system["content"] == "<instructions>\n<role>\nBe brief\n</role>\n</instructions>"
    assert user["content"] == "Where is order 7?"


@pytest.mark.parametrize("vendor", ["OPENAI", "ANTHROPIC", "GOOGLE"])
def test_every_vendor_is_called_over_http_with_its_credential(world, upstream, vendor):
    answer = run(world, prompt(world, model=MODELS[vendor]), "Hello?")

    assert (answer.status_code, answer.json["answer"]) == (200, "echo: Hello?")
    asked = upstream.requests[-1]
    assert asked.vendor == vendor
    assert KEY in str(asked.headers)
    assert record(world, answer)["languageModel"]["vendor"] == vendor


def test_reasoning_cached_tokens_and_cost_are_reported(world, upstream):
    upstream.script(Reply(text="Fine.", reasoning="Let me think.", cached=2, reasoning_tokens=1))
    answer = run(world, prompt(world, model="gpt-4o-mini")).json

    assert answer["tokens"]["cacheRead"] == 2
    assert answer["tokens"]["reasoning"] == 1
    assert answer["tokens"]["total"] == answer["tokens"]["prompt"] + answer["tokens"]["completion"]
    assert answer["cost"]["total"] == pytest.approx(answer["cost"]["prompt"] + answer["cost"]["completion"])
    assert answer["cost"]["total"] > 0


def test_tool_calls_come_with_an_empty_answer(world):
    tool = {
        "name": "find",
        "parameters": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
    }
    answer = run(world, prompt(world, model="demo-agent", languageModelConfig={"tools": [tool]}), "order 7").json

    assert answer["answer"] == ""
    [call] = answer["toolCalls"]
    assert (call["name"], call["arguments"]) == ("find", {"q": "order 7"})
    assert "status" not in answer


@pytest.mark.parametrize(
    ("config", "reply", "reason"),
    [
        ({"max_tokens": 3}, Reply(text="One two", truncated=True), "NOK: the answer was cut off at max_tokens (3)"),
        ({}, Reply(refusal="I can't."), "NOK: the model refused to answer: I can't."),
        ({"response_format": "json_object"}, Reply(text="not json"), "NOK: the answer is not JSON"),
        (
            {"response_format": "json_schema", "json_schema": {"type": "object", "required": ["city"]}},
            Reply(text="{}"),
            "NOK: the answer breaks json_schema at $: 'city' is a required property",
        ),
    ],
    ids=["cut off", "refused", "not JSON", "breaks the schema"],
)
def test_an_answer_that_cannot_be_used_is_200_and_nok_with_a_reason(world, upstream, config, reply, reason):
    upstream.script(reply)
    answer = run(world, prompt(world, model="gpt-4o-mini", languageModelConfig=config))

    assert answer.status_code == 200
    assert answer.json["status"].startswith(reason)
    assert record(world, answer)["nok"] == answer.json["status"]


def test_files_reach_the_model_and_are_kept_no_longer(world, upstream):
    files = [
        {"fileName": "p.png", "contentType": "image/png", "base64": PNG},
        {"fileName": "t.txt", "base64": "data:text/plain;base64," + base64.b64encode("Grüße".encode()).decode()},
    ]
    answer = run(world, prompt(world, model="gpt-4o-mini"), files=files)

    parts = upstream.requests[-1].body["messages"][1]["content"]
    assert parts[1]["image_url"]["url"] == f"data:image/png;base64,{PNG}"
    assert "Grüße" in parts[2]["text"]
    assert [file["size"] for file in record(world, answer)["files"]] == [12, 7]
    with world.container.database.read() as connection:
        assert runs.read_files(connection, run_id=int(answer.headers["X-Run-Id"]), count=len(files)) == [b"", b""]


@pytest.mark.parametrize("question", ["", "🦊 роль\u202e\u0001", "x" * 200_000], ids=["empty", "any Unicode", "long"])
def test_a_question_comes_back_unchanged(world, question):
    answer = run(world, prompt(world, languageModelConfig={"max_tokens": 900_000}), question)

    assert (answer.status_code, answer.json["answer"]) == (200, question)
    assert record(world, answer)["question"] == question


def test_unpaired_surrogates_in_an_answer_break_nothing(world, upstream):
    upstream.script(Reply(text="half \ud83d", tool_calls=[("find", {"q": "\ud83d"})]))
    answer = run(world, prompt(world, model="gpt-4o-mini"))

    assert (answer.status_code, answer.json["answer"]) == (200, "half \ufffd")
