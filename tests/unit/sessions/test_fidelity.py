"""What a recorded turn has besides texts, and what its recording lacks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.otlp.decode import decode
from app.otlp.normalise.media import Media
from app.sessions.build import build_session
from app.sessions.types import Turn
from tests.support.exports import export, pairs_of, span

IMAGE = {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "iVBORw0KGgo="}
TEXT = {"type": "text", "content": "What is this?"}


def message(role: str, *parts: Any) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def turn(*messages: dict[str, Any], **attributes: Any) -> Turn:
    recorded = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(messages)}
    names = {key.replace("__", "."): value for key, value in attributes.items()}
    (built,) = build_session([decode(export(span(recorded | names))).spans])
    return built


def test_files_of_the_user_s_message_are_kept_once_in_their_order() -> None:
    built = turn(message("user", TEXT, IMAGE), message("user", TEXT, IMAGE))

    assert built.files == (Media("image", "image/png", "", "iVBORw0KGgo="),)
    assert built.gaps == ()


@pytest.mark.parametrize(
    ("messages", "attributes", "kinds"),
    [
        ([message("user", TEXT), message("tool", IMAGE)], {}, ["image"]),
        ([message("user", TEXT, {"type": "hologram"})], {}, ["unknown_part"]),
        ([message("user", TEXT), message("assistant", {"type": "hologram"})], {}, []),
        ([message("user", TEXT, {"type": "compaction", "content": "…"})], {}, ["history"]),
        ([message("user", TEXT)], {"gen_ai__request__previous_response_id": "resp_0"}, ["history"]),
        ([message("user", TEXT)], {"gen_ai__request__previous_response__id": "resp_0"}, ["history"]),
        ([message("user", TEXT)], {"gen_ai__conversation__compacted": True}, ["history"]),
        ([message("user", TEXT, {"type": "generic", "generic_type": "citation"})], {}, ["unknown_part"]),
        ([message("user", TEXT)], {"llm__invocation_parameters": '{"previous_response_id": "r"}'}, ["history"]),
        ([message("user", TEXT)], {"gen_ai__input__messages_ref": "s3://bucket/1"}, ["content_elsewhere"]),
        ([message("user", TEXT)], {"gen_ai__tool__call__result": '[{"a": 1'}, ["cut"]),
        ([message("user", TEXT)], {}, []),
    ],
)
def test_what_the_recording_lacks_is_named_by_its_kind(
    messages: list[Any], attributes: dict[str, str], kinds: list[str]
) -> None:
    assert [gap.kind for gap in turn(*messages, **attributes).gaps] == kinds


def test_a_previous_response_that_the_session_has_is_no_gap() -> None:
    ids = {"gen_ai__response__id": "resp_0", "gen_ai__request__previous_response_id": "resp_0"}

    assert turn(message("user", TEXT), **ids).gaps == ()


def test_the_instruction_is_that_of_the_attribute_or_of_the_system_s_messages() -> None:
    system = message("system", {"type": "text", "content": "Be kind."})
    attribute = json.dumps([{"type": "text", "content": "Be brief."}])

    assert turn(system, message("user", TEXT)).instruction == "Be kind."
    assert turn(message("user", TEXT), gen_ai__system_instructions=attribute).instruction == "Be brief."
    assert turn(message("user", TEXT)).instruction is None


@pytest.mark.parametrize(
    ("attribute", "sent", "shown"),
    [
        (["Be brief."], ["Be kind."], "Be brief.\nBe kind."),
        (["Be brief."], ["Be brief."], "Be brief."),
        (["Be brief."], [" Be\nbrief. "], "Be brief."),
        (["Be brief.", "Be kind."], ["Be brief.\nBe kind."], "Be brief.\nBe kind."),
        (["Be brief.\nBe kind."], ["Be brief.", "Be kind."], "Be brief.\nBe kind."),
        (["Be brief."], ["Be brief.", "Be kind."], "Be brief.\nBe kind."),
        (["Be brief.", "Be kind."], ["Be kind."], "Be brief.\nBe kind."),
        (["Be brief."], ["Be brief. Be kind."], "Be brief.\nBe brief. Be kind."),
        (["<elided>"], ["Be kind."], "Be kind."),
        (["Be brief."], ["<elided>"], "Be brief."),
    ],
)
@pytest.mark.parametrize("role", ["system", "developer"])
def test_an_instruction_in_two_places_of_one_call_is_shown_as_the_model_saw_it(
    attribute: list[str], sent: list[str], shown: str, role: str
) -> None:
    recorded = json.dumps([{"type": "text", "content": text} for text in attribute])
    messages = [message(role, {"type": "text", "content": text}) for text in sent]

    assert turn(*messages, message("user", TEXT), gen_ai__system_instructions=recorded).instruction == shown


def test_a_system_s_message_repeated_in_a_call_stays_repeated() -> None:
    system = message("system", {"type": "text", "content": "Be kind."})

    assert turn(system, message("user", TEXT), system).instruction == "Be kind.\nBe kind."


HEARD = {"type": "input_audio", "transcript": "What is this?", "input_audio": {"format": "wav"}}


@pytest.mark.parametrize(
    ("messages", "attributes", "words"),
    [
        ([message("user", TEXT, IMAGE)], {}, ["parts that are no text: image"]),
        ([message("user", IMAGE)], {}, ["parts that are no text: image"]),
        ([message("user", HEARD)], {}, ["parts that are no text: audio"]),
        ([message("user", TEXT, {"type": "hologram"})], {}, ["a part of the type hologram"]),
        ([message("user", TEXT, {"type": "generic", "generic_type": "citation"})], {}, ["type citation"]),
        ([message("user", TEXT)], {"gen_ai__conversation__compacted": "true"}, ["compacted"]),
        ([message("user", TEXT)], {"gen_ai__request__previous_response__id": "r"}, ["held earlier messages"]),
        ([], {"gen_ai__input__messages_ref": "s3://bucket/1"}, ["Content is elsewhere"]),
        ([], {"gen_ai__prompt": "[ChatMessage(role='user')]"}, ["in a form that is not read: gen_ai.prompt"]),
        ([], {}, ["turn on content capture"]),
        ([message("user", TEXT)], {}, []),
    ],
)
def test_a_turn_warns_in_words_of_what_is_not_read(
    messages: list[Any], attributes: dict[str, Any], words: list[str]
) -> None:
    warnings = turn(*messages, **attributes).warnings

    assert len(warnings) == len(words)
    assert all(word in warning for word, warning in zip(words, warnings, strict=True))


SUCCEEDED: list[dict[str, Any]] = [{"status": {"code": 1}}, {"gen_ai.usage.output_tokens": 3}]
SAID = {"gen_ai.output.messages": '[{"role": "assistant", "content": "A cat."}]'}


@pytest.mark.parametrize(
    ("succeeded", "attributes", "warned"),
    [
        *((how, {}, True) for how in SUCCEEDED),
        *((how, SAID, False) for how in SUCCEEDED),
        ({}, {}, False),
        ({"status": {"code": 2}}, {"gen_ai.usage.output_tokens": 3}, False),
        ({"status": {"code": 1}}, {"gen_ai.output.messages": '[{"role": "assistant", "content": "A c'}, False),
    ],
)
def test_a_call_that_succeeded_without_a_recorded_answer_is_named(
    succeeded: dict[str, Any], attributes: dict[str, Any], *, warned: bool
) -> None:
    question = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps([message("user", TEXT)])}
    status = {"status": succeeded["status"]} if "status" in succeeded else {}
    counted = {} if status else succeeded
    (built,) = build_session([decode(export(span(question | counted | attributes, name="ask", **status))).spans])

    (named,) = [warning for warning in built.warnings if "No answer was recorded" in warning] or [""]
    assert ("(ask)" in named) == warned


def test_the_answer_may_be_that_of_an_agent() -> None:
    asked = {"gen_ai.input.messages": json.dumps([message("user", TEXT)])}
    agent = span({"gen_ai.operation.name": "invoke_agent"} | asked | SAID, spanId=f"{1:016x}")
    chat = span({"gen_ai.operation.name": "chat", "gen_ai.usage.output_tokens": 3}, parentSpanId=f"{1:016x}")

    (built,) = build_session([decode(export(agent, chat)).spans])
    assert built.warnings == ()


def test_the_instruction_may_be_that_of_an_agent_or_of_an_event_with_details() -> None:
    instruction = json.dumps([{"type": "text", "content": "Be brief."}])
    recorded = {"gen_ai.system_instructions": instruction}
    agent = span({"gen_ai.operation.name": "invoke_agent"} | recorded)
    details = {"name": "gen_ai.client.inference.operation.details", "attributes": pairs_of(recorded)}
    chat = span({"gen_ai.operation.name": "chat"}, events=[details])

    for recorded_span in (agent, chat):
        (built,) = build_session([decode(export(recorded_span)).spans])
        assert built.instruction == "Be brief."
