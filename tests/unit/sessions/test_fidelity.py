"""What a recorded turn has besides texts, and what its recording lacks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.otlp.decode import decode
from app.otlp.normalise.media import Media
from app.sessions.build import build_session
from app.sessions.types import Turn
from tests.support.exports import export, span

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
    built = turn(message("user", TEXT, IMAGE), message("assistant", TEXT), message("user", TEXT, IMAGE))

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
