"""Runs: the body and the answer of Run Prompt, and the record of a run."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Callable
from typing import Any, ClassVar

import msgspec
from marshmallow import ValidationError, fields, post_load, validates

from app import chat
from app.chat import File
from app.models.runs import RunRow, StoredCost, StoredFile, StoredMessage, StoredToolCall
from app.schemas.answer import AnswerSchema, answer_of, boolean, fields_of, integer, many, mapping, one, text
from app.schemas.base import BoundedList, Identifier, StrictBoolean, StrictSchema, Text
from app.schemas.histories import History
from app.schemas.labels import ChosenVersion
from app.schemas.language_models import ModelName
from app.schemas.placeholders import PlaceholdersUsed, Selections
from app.services.runs import RunCommand

FILES_MAX = 3
# Bytes of UTF-8. Longer than any model reads, yet with escapes it still fits in one packet of a database.
QUESTION_MAX = 4_000_000
_MEDIA_TYPE = re.compile(r"[\w!#$&^.+-]{1,127}/[\w!#$&^.+-]{1,127}(\s*;.{0,200})?", re.ASCII)
_DATA_URL = re.compile(r"data:([^,]{0,500}?)(;base64)?,", re.IGNORECASE)
_SPACES = str.maketrans("", "", " \t\r\n")


class FileSchema(StrictSchema):
    """An entry of `files`; loads to `app.chat.File`."""

    file_name = Text(maximum=255, load_default="")
    content_type = Text(maximum=255, load_default="")
    base64 = fields.String(required=True)

    @post_load
    def _file(self, data: dict[str, Any], **_: Any) -> File:
        media_type, content = _decode(data["base64"])
        media_type = (data["content_type"] or media_type).strip().lower()
        if not media_type:
            raise ValidationError("Must be given here or in the data URL.", "contentType")
        if not _MEDIA_TYPE.fullmatch(media_type):
            raise ValidationError("Must be a media type, such as image/png.", "contentType")
        return File(data["file_name"].strip() or "file", media_type, content)


class RunRequest(ChosenVersion):
    """The body of Run Prompt."""

    command: ClassVar = RunCommand

    prompt_id = Identifier(data_key="id", required=True)
    question = Text(required=True)
    files = BoundedList(fields.Nested(FileSchema), maximum=FILES_MAX, into=tuple, load_default=tuple)
    selections = Selections(data_key="placeholders", load_default=dict)
    productive = StrictBoolean(load_default=True)
    history = History(load_default=tuple)
    model_name = Text(data_key="languageModelName", minimum=1, maximum=128, load_default=None, allow_none=True)

    @validates("question")
    def _short_enough(self, question: str, **_: Any) -> None:
        if len(question.encode()) > QUESTION_MAX:
            raise ValidationError(f"Longer than {QUESTION_MAX} bytes; send it as a file.")


def _decode(text: str) -> tuple[str, bytes]:
    """Return (media type or "", content) of plain base64 or a data URL."""
    media_type = ""
    if url := _DATA_URL.match(text):
        if not url[2]:
            raise ValidationError("A data URL must contain ;base64.", "base64")
        media_type, text = url[1], text[url.end() :]
    try:
        content = b64decode(text.translate(_SPACES).encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise ValidationError("Not valid base64.", "base64") from None
    if not content:
        raise ValidationError("The file is empty.", "base64")
    return media_type, content


Tokens = answer_of(chat.Tokens)
Cost = answer_of(StoredCost, "Cost")
ToolCall = answer_of(StoredToolCall, "ToolCall")
RunFile = answer_of(StoredFile, "RunFile")
HistoryMessage = answer_of(StoredMessage, "HistoryMessage")


def _outcome(name: str) -> Callable[[RunRow], Any]:
    """Return a function that reads a field of a run's outcome. It returns None for "", and without an outcome."""
    return lambda row: getattr(row.outcome, name, None) or None


def _tokens(row: RunRow) -> Any:
    return None if row.outcome is None else msgspec.to_builtins(row.outcome.tokens)


def _error(row: RunRow) -> dict[str, Any] | None:
    return {"kind": row.error_kind, "message": row.error} if row.error_kind else None


def _fallback(row: RunRow) -> dict[str, Any] | None:
    first_error = _outcome("first_error")(row)
    return None if first_error is None else {"firstError": first_error}


def _model(row: RunRow) -> dict[str, Any]:
    """Return the model that answered: the prompt's model or its fallback."""
    return {"id": row.language_model_id, "name": row.model_name, "vendor": row.vendor}


class RunAnswer(AnswerSchema):
    """The answer of Run Prompt for a finished run."""

    answer = text()
    tokens = one(Tokens, get=_tokens)
    cost = one(Cost, get=_outcome("cost"))
    response_time_ms = integer(data_key="response_time_ms")
    placeholders = one(PlaceholdersUsed, attribute="request")
    model = one(ModelName, get=_model)
    fallback = boolean(required=False, get=lambda row: _fallback(row) and True)
    status = text(required=False, get=lambda row: row.nok or None)
    masked = boolean(required=False, get=_outcome("masked"))
    chain_of_thoughts = text(required=False, get=_outcome("chain_of_thoughts"))
    tool_calls = many(ToolCall, required=False, get=_outcome("tool_calls"))


class Fallback(AnswerSchema):
    first_error = text()


class RunError(AnswerSchema):
    kind = text()
    message = text(allow_none=True)


class Run(AnswerSchema):
    """The record of a run. `nok` is `status` in the answer of Run Prompt.

    `tokensEstimated`: the run was cancelled before the vendor reported all of its tokens.
    """

    row = fields_of(RunRow, "id", "prompt_id", "commit_hash", "source", "status", "question")
    history = many(HistoryMessage, get=lambda row: row.request.history or [])
    files = many(RunFile, attribute="request.files")
    placeholders = one(PlaceholdersUsed, attribute="request")
    language_model = one(ModelName, get=_model)
    fallback = one(Fallback, allow_none=True, get=_fallback)
    language_model_config = mapping(attribute="request.config")
    result = fields_of(RunRow, "instruction", "answer")
    tool_calls = many(ToolCall, get=lambda row: _outcome("tool_calls")(row) or [])
    chain_of_thoughts = text(allow_none=True, get=_outcome("chain_of_thoughts"))
    nok = text(allow_none=True)
    error = one(RunError, allow_none=True, get=_error)
    tokens = one(Tokens, allow_none=True, get=_tokens)
    tokens_estimated = boolean(required=False, get=_outcome("estimated"))
    cost = one(Cost, allow_none=True, get=_outcome("cost"))
    response_time_ms = integer(data_key="response_time_ms", allow_none=True)
    times = fields_of(RunRow, "created_at", "started_at", "finished_at")
