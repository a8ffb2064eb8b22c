"""A run goes on with the conversation that the caller sends, and asks another model where one is named."""

import pytest

from app.chat import Message
from app.errors import Invalid
from app.services.runs import RunCommand
from tests.fakes.models import MODELS
from tests.fakes.wire import Reply
from tests.integration.runs.asking import prompt, record, run
from tests.integration.runs.test_runs_streaming import stream
from tests.support.backends import SQLITE_CONTAINER
from tests.support.readable import readable
from tests.support.world import new_world

ASKED = {"role": "user", "text": "Where is order 7?"}
CALL = {"id": "c1", "name": "find_order", "arguments": {"id": 7}}
CALLING = {"role": "assistant", "text": "", "toolCalls": [CALL]}
RESULT = {"role": "tool", "text": "shipped", "toolCallId": "c1"}
TOLD = {"role": "assistant", "text": "It is on its way."}
CONVERSATION = [ASKED, CALLING, RESULT, TOLD]

TOO_MANY_CALLS = "history: Must have at most 2000 calls of tools."


def test_the_model_reads_the_conversation_before_the_question(world, upstream):
    upstream.script(Reply(text="On Friday."))
    answer = run(world, prompt(world, model="gpt-4o-mini"), "When?", history=CONVERSATION)

    assert answer.json["answer"] == "On Friday."
    system, *messages = upstream.requests[0].body["messages"]
    assert (system["role"], [each["role"] for each in messages]) == (
        "system",
        ["user", "assistant", "tool", "assistant", "user"],
    )
    assert messages[1]["tool_calls"][0]["function"]["name"] == "find_order"
    assert (messages[2]["tool_call_id"], messages[2]["content"]) == ("c1", "shipped")


def test_a_runs_record_has_its_history_in_the_form_that_a_run_accepts(world):
    prompt_id = prompt(world)
    first = record(world, run(world, prompt_id, "When?", history=CONVERSATION))
    again = record(world, run(world, prompt_id, "When?", history=first["history"]))

    assert [message["text"] for message in first["history"]] == [message["text"] for message in CONVERSATION]
    assert first["history"][1]["toolCalls"] == [CALL]
    assert again["history"] == first["history"]
    assert record(world, run(world, prompt_id))["history"] == []


def test_a_question_may_follow_the_results_of_tools(world):
    assert run(world, prompt(world), "And?", history=[ASKED, CALLING, RESULT]).json["answer"] == "And?"


@SQLITE_CONTAINER
@pytest.mark.parametrize(
    ("history", "message"),
    [
        ("x", "history: Not a valid list."),
        (None, "history: Field may not be null."),
        ([7], "history.0: Must be a JSON object."),
        ([{"role": "user"}], "history.0.text: Missing data for required field."),
        ([ASKED | {"role": "system"}], "history.0.role: Must be one of: user, assistant, tool."),
        ([ASKED | {"text": "a\0"}], "history.0.text: Must not contain a NUL character."),
        ([ASKED | {"files": []}], "history.0.files: Unknown field."),
        ([TOLD], "history.0.role: The first message must be the user's."),
        ([ASKED | {"toolCalls": [CALL]}], "history.0.toolCalls: Only a message of the role assistant has them."),
        ([ASKED | {"toolCallId": "c1"}], "history.0.toolCallId: Only a message of the role tool has one."),
        ([ASKED, CALLING], "history: The call 'c1' has no result: a message of the role tool."),
        ([ASKED, CALLING, TOLD], "history.2.role: Must be tool: the call 'c1' has no result yet."),
        (
            [ASKED, CALLING, RESULT, RESULT],
            "history.3.toolCallId: Must be the id of a call before this message without a result yet.",
        ),
        (
            [ASKED, TOLD | {"toolCalls": [CALL]}, ASKED],
            "history.2.role: Must be tool: the call 'c1' has no result yet.",
        ),
        (
            [ASKED, RESULT],
            "history.1.toolCallId: Must be the id of a call before this message without a result yet.",
        ),
        (
            [ASKED, CALLING | {"toolCalls": [CALL, CALL]}],
            "history.1.toolCalls: Two calls have the same id.",
        ),
        (
            [ASKED, CALLING | {"toolCalls": [CALL | {"arguments": {"a": "\0"}}]}],
            "history.1.toolCalls.0.arguments: Must not contain a NUL character.",
        ),
        ([ASKED] * 2001, "history: Must have at most 2000 entries."),
        ([ASKED, CALLING | {"toolCalls": [CALL] * 1001}, CALLING | {"toolCalls": [CALL] * 1000}], TOO_MANY_CALLS),
    ],
)
def test_a_history_that_is_no_conversation_is_400_naming_the_message(world, history, message):
    answer = world.post("/api/v1/prompts/run", json={"id": prompt(world), "question": "q", "history": history})

    assert (answer.status_code, answer.json) == (400, {"error": message})
    assert world.count("runs") == 0


def test_arguments_that_are_nested_too_deeply_are_400(world):
    deep: list = []
    for _ in range(200):
        deep = [deep]
    calling = CALLING | {"toolCalls": [CALL | {"arguments": deep}]}
    answer = run(world, prompt(world), history=[ASKED, calling, RESULT])

    assert answer.status_code == 400
    assert "history.1.toolCalls.0.arguments: Must not be nested deeper than 64 levels." in answer.json["error"]


def test_a_history_of_200_kb_is_kept_whole(world):
    long = [ASKED | {"text": '"\\\N{GRINNING FACE}' * 40_000}, TOLD]
    prompt_id = prompt(world)

    assert record(world, run(world, prompt_id, history=long))["history"][0]["text"] == long[0]["text"]


