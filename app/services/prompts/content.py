"""The content of a prompt, in a version or in its draft, and the JSON of its placeholders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from app.models.language_models import LanguageModel
from app.models.prompt_versions import VersionRow
from app.models.prompts import PromptHead, PromptRow
from app.rendering.placeholders import Placeholder
from app.rendering.render import InstructionFormat


@dataclass(frozen=True, slots=True)
class PromptContent:
    """The content that runs and renders. `commit_hash` is None for the draft.

    `config` has just the keys that differ from the model's defaults: `model_config.with_defaults` adds the others,
    and `model_config.parse_config` makes it ready for a call. `fallback` is called when `model` fails.
    """

    prompt_id: int
    name: str
    commit_hash: str | None
    value: str
    instruction_format: InstructionFormat
    model: LanguageModel
    config: dict[str, Any]
    placeholders: tuple[Placeholder, ...]
    fallback: LanguageModel | None = None


@dataclass(frozen=True, slots=True)
class Version:
    """A committed version with its placeholders parsed."""

    row: VersionRow
    placeholders: tuple[Placeholder, ...]

    @property
    def weight(self) -> int:
        """The approximate number of characters that it holds."""
        row = self.row
        return 1000 + len(row.value) + 2 * len(str(row.placeholders)) + len(str(row.config))


def content_of(
    head: PromptHead,
    row: PromptRow | VersionRow,
    placeholders: tuple[Placeholder, ...],
    model: LanguageModel,
    fallback: LanguageModel | None,
) -> PromptContent:
    """Return the content of a draft or of a version."""
    return PromptContent(
        head.id,
        head.name,
        row.commit_hash,
        row.value,
        head.instruction_format,
        model,
        row.config,
        placeholders,
        fallback,
    )


def parse_placeholders(stored: list[dict[str, Any]]) -> tuple[Placeholder, ...]:
    return msgspec.convert(stored, tuple[Placeholder, ...])


def placeholders_json(placeholders: tuple[Placeholder, ...]) -> list[dict[str, Any]]:
    """Return the JSON that is stored, hashed and shown: the inverse of `parse_placeholders`."""
    return [msgspec.to_builtins(placeholder) for placeholder in placeholders]
