"""What a run was asked, fixed when it is accepted: a draft that changes later changes nothing about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.chat import Message
from app.models.language_models import LanguageModel
from app.models.runs import RunRow
from app.providers.types import Credential, ModelRef, ModelRequest
from app.rendering.placeholders import Placeholder, fill
from app.rendering.xml import to_xml
from app.services.prompts.changes import check_filled_length
from app.services.prompts.content import PromptContent
from app.services.prompts.model_config import parse_config
from app.services.runs.commands import RunCommand


def snapshot(content: PromptContent, command: RunCommand) -> dict[str, Any]:
    """The `request` of a row: text filled in, its format, the model's configuration, and the files without content."""
    _check_length(content.value, content.placeholders, command.selections)
    filled = fill(content.value, content.placeholders, command.selections)
    return {
        "text": filled.text,
        "format": content.instruction_format,
        "config": content.config,
        "fallbackModelId": content.fallback.id if content.fallback and content.fallback.usable else None,
        "productive": command.productive,
        "stream": command.stream,
        "resolved": filled.resolved,
        "ignored": filled.ignored,
        "files": [
            {"fileName": file.name, "contentType": file.media_type, "size": len(file.content)} for file in command.files
        ],
    }


def _check_length(text: str, placeholders: Sequence[Placeholder], selections: Mapping[str, str]) -> None:
    chosen = {placeholder.key: placeholder.choose(selections.get(placeholder.key)) for placeholder in placeholders}
    check_filled_length(text, {key: len(value.content) for key, value in chosen.items() if value})


def render(request: Mapping[str, Any]) -> str:
    """The instruction: exactly what the model receives."""
    text: str = request["text"]
    return to_xml(text) if request["format"] == "XML" else text


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


def without_text(row: RunRow) -> dict[str, Any]:
    """The `request` of a run that has ended: the instruction itself is stored, and nothing is sealed any more."""
    return {key: value for key, value in row.request.items() if key not in ("text", "sealed")}
