"""A prompt's languageModelConfig, of which only what differs from the model's defaults is stored."""

from __future__ import annotations

from typing import Any

import msgspec

from app.errors import Invalid
from app.models.language_models import LanguageModel
from app.providers.types import ModelConfig

Config = dict[str, Any]


def defaults(model: LanguageModel) -> Config:
    """Return the values that stand for missing keys."""
    return {
        "tools": [],
        "temperature": 1,
        "max_tokens": model.completion_tokens_max,
        "response_format": "text",
    }


def with_defaults(config: Config, model: LanguageModel) -> Config:
    """Return the config as the API shows it."""
    return defaults(model) | config


def without_defaults(config: Config, model: LanguageModel) -> Config:
    """Return the config as it is stored: equal configs have equal forms, and defaults follow a change of the model."""
    known = defaults(model)
    return {key: value for key, value in config.items() if key not in known or known[key] != value}


def check_ranges(config: Config, model: LanguageModel) -> None:
    """Raise `Invalid`, naming the key, for a value that the model does not take."""
    low, high = temperature_range(model)
    temperature = config.get("temperature", 1)
    if "temperature" in config and not low <= temperature <= high:
        takes = f"only {low:g}" if low == high else f"{low:g} to {high:g}"
        raise Invalid(f"languageModelConfig.temperature: {model.name} takes {takes}.")
    if config.get("max_tokens", 1) > model.completion_tokens_max:
        raise Invalid(f"languageModelConfig.max_tokens: {model.name} takes 1 to {model.completion_tokens_max}.")


def temperature_range(model: LanguageModel) -> tuple[float, float]:
    low, high = model.details.get("temperature") or (0.0, 2.0)
    return float(low), float(high)


def parse_config(config: Config, model: LanguageModel) -> ModelConfig:
    """Return the parameters of a call, from a config as it is stored or shown.

    `max_tokens` at the model's maximum is not sent, since the vendor knows how much room the prompt leaves;
    `temperature` is not sent where the model takes no other, or where `top_p` replaces it.
    """
    low, high = temperature_range(model)
    differing = without_defaults(config, model)
    values = {"temperature": 1, "response_format": "text"} | differing
    if low == high or ("top_p" in differing and "temperature" not in differing):
        del values["temperature"]
    return msgspec.convert(values, ModelConfig)