@pytest.mark.parametrize("text", ["\\" * 1_900_000, "\N{GRINNING FACE}" * 990_000])
def test_the_longest_history_is_stored_and_a_longer_one_is_refused(world, text):
    prompt_id, runs = prompt(world), world.container.services.runs
    history = (Message("user", text),)
    started = runs.start(RunCommand(prompt_id, "q", history=history), project_id=world.project_id)

    assert runs.get(project_id=world.project_id, run_id=started.run_id).request.history[0].text == text
    with pytest.raises(Invalid, match="history: Longer than 4000000 bytes with the question"):
        runs.start(RunCommand(prompt_id, "q" * 300_000, history=history), project_id=world.project_id)


def test_one_run_asks_another_model_than_its_version(world, upstream):
    upstream.script(Reply(text="Hello."))
    prompt_id = prompt(world, model="gpt-4o-mini")
    version = world.get(f"/api/v1/prompts/{prompt_id}").json["commitHash"]
    answer = run(world, prompt_id, commitHash=version, languageModelName="echo")

    assert answer.json["model"]["name"] == "echo"
    kept = record(world, answer)
    assert (kept["languageModel"]["name"], kept["commitHash"]) == ("echo", None)
    assert record(world, run(world, prompt_id))["languageModel"]["name"] == "gpt-4o-mini"
    assert world.get(f"/api/v1/prompts/{prompt_id}?productive=false").json["commited"] is True


def test_a_run_that_names_the_versions_own_model_is_one_of_the_version(world):
    prompt_id = prompt(world)
    own = record(world, run(world, prompt_id, languageModelName="echo"))

    assert own["commitHash"] == world.get(f"/api/v1/prompts/{prompt_id}").json["commitHash"]


@pytest.mark.parametrize(
    ("name", "nearest"), [("no-such-model", ""), ("echo ", ""), ("gpt-4-turbo", " The nearest is 'gpt-4.1'.")]
)
def test_a_model_that_the_organization_does_not_have_is_400_and_names_the_nearest(world, name, nearest):
    answer = run(world, prompt(world), languageModelName=name)

    assert answer.status_code == 400
    refusal = f"languageModelName: The model {name!r} is not enabled for this organization: Reprise does not know it."
    assert answer.json["error"] == f"{refusal}{nearest} Add other models on the page Settings, Models."
    assert world.count("runs") == 0


def test_a_model_of_another_organization_is_400(world):
    other = new_world(world.container)
    added = other.post("/api/v1/models", json={"name": "theirs", "baseUrl": "http://127.0.0.1:9/v1"})
    assert added.status_code == 201, added.text

    assert run(world, prompt(world), languageModelName="theirs").status_code == 400


def test_a_configuration_that_the_named_model_does_not_accept_is_400(world):
    prompt_id = prompt(world, model="gpt-4o-mini", languageModelConfig={"temperature": 1.5})
    answer = run(world, prompt_id, languageModelName=MODELS["ANTHROPIC"])

    assert answer.status_code == 400
    assert "temperature" in answer.json["error"]


def test_the_same_key_with_another_history_is_a_conflict(world):
    prompt_id, key = prompt(world), {"Idempotency-Key": "k"}
    assert run(world, prompt_id, history=CONVERSATION, headers=key).status_code == 200

    assert run(world, prompt_id, history=CONVERSATION, headers=key).status_code == 200
    assert run(world, prompt_id, history=[ASKED, TOLD], headers=key).status_code == 409


def test_a_history_is_masked_down_to_the_ids_of_its_calls(world, upstream):
    secret = f"ada{world.project_id}@example.org"
    rules = {"masking": [{"kind": "pattern", "value": r"[\w.]+@[\w.]+"}]}
    assert world.put("/api/v1/data-policy", json=rules).status_code == 200
    upstream.script(Reply(text="Yes."))
    call = {"id": secret, "name": "look", "arguments": {"who": [secret]}}
    history = [
        {"role": "user", "text": f"I am {secret}"},
        {"role": "assistant", "text": f"Hello {secret}", "toolCalls": [call]},
        {"role": "tool", "text": f"Found {secret}", "toolCallId": secret},
    ]
    answer = run(world, prompt(world, model="gpt-4o-mini"), "Who am I?", history=history)

    assert str(upstream.requests[0].body).count(secret) == 6
    assert readable(world, secret) == []
    assert secret not in str(record(world, answer))


@pytest.mark.parametrize("ask", [run, stream])
@pytest.mark.parametrize("blank", ["", " ", "\n\t"])
@pytest.mark.parametrize("role", ["assistant", "user"])
def test_a_conversation_with_a_blank_message_goes_on_with_a_vendor_that_refuses_texts_without_a_word(
    world, upstream, ask, blank, role
):
    def choose(body):
        contents = [message["content"] for message in body["messages"]]
        parts = [
            part for content in contents for part in ([{"text": content}] if isinstance(content, str) else content)
        ]
        is_blank = any("text" in part and not part["text"].strip() for part in parts) or not all(contents)
        return Reply(status=400, message="text content blocks must be non-empty") if is_blank else Reply(text="On.")

    upstream.choose = choose
    history = [{"role": "user", "text": "a"}, {"role": "assistant", "text": "b"}]
    history = [message | {"text": blank} if message["role"] == role else message for message in history]

    assert ask(world, prompt(world, model="claude-haiku-4-5"), "Go on.", history=history).status_code == 200
    assert len(upstream.requests) == 1
