"""Bad runs are refused before anything is written; runs that fail later are in the log."""

import base64

import pytest

from tests.fakes.wire import Reply
from tests.integration.runs.asking import prompt, record, run
from tests.support.backends import SQLITE_CONTAINER
from tests.support.world import new_world

TEXT = base64.b64encode(b"hello").decode()


def file(**fields):
    return {"files": [{"fileName": "f", "contentType": "text/plain", "base64": TEXT, **fields}]}


@SQLITE_CONTAINER
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"question": None}, "question: Field may not be null."),
        ({"question": 7}, "question: Not a valid string."),
        ({"question": "a\0b"}, "question: Must not contain a NUL character."),
        ({"id": "x"}, "id: Must be an integer."),
        ({"id": True}, "id: Must be an integer."),
        ({"productive": "false"}, "productive: Must be true or false."),
        (
            {"placeholders": ["tone"]},
            "placeholders: Must be a JSON object: each placeholder's key to the name of a value.",
        ),
        ({"placeholders": {"tone": 1}}, "placeholders.tone: Must be a string, the name of a value."),
        ({"memoryKey": {}}, "memoryKey: Not a valid string."),
        ({"surprise": 1}, "surprise: Unknown field."),
        ({"files": {}}, "files: Not a valid list."),
        ({"files": file()["files"] * 4}, "files: Must have at most 3 entries."),
        (file(base64="%%%"), "files.0.base64: Not valid base64."),
        (file(base64="aGVsbG8"), "files.0.base64: Not valid base64."),
        (file(base64="ü"), "files.0.base64: Not valid base64."),
        (file(base64=""), "files.0.base64: The file is empty."),
        (file(base64="data:text/plain,hello"), "files.0.base64: A data URL must contain ;base64."),
        (file(contentType=""), "files.0.contentType: Must be given here or in the data URL."),
        (file(contentType="text"), "files.0.contentType: Must be a media type, such as image/png."),
    ],
)
def test_bad_input_is_400_naming_the_field(world, fields, message):
    answer = world.post("/api/v1/prompts/run", json={"id": prompt(world), "question": "q", **fields})

    assert (answer.status_code, answer.json) == (400, {"error": message})
    assert world.count("runs") == 0


def test_what_is_missing_is_named(world):
    answer = world.post("/api/v1/prompts/run", json={})

    assert answer.status_code == 400
    assert "id: Missing data for required field." in answer.json["error"]
    assert "question: Missing data for required field." in answer.json["error"]


@SQLITE_CONTAINER
@pytest.mark.parametrize(
    ("model", "media_type", "message"),
    [
        ("gpt-4o-mini", "audio/mpeg", "gpt-4o-mini can't read audio/mpeg (f)."),
        ("gpt-4o-mini", "video/mp4", "OPENAI models can't read video/mp4 (f)."),
        ("deepseek-flash", "application/pdf", "can't read application/pdf (f)."),
    ],
)
def test_a_file_that_the_model_cannot_read_is_400(world, model, media_type, message):
    answer = run(world, prompt(world, model=model), **file(contentType=media_type))

    assert answer.status_code == 400
    assert message in answer.json["error"]
    assert world.count("runs") == 0


def test_a_text_file_that_is_no_text_is_400(world):
    broken = base64.b64encode(b"\xff\xfe\xff").decode()
    answer = run(world, prompt(world, model="gpt-4o-mini"), **file(base64=broken))

    assert (answer.status_code, answer.json["error"]) == (400, "f is sent as text, but it is not UTF-8.")


def test_a_body_over_the_limit_is_413(world):
    answer = run(world, prompt(world), "x" * 2_000_001)

    assert answer.status_code == 413
    assert world.count("runs") == 0


def test_whatever_can_be_made_can_be_run_and_what_would_grow_further_is_not_made(world):
    def body(times):
        values = [{"name": "long", "content": "x" * 99_995, "isDefault": True}]
        return {
            "name": "P",
            "value": "{{a}}" * times,
            "languageModelName": "gpt-4o-mini",
            "placeholders": [{"key": "a", "values": values}],
        }

    longest = world.post("/api/v1/prompts", json=body(20))
    assert run(world, longest.json["prompt"]["id"]).status_code == 200
    refused = world.post("/api/v1/prompts", json=body(21))
    assert (refused.status_code, "the limit is 2000000" in refused.json["error"]) == (400, True)


def test_unknown_and_foreign_prompts_and_versions_are_404(world, container):
    mine = prompt(world)
    stranger = new_world(container)

    assert run(stranger, mine).json == run(world, 10**15).json
    assert run(stranger, mine).status_code == 404
    assert run(world, mine, commitHash="0" * 64).status_code == 404
    answer = run(world, mine)
    assert stranger.get(f"/api/v1/runs/{answer.headers['X-Run-Id']}").status_code == 404


def test_a_disabled_model_is_400(world):
    prompt_id = prompt(world, model="gpt-4o-mini")
    models = world.container.services.models
    model = next(m for m in models.list(organization_id=world.organization_id) if m.name == "gpt-4o-mini")
    models.choose(organization_id=world.organization_id, model_id=model.id, disabled=True)

    answer = run(world, prompt_id)
    assert answer.status_code == 400
    assert "gpt-4o-mini is disabled" in answer.json["error"]
    assert world.count("runs") == 0


def test_a_vendor_without_credential_is_502_naming_the_variable(world):
    answer = run(world, prompt(world, model="deepseek-flash"))

    assert answer.status_code == 502
    assert "DEEPSEEK_API_KEY" in answer.json["error"]
    assert record(world, answer)["error"]["kind"] == "provider"


def test_an_organizations_own_credential_goes_before_the_settings(world, upstream):
    upstream.script(Reply(text="Hi."))
    world.container.services.credentials.set(
        world.organization_id, "OPENAI", api_key="sk-own", base_url=upstream.base_url("OPENAI")
    )
    assert run(world, prompt(world, model="gpt-4o-mini")).status_code == 200
    assert upstream.requests[-1].headers["authorization"] == "Bearer sk-own"


def test_a_vendors_refusal_is_502_in_its_own_words_without_the_key(world, upstream):
    upstream.script(Reply(status=401, message="Incorrect key", echo_key=True))
    answer = run(world, prompt(world, model="gpt-4o-mini"))

    assert answer.status_code == 502
    assert "Incorrect key" in answer.json["error"]
    assert "sk-very-secret" not in answer.text
    found = record(world, answer)
    assert (found["status"], found["error"]["message"]) == ("failed", answer.json["error"])
    assert found["instruction"] == "Be helpful."


@pytest.mark.usefixtures("impatient")
def test_a_vendor_that_does_not_answer_is_504(world, upstream):
    upstream.script(Reply(hang=True))
    answer = run(world, prompt(world, model="gpt-4o-mini"))

    assert answer.status_code == 504
    assert record(world, answer)["error"]["kind"] == "provider_timeout"


def test_a_key_without_the_scope_run_is_403(world):
    reader = world.container.services.keys.create(
        project_id=world.project_id, name="reader", scopes=frozenset({"read"})
    )
    answer = run(world, prompt(world), headers={"Authorization": f"Bearer {reader.secret}"})

    assert answer.status_code == 403
