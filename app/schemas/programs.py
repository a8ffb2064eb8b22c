"""Replays of programs: schemas of requests and answers."""

from __future__ import annotations

from functools import partial
from typing import Any

from marshmallow import INCLUDE, fields

from app.schemas.answer import AnswerSchema, anything, boolean, choice, integer, many, text
from app.schemas.base import StrictSchema, Text
from app.schemas.json_schemas import check_size
from app.services.replays.programs import ANSWER_MAX, NextTurn, StartedProgram

TOOL_NAME_MAX = 200
MODEL_MAX = 200
TOOL_ARGUMENTS_MAX = 50_000
ENDPOINTS = {
    "openai": "/api/replay/openai/v1",
    "anthropic": "/api/replay/anthropic",
    "gemini": "/api/replay/gemini",
}
"""The paths that the SDKs of vendors get as their base URLs."""


class TurnFileSchema(AnswerSchema):
    """A file of the user's message; `data` is base64."""

    kind = choice("image", "audio", "file")
    name = text()
    media_type = text()
    data = text()


class NextTurnSchema(AnswerSchema):
    """The turn to ask the program, counted from 0, of `turns`."""

    turn = integer()
    turns = integer()
    user = text(attribute="content.user", allow_none=True)
    files = many(TurnFileSchema, get=lambda next_turn: _files(next_turn))


class ProgramTextSchema(StrictSchema):
    """What the program answered."""

    text_ = Text(data_key="text", required=True, maximum=ANSWER_MAX)


class OtherCallSchema(AnswerSchema):
    path = text()
    model = text()


class AnsweredTurnSchema(AnswerSchema):
    """`modelCalls` is the number of chat calls in the turn, and `otherCalls` are calls that were no chat."""

    turn = integer()
    is_last = boolean(data_key="last")
    model_calls = integer()
    other_calls = many(OtherCallSchema)


class VendorRequest(StrictSchema):
    """A request in the vendor's JSON, which is passed on."""

    class Meta:
        unknown = INCLUDE

    model = Text(maximum=MODEL_MAX)


class ProgramToolSchema(StrictSchema):
    """A call of one of the program's tools; `arguments` is any JSON of at most 50,000 values and keys."""

    name = Text(required=True, minimum=1, maximum=TOOL_NAME_MAX)
    arguments = fields.Raw(load_default=None, allow_none=True, validate=partial(check_size, maximum=TOOL_ARGUMENTS_MAX))


class ProgramToolResult(AnswerSchema):
    """What the tool has to return, or the message of the error that it has to raise."""

    result = anything(allow_none=True)
    error = text(allow_none=True)


class VendorAnswer(AnswerSchema):
    """An answer in the vendor's JSON, as it was received."""

    class Meta:
        unknown = INCLUDE


def _files(next_turn: NextTurn) -> list[dict[str, Any]]:
    files = next_turn.content.files or ()
    return [{"kind": file.kind, "name": file.name, "mediaType": file.media_type, "data": file.data} for file in files]


def accepted_program(public_url: str, started: StartedProgram) -> dict[str, Any]:
    """Return the answer for a replay of a program, which has its endpoints and its token."""
    row, base = started.row, public_url.rstrip("/")
    endpoint = {name: base + path for name, path in ENDPOINTS.items()}
    return {
        "id": row.id,
        "status": row.status,
        "testCaseId": row.test_case_id,
        "endpoint": endpoint,
        "token": started.token,
    }
