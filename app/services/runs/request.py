"""Requests of runs: as the caller sends them, as they are stored, and as the model receives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import UNSET
from reprise_formats.placeholders import fill

from app.chat import File, Message, ToolCall
from app.errors import Invalid
from app.models.language_models import LanguageModel
from app.models.runs import RunRow, StoredFile, StoredMessage, StoredRequest, StoredToolCall
from app.providers.types import Credential, ModelRequest
from app.rendering.render import Placeholder, filled_length, to_xml
from app.services.prompts.content import PromptContent, parse_config, ref_of
from app.services.prompts.drafts import check_length
from app.services.prompts.splits import ByLabel

# Bytes of JSON, including the question. A question without a history has the same limit.
HISTORY_MAX = 4_000_000
NO_RESULT = "This tool was not called: the conversation is a trial."


@dataclass(frozen=True, slots=True)
class RunCommand:
    """A request for a run.

    `selections` maps a placeholder's key to the name of a value. A label or `commit_hash` has priority over
    `productive`. With `stream` the pieces of the answer are kept for a while so that the run can be followed. `history`
    are the messages before the question. `model_name` replaces the version's model.
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


def freeze_request(content: PromptContent, command: RunCommand) -> Requested:
    """Return the request with all that later changes of the prompt must not change.

    This is the filled text, its format, and the model's configuration. Raises `Invalid` for a text or a history that is
    too long.
    """
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
    check_length(filled_length(text, {key: len(value.content) for key, value in chosen.items() if value}))


def render(request: StoredRequest) -> str:
    """Return the instruction exactly as the model receives it."""
    text = request.text or ""
    return to_xml(text) if request.format == "XML" else text


def _history(messages: Sequence[Message], question: str) -> list[StoredMessage]:
    """Return the messages as they are stored; raises `Invalid` if they are too long for their row."""
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
        Message(message.role, message.text, tool_calls=_calls(message.tool_calls), tool_call_id=message.tool_call_id)
        for message in request.history or ()
    )


def conversation_after(row: RunRow, results: Mapping[str, str] = MappingProxyType({})) -> tuple[Message, ...]:
    """Return the messages before a question that follows the run; a run without an answer adds none.

    The run's tool calls have no results but those of `results`, by the id of the call. Other calls get `NO_RESULT`,
    because vendors reject a call without a result.
    """
    calls = _calls(row.outcome.tool_calls) if row.outcome else ()
    if not (row.answer or calls):
        return history_of(row.request)
    answers = (Message("tool", results.get(call.id) or NO_RESULT, tool_call_id=call.id) for call in calls)
    question, answer = Message("user", row.question), Message("assistant", row.answer or "", tool_calls=calls)
    return (*history_of(row.request), question, answer, *answers)


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
    parameters = parse_config(config, model)
    return ModelRequest(ref_of(model), parameters, messages, credential, timeout_s, organization_id)


def without_text(request: StoredRequest) -> StoredRequest:
    """Return the request of an ended run: its text is stored as the instruction, and nothing is encrypted."""
    return msgspec.structs.replace(request, text=UNSET, sealed=UNSET)
