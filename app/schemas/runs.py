"""Run Prompt's body, its answer, and the full record of a run."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from typing import Any

from marshmallow import ValidationError, fields, post_load, validates

from app.chat import File
from app.models.runs import RunRow
from app.schemas.base import BoundedList, Identifier, StrictBoolean, StrictSchema, Text
from app.schemas.placeholders import Selections
from app.services.runs import RunCommand
from app.timestamps import iso, iso_or_none

FILES_MAX = 3
# Bytes of UTF-8. More than any model reads, and with its escapes less than a database takes in one packet.
QUESTION_MAX = 4_000_000
_MEDIA_TYPE = re.compile(r"[\w!#$&^.+-]{1,127}/[\w!#$&^.+-]{1,127}(\s*;.{0,200})?", re.ASCII)
_DATA_URL = re.compile(r"data:([^,]{0,500}?)(;base64)?,", re.IGNORECASE)
_SPACES = str.maketrans("", "", " \t\r\n")


class FileSchema(StrictSchema):
    """One entry of `files`; loads to `app.chat.File`."""

    fileName = Text(maximum=255, load_default="")  # noqa: N815 - the API's names
    contentType = Text(maximum=255, load_default="")  # noqa: N815
    base64 = fields.String(required=True)

    @post_load
    def _file(self, data: dict[str, Any], **_: Any) -> File:
        media_type, content = _decode(data["base64"])
        media_type = (data["contentType"] or media_type).strip().lower()
        if not media_type:
            raise ValidationError("Must be given here or in the data URL.", "contentType")
        if not _MEDIA_TYPE.fullmatch(media_type):
            raise ValidationError("Must be a media type, such as image/png.", "contentType")
        return File(data["fileName"].strip() or "file", media_type, content)


class RunRequest(StrictSchema):
    """The body of Run Prompt; loads to `RunCommand`."""

    id = Identifier(required=True)
    question = Text(required=True)
    files = BoundedList(fields.Nested(FileSchema), maximum=FILES_MAX, load_default=list)
    placeholders = Selections(load_default=dict)
    productive = StrictBoolean(load_default=True)
    commitHash = Text(load_default=None)  # noqa: N815
    memoryKey = Text(load_default=None)  # noqa: N815

    @validates("question")
    def _short_enough(self, question: str, **_: Any) -> None:
        if len(question.encode()) > QUESTION_MAX:
            raise ValidationError(f"Longer than {QUESTION_MAX} bytes; send it as a file.")

    @post_load
    def _command(self, data: dict[str, Any], **_: Any) -> RunCommand:
        remembered = {} if data["memoryKey"] is None else {"memory_key": data["memoryKey"]}
        return RunCommand(
            prompt_id=data["id"],
            question=data["question"],
            files=tuple(data["files"]),
            selections=remembered | data["placeholders"],
            productive=data["productive"],
            commit_hash=data["commitHash"],
        )


def _decode(text: str) -> tuple[str, bytes]:
    """(media type or "", content) of base64, raw or as a data URL."""
    media_type = ""
    if url := _DATA_URL.match(text):
        if not url[2]:
            raise ValidationError("A data URL must say ;base64.", "base64")
        media_type, text = url[1], text[url.end() :]
    try:
        content = b64decode(text.translate(_SPACES).encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise ValidationError("Not valid base64.", "base64") from None
    if not content:
        raise ValidationError("The file is empty.", "base64")
    return media_type, content


def answer_json(row: RunRow) -> dict[str, Any]:
    """Run Prompt's answer, of a run that is done."""
    outcome = row.outcome or {}
    answer: dict[str, Any] = {
        "answer": row.answer,
        "tokens": outcome["tokens"],
        "cost": outcome["cost"],
        "response_time_ms": row.response_time_ms,
        "placeholders": _placeholders(row),
        "model": _model(row),
    }
    if "firstError" in outcome:
        answer["fallback"] = True
    if row.nok:
        answer["status"] = row.nok
    if "masked" in outcome:
        answer["masked"] = True
    return answer | {key: outcome[key] for key in ("chainOfThoughts", "toolCalls") if key in outcome}


def record_json(row: RunRow) -> dict[str, Any]:
    """All that is known of a run. `status` is queued, running, done or failed; `nok` as in Run Prompt's answer."""
    outcome = row.outcome or {}
    return {
        "id": row.id,
        "promptId": row.prompt_id,
        "commitHash": row.commit_hash,
        "source": row.source,
        "status": row.status,
        "question": row.question,
        "files": row.request["files"],
        "placeholders": _placeholders(row),
        "languageModel": _model(row),
        "fallback": {"firstError": outcome["firstError"]} if "firstError" in outcome else None,
        "languageModelConfig": row.request["config"],
        "instruction": row.instruction,
        "answer": row.answer,
        "toolCalls": outcome.get("toolCalls", []),
        "chainOfThoughts": outcome.get("chainOfThoughts"),
        "nok": row.nok,
        "error": {"kind": row.error_kind, "message": row.error} if row.error_kind else None,
        "tokens": outcome.get("tokens"),
        "cost": outcome.get("cost"),
        "response_time_ms": row.response_time_ms,
        "createdAt": iso(row.created_at),
        "startedAt": iso_or_none(row.started_at),
        "finishedAt": iso_or_none(row.finished_at),
    }


def _model(row: RunRow) -> dict[str, Any]:
    """The one that answered, be it the prompt's second."""
    return {"id": row.language_model_id, "name": row.model_name, "vendor": row.vendor}


def _placeholders(row: RunRow) -> dict[str, Any]:
    return {"resolved": row.request["resolved"], "ignored": row.request["ignored"]}
