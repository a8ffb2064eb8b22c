"""A prompt's languageModelConfig: only what differs from the model's defaults is kept (decisions.md §4)."""

from __future__ import annotations

from typing import Any

from app.chat import ToolDefinition
from app.errors import Invalid
from app.models.language_models import LanguageModel
from app.providers.types import ModelConfig

Config = dict[str, Any]


def defaults(model: LanguageModel) -> Config:
    """What each key that a config leaves out means."""
    return {
        "tools": [],
        "temperature": 1,
        "max_tokens": model.completion_tokens_max,
        "response_format": "text",
    }


def with_defaults(config: Config, model: LanguageModel) -> Config:
    """The config as the API shows it."""
    return defaults(model) | config


def without_defaults(config: Config, model: LanguageModel) -> Config:
    """The config as it is stored: equal meanings have equal forms, and a default follows a change of the model."""
    known = defaults(model)
    return {key: value for key, value in config.items() if key not in known or known[key] != value}


def check_ranges(config: Config, model: LanguageModel) -> None:
    """`Invalid`, naming the key, for a value that the model does not take."""
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
    """How to call the model, from a stored config or a shown one.

    What is shown is what is sent, but `max_tokens` at the model's maximum is left to the vendor, which knows how
    much room the prompt leaves, and so is `temperature` where the model takes no other or `top_p` stands in for it.
    """
    low, high = temperature_range(model)
    sent = without_defaults(config, model)
    left = low == high or ("top_p" in sent and "temperature" not in sent)
    return ModelConfig(
        tools=tuple(parse_tool(tool) for tool in sent.get("tools", ())),
        max_tokens=sent.get("max_tokens"),
        temperature=None if left else sent.get("temperature", 1),
        response_format=sent.get("response_format", "text"),
        json_schema=sent.get("json_schema"),
        reasoning_effort=sent.get("reasoning_effort"),
        top_p=sent.get("top_p"),
        stop=tuple(sent.get("stop", ())),
        seed=sent.get("seed"),
    )


def parse_tool(tool: dict[str, Any]) -> ToolDefinition:
    return ToolDefinition(
        name=tool["name"],
        description=tool.get("description", ""),
        parameters=tool.get("parameters", {}),
        strict=tool.get("strict"),
    )
