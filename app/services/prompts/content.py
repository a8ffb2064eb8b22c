"""What a prompt says, in a version or in its draft, and the JSON that it is kept as."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.models.language_models import LanguageModel
from app.models.prompt_versions import VersionRow
from app.models.prompts import PromptHead, PromptRow
from app.rendering.placeholders import Placeholder, PlaceholderValue
from app.rendering.render import InstructionFormat


@dataclass(frozen=True, slots=True)
class PromptContent:
    """The content that runs and renders. `commit_hash` is None for the draft.

    `config` has just the keys that differ from the model's defaults: `model_config.with_defaults` shows it,
    `model_config.parse_config` makes it ready for a call. `fallback` is asked when `model` fails.
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
    """A committed version, read once: `row` as stored, its placeholders parsed."""

    row: VersionRow
    placeholders: tuple[Placeholder, ...]

    @property
    def weight(self) -> int:
        """About the characters that it holds."""
        row = self.row
        return 1000 + len(row.value) + 2 * len(str(row.placeholders)) + len(str(row.config))


def of_version(
    head: PromptHead, version: Version, model: LanguageModel, fallback: LanguageModel | None
) -> PromptContent:
    row = version.row
    return PromptContent(
        head.id,
        head.name,
        row.commit_hash,
        row.value,
        head.instruction_format,
        model,
        row.config,
        version.placeholders,
        fallback,
    )


def of_draft(prompt: PromptRow, model: LanguageModel, fallback: LanguageModel | None) -> PromptContent:
    placeholders = parse_placeholders(prompt.placeholders)
    return PromptContent(
        prompt.id,
        prompt.name,
        None,
        prompt.value,
        prompt.instruction_format,
        model,
        prompt.config,
        placeholders,
        fallback,
    )


def parse_placeholders(stored: list[dict[str, Any]]) -> tuple[Placeholder, ...]:
    return tuple(
        Placeholder(
            key=placeholder["key"],
            description=placeholder["description"],
            values=tuple(
                PlaceholderValue(name=value["name"], content=value["content"], is_default=value["isDefault"])
                for value in placeholder["values"]
            ),
        )
        for placeholder in stored
    )


def placeholders_json(placeholders: tuple[Placeholder, ...]) -> list[dict[str, Any]]:
    """The inverse of `parse_placeholders`, and what the API shows."""
    return [
        {
            "key": placeholder.key,
            "description": placeholder.description,
            "values": [
                {"name": value.name, "content": value.content, "isDefault": value.is_default}
                for value in placeholder.values
            ],
        }
        for placeholder in placeholders
    ]
