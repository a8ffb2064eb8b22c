"""What a replay can show of a recording: files that are sent again, and replays that are void."""

from __future__ import annotations

import json
from typing import Any

import pytest
from reprise_formats.experiment_report import markdown

from tests.fakes.judging import is_question, judged
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.experimenting import run
from tests.integration.replays.recording import START_NS, make_case, prompt, replayed
from tests.support.backends import SQLITE_CONTAINER
from tests.support.exports import export, span
from tests.support.world import World

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMAGE = {"type": "blob", "modality": "image", "mime_type": "image/png", "content": PNG}
LINK = {"type": "uri", "modality": "image", "uri": "https://example.test/a.png"}
SPEECH = {"type": "blob", "modality": "audio", "mime_type": "audio/x-wav", "content": "UklGRiQAAABXQVZF"}
ANSWER = "It is a cat."


def seen(world: World, prompt_id: int, *parts: Any, system: str | None = None, **attributes: Any) -> str:
    """Record a turn in which the user sent these parts, and return the session's id."""
    messages = [{"role": "user", "parts": [{"type": "text", "content": "What is this?"}, *parts]}]
    if system is not None:
        messages.insert(0, {"role": "system", "parts": [{"type": "text", "content": system}]})
    answer = [{"role": "assistant", "parts": [{"type": "text", "content": ANSWER}]}]
    recorded = {
        "service.prompt.id": prompt_id,
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(messages),
        "gen_ai.output.messages": json.dumps(answer),
        **attributes,
    }
    times = {"startTimeUnixNano": str(START_NS), "endTimeUnixNano": str(START_NS + 5)}
    sent = world.send(json.loads(export(span(recorded, traceId=f"{prompt_id:032x}", **times))))
    assert (sent.status_code, sent.json) == (200, {"partialSuccess": {}})
    session_id: str = world.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json["entries"][0]["id"]
    return session_id


def test_a_recorded_image_is_sent_to_the_model_again(world: World, upstream: Upstream) -> None:
    case = make_case(world, seen(world, prompt(world), IMAGE))
    upstream.script(Reply(text=ANSWER))

    replay = replayed(world, case["id"])

    assert (case["fidelity"], replay["status"]) == ({"complete": True, "missing": []}, "passed")
    (_, question) = upstream.requests[0].body["messages"]
    assert {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}} in question["content"]
    assert (replay["fidelity"], replay["acceptedPartial"]) == ({"complete": True, "missing": []}, False)


def test_recorded_audio_is_sent_again_to_a_model_that_may_hear_it_and_is_missing_for_another(
    world: World, upstream: Upstream
) -> None:
    url = upstream.base_url("CUSTOM_OPENAI_COMPATIBLE")
    added = world.post("/api/v1/models", json={"name": "hears", "baseUrl": url, "completionTokensMax": 900})
    assert added.status_code == 201, added.text
    prompt_id = prompt(world, model="hears")
    case = make_case(world, seen(world, prompt_id, SPEECH))
    upstream.script(Reply(text=ANSWER))

    heard = replayed(world, case["id"])
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"languageModelName": "gpt-4o-mini"})
    void = replayed(world, case["id"])

    assert (case["fidelity"], heard["status"]) == ({"complete": True, "missing": []}, "passed")
    (_, question) = upstream.requests[0].body["messages"]
    audio = {"data": SPEECH["content"], "format": "wav"}
    assert {"type": "input_audio", "input_audio": audio} in question["content"]
    assert (void["status"], len(upstream.requests)) == ("void", 1)
    assert [gap["kind"] for gap in void["fidelity"]["missing"]] == ["audio"]


def test_an_experiment_names_the_test_cases_that_can_t_show_all(world: World, upstream: Upstream) -> None:
    prompt_id = prompt(world)
    make_case(world, seen(world, prompt_id, LINK), acceptPartial=True)
    upstream.choose = lambda body: judged("failed") if is_question(body) else Reply(text=ANSWER)

    found = run(world, prompt_id, baseline=None, repeats={"min": 1, "max": 1})

    assert [case["acceptedPartial"] for case in found["testCases"]] == [True]
    assert "| passes, played without all that the recorded model saw |" in markdown(found)


