"""The content of a prompt's version or draft: its placeholders, model configuration and hash."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import msgspec
import orjson

from app.errors import Invalid
from app.models.language_models import LanguageModel
from app.models.prompt_versions import SnapshotRow, VersionRow
from app.models.prompts import PromptHead, PromptRow
from app.providers import accepted
from app.providers.types import ModelConfig, ModelRef
from app.providers.vendors import VENDORS
from app.rendering.render import InstructionFormat, Placeholder, filled_length
from app.values.structs import convert

TOOLS_MAX, TOOLS_VALUES_MAX = 128, 20_000
"""Tools of a configuration, and their values and keys."""


@dataclass(frozen=True, slots=True)
class PromptContent:
    """The content for runs and renderings; `commit_hash` is None for the draft.

    `config` has only the keys that differ from the model's defaults: `with_defaults` adds the others, and
    `parse_config` returns the parameters of a call. `fallback` is called when `model` fails.
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

    @property
    def filled_length(self) -> int:
        """The most characters of the text with values for its placeholders."""
        longest = {
            placeholder.key: max((len(value.content) for value in placeholder.values), default=0)
            for placeholder in self.placeholders
        }
        return filled_length(self.value, longest)


@dataclass(frozen=True, slots=True)
class Version:
    """A committed version with its placeholders parsed."""

    row: VersionRow
    placeholders: tuple[Placeholder, ...]

    @property
    def weight(self) -> int:
        """The approximate number of characters in memory."""
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


def content_of_snapshot(head: PromptHead, kept: SnapshotRow, model: LanguageModel) -> PromptContent:
    """Return the content that was frozen for replays, which have no fallback model."""
    placeholders = parse_placeholders(kept.placeholders)
    return PromptContent(
        head.id, head.name, None, kept.value, kept.instruction_format, model, kept.config, placeholders
    )


def parse_placeholders(stored: list[dict[str, Any]]) -> tuple[Placeholder, ...]:
    return convert(stored, tuple[Placeholder, ...])


def placeholders_json(placeholders: tuple[Placeholder, ...]) -> list[dict[str, Any]]:
    """Return the JSON for storage, hashes and the API: the inverse of `parse_placeholders`."""
    return [msgspec.to_builtins(placeholder) for placeholder in placeholders]


def commit_hash(content: PromptContent, *, parent: str | None) -> str:
    """Return the SHA-256, as 64 hex digits, of the canonical JSON: sorted keys, no spaces, UTF-8.

    It covers the parent's hash and all content except the prompt's name and id; placeholders are sorted by key.
    """
    placeholders = sorted(content.placeholders, key=lambda placeholder: placeholder.key)
    canonical: dict[str, Any] = {
        "parent": parent,
        "value": content.value,
        "model": {"vendor": content.model.vendor, "name": content.model.name},
        "languageModelConfig": content.config,
        "instructionFormat": content.instruction_format,
        "placeholders": placeholders_json(tuple(placeholders)),
    }
    if content.fallback:
        # The key is omitted without a fallback model, so that hashes of earlier releases remain valid.
        canonical["fallbackModel"] = {"vendor": content.fallback.vendor, "name": content.fallback.name}
    return hashlib.sha256(orjson.dumps(canonical, option=orjson.OPT_SORT_KEYS)).hexdigest()


def content_hash(content: PromptContent) -> str:
    """Return the commit hash without a parent, which equal contents share wherever they are in the history."""
    return commit_hash(content, parent=None)


Config = dict[str, Any]


def defaults(model: LanguageModel) -> Config:
    """Return the default values of missing keys."""
    return {"tools": [], "temperature": 1, "max_tokens": model.completion_tokens_max, "response_format": "text"}


def with_defaults(config: Config, model: LanguageModel) -> Config:
    """Return the config as the API shows it."""
    return defaults(model) | config


def without_defaults(config: Config, model: LanguageModel) -> Config:
    """Return the config for storage, without defaults.

    Equal configs have equal forms, and default values change with the model.
    """
    known = defaults(model)
    return {key: value for key, value in config.items() if key not in known or known[key] != value}


def check_ranges(config: Config, model: LanguageModel) -> None:
    """Raise `Invalid`, naming the key, for a value that the model does not accept."""
    low, high = temperature_range(model)
    temperature = config.get("temperature", 1)
    if "temperature" in config and not low <= temperature <= high:
        values = f"only {low:g}" if low == high else f"{low:g} to {high:g}"
        raise Invalid(f"languageModelConfig.temperature: {model.name} accepts {values}.")
    if config.get("max_tokens", 1) > model.completion_tokens_max:
        raise Invalid(f"languageModelConfig.max_tokens: {model.name} accepts 1 to {model.completion_tokens_max}.")
    accepted.check(ref_of(model), model.details, parse_config(config, model))


def ref_of(model: LanguageModel) -> ModelRef:
    return ModelRef(model.vendor, model.name, model.base_url or None)  # type: ignore[arg-type] # a vendor's own name


def temperature_range(model: LanguageModel) -> tuple[float, float]:
    """Return the least and the greatest temperature that a model accepts: 0 and 2 unless its details have others."""
    low, high = model.details.get("temperature") or (0.0, 2.0)
    return float(low), float(high)


def parse_config(config: Config, model: LanguageModel) -> ModelConfig:
    """Return the parameters of a call, from a stored or shown config: the request has what is shown.

    `max_tokens` at the model's maximum is not sent to vendors that use it without being asked. `temperature` is not
    sent if the model accepts only one value, or if `top_p` is set instead.
    """
    low, high = temperature_range(model)
    differing = without_defaults(config, model)
    values = {"temperature": 1, "response_format": "text"} | differing
    if low == high or ("top_p" in differing and "temperature" not in differing):
        del values["temperature"]
    if model.vendor in VENDORS and not VENDORS[model.vendor].knows_max_tokens and "max_tokens" not in values:
        values |= {"max_tokens": model.completion_tokens_max, "is_models_limit": True}
    return convert(values, ModelConfig)
