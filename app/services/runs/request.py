"""Requests of runs: what a caller asks for, as it is fixed when the run is accepted and as the model receives it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import UNSET
from reprise_client.placeholders import fill

from app.chat import File, Message, ToolCall
from app.errors import Invalid
from app.models.language_models import LanguageModel
from app.models.runs import RunRow, StoredFile, StoredMessage, StoredRequest, StoredToolCall
from app.providers.types import Credential, ModelRef, ModelRequest
from app.rendering.render import Placeholder, to_xml
from app.services.prompts.content import PromptContent, parse_config
from app.services.prompts.drafts import check_filled_length
from app.services.prompts.splits import ByLabel

# Bytes of JSON, with those of the question: as many as a question alone may have.
HISTORY_MAX = 4_000_000
NO_RESULT = "This tool was not called: the conversation is a try."


@dataclass(frozen=True, slots=True)
class RunCommand:
    """`selections` maps a placeholder's key to the name of a value; a label or `commit_hash` beats `productive`.

    With `stream` the answer's pieces are kept for a while as the model writes them, for those who follow the run.
    `history` are the messages before the question. `model_name` is asked in the place of the version's own model.
    """

    prompt_id: int
    question: str
    files: tuple[File, ...] = ()
    selections: dict[str, str] = field(default_factory=dict)
    productive: bool = True
    commit_hash: str | None = None
    by_label: ByLabel | None = None
    stream: bool = False
    history: tuple[Message, ...] = ()
    model_name: str | None = None


class Requested(msgspec.Struct, frozen=True):
    """The columns of a run that come from its request."""

    question: str
    request: StoredRequest


def snapshot(content: PromptContent, command: RunCommand) -> Requested:
    """Return the request with the draft as it is now: text filled in, its format, the model's configuration."""
    _check_length(content.value, content.placeholders, command.selections)
    filled = fill(content.value, content.placeholders, command.selections)
    request = StoredRequest(
        text=filled.instruction,
        format=content.instruction_format,
        config=content.config,
        fallback_model_id=content.fallback.id if content.fallback and content.fallback.usable else None,
        productive=command.productive,
        stream=command.stream,
        resolved=filled.resolved,
        ignored=filled.ignored,
        files=[StoredFile(file.name, file.media_type, len(file.content)) for file in command.files],
        history=_history(command.history, command.question) or UNSET,
    )
    return Requested(command.question, request)


def _check_length(text: str, placeholders: Sequence[Placeholder], selections: Mapping[str, str]) -> None:
    chosen = {placeholder.key: placeholder.choose(selections.get(placeholder.key)) for placeholder in placeholders}
    check_filled_length(text, {key: len(value.content) for key, value in chosen.items() if value})


def render(request: StoredRequest) -> str:
    """Return the instruction: exactly what the model receives."""
    text = request.text or ""
    return to_xml(text) if request.format == "XML" else text


def _history(messages: Sequence[Message], question: str) -> list[StoredMessage]:
    """Return the messages as they are stored; `Invalid` where they have too many bytes for their row."""
    stored = [_stored(message) for message in messages]
    if stored and len(msgspec.json.encode(stored)) + len(question.encode()) > HISTORY_MAX:
        raise Invalid(f"history: Longer than {HISTORY_MAX} bytes with the question: begin a new conversation.")
    return stored


def _stored(message: Message) -> StoredMessage:
    calls = [StoredToolCall(call.id, call.name, call.arguments) for call in message.tool_calls]
    return StoredMessage(message.role, message.text, calls, message.tool_call_id)  # type: ignore[arg-type] # no system


def history_of(request: StoredRequest) -> tuple[Message, ...]:
    """Return the messages before the run's question."""
    return tuple(
        Message(each.role, each.text, tool_calls=_calls(each.tool_calls), tool_call_id=each.tool_call_id)
        for each in request.history or ()
    )


def conversation_after(row: RunRow) -> tuple[Message, ...]:
    """Return the messages before a question that follows the run; a run without an answer adds none to its own.

    Its calls have no results: the model is told so, as vendors refuse a call that nothing answers.
    """
    calls = _calls(row.outcome.tool_calls) if row.outcome else ()
    if not (row.answer or calls):
        return history_of(row.request)
    results = (Message("tool", NO_RESULT, tool_call_id=call.id) for call in calls)
    question, answer = Message("user", row.question), Message("assistant", row.answer or "", tool_calls=calls)
    return (*history_of(row.request), question, answer, *results)


def _calls(stored: Sequence[StoredToolCall]) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(call.id, call.name, call.arguments) for call in stored)


def model_request(
    model: LanguageModel,
    config: dict[str, Any],
    messages: tuple[Message, ...],
    credential: Credential | None,
    timeout_s: float,
    organization_id: int = 0,
) -> ModelRequest:
    ref = ModelRef(model.vendor, model.name, model.base_url or None)  # type: ignore[arg-type] # a vendor's own name
    return ModelRequest(ref, parse_config(config, model), messages, credential, timeout_s, organization_id)


def without_text(request: StoredRequest) -> StoredRequest:
    """Return the request of an ended run, which has its instruction instead of the text, and nothing encrypted."""
    return msgspec.structs.replace(request, text=UNSET, sealed=UNSET)