def test_an_image_without_its_content_makes_a_replay_void_until_the_test_case_accepts_that(
    world: World, upstream: Upstream
) -> None:
    case = make_case(world, seen(world, prompt(world), LINK))
    gap = {"kind": "image", "turn": 0, "message": "the image was recorded without its content"}
    assert (case["fidelity"], case["acceptPartial"]) == ({"complete": False, "missing": [gap]}, False)

    void = replayed(world, case["id"])
    world.patch(f"/api/v1/test-cases/{case['id']}", json={"acceptPartial": True})
    upstream.script(Reply(text=ANSWER))
    played = replayed(world, case["id"])

    assert (void["status"], void["stopReason"], void["fidelity"]["missing"]) == ("void", "void", [gap])
    assert "without all that the model saw" in void["void"]
    assert [step["result"] for step in void["turns"][0]["steps"]] == ["not_run"]
    assert (played["status"], played["acceptedPartial"], played["fidelity"]["missing"]) == ("passed", True, [gap])
    listed = world.get(f"/api/v1/prompts/{case['promptId']}/replays").json["replays"]
    assert [replay["acceptedPartial"] for replay in listed] == [True, False]
    assert len(upstream.requests) == 1
    page = world.container.services.audit.page(organization_id=world.organization_id, limit=50, cursor=None)
    assert [entry.details for entry in page.entries if entry.action == "test_case.changed"] == [{"acceptPartial": True}]


def test_a_model_that_can_not_read_images_makes_a_replay_void(world: World) -> None:
    case = make_case(world, seen(world, prompt(world, model="deepseek-v4-pro"), IMAGE))

    replay = replayed(world, case["id"])

    assert (replay["status"], replay["fidelity"]["missing"][0]["kind"]) == ("void", "image")


@pytest.mark.parametrize(
    ("system", "placeholders", "kinds"),
    [
        ("Be kind.", {"tone": "kind"}, []),
        ("Be kind.\n", {}, []),
        ("Be kind. Today is Friday.", {"tone": "kind"}, ["instruction"]),
        (None, {"tone": "kind"}, []),
    ],
)
def test_an_instruction_that_the_named_version_does_not_render_is_lacking(
    world: World, system: str | None, placeholders: dict[str, str], kinds: list[str]
) -> None:
    prompt_id = prompt(world, instructionFormat="RAW")
    world.post(f"/api/v1/prompts/{prompt_id}/commit", json={"message": "First"})
    committed = world.get(f"/api/v1/prompts/{prompt_id}/versions").json["versions"][0]["commitHash"]
    named = {"service.prompt.version": committed, "service.prompt.placeholders": json.dumps(placeholders)}

    case = make_case(world, seen(world, prompt_id, system=system, **named))

    assert [gap["kind"] for gap in case["fidelity"]["missing"]] == kinds


def test_a_test_case_with_files_is_a_file_of_version_3_that_comes_back(world: World) -> None:
    case = make_case(world, seen(world, prompt(world), IMAGE, LINK), acceptPartial=True)

    file = world.get(f"/api/v1/test-cases/{case['id']}/export").json
    brought = world.post(f"/api/v1/prompts/{prompt(world)}/test-cases/import", json=file).json

    assert file["format"] == "reprise.test-case/3"
    for name in ("turns", "fidelity", "acceptPartial"):
        assert brought[name] == case[name]


@SQLITE_CONTAINER
@pytest.mark.parametrize(
    ("body", "words"),
    [({"acceptPartial": "yes"}, "acceptPartial: "), ({"acceptPartial": None}, "acceptPartial: ")],
)
def test_what_is_no_truth_value_is_refused(world: World, body: dict[str, Any], words: str) -> None:
    session_id = seen(world, prompt(world), IMAGE)

    refused = world.post(f"/api/v1/sessions/{session_id}/test-cases", json=body)

    assert (refused.status_code, refused.json["error"].startswith(words)) == (400, True)
