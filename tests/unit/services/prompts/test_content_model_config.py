"""A stored config is read for the API and for a call."""

from dataclasses import replace
from typing import Any

import pytest

from app.chat import ToolDefinition
from app.errors import Invalid
from app.providers.types import ModelConfig
from app.services.prompts.content import check_ranges, parse_config, with_defaults, without_defaults
from tests.unit.services.contents import MODEL

ONE_TEMPERATURE = replace(MODEL, details={"temperature": [1.0, 1.0]})
ONE_OF_TWO = replace(MODEL, vendor="ANTHROPIC", details={"refuses": ["temperature with top_p"]})
DEFAULTS = {"tools": [], "temperature": 1, "max_tokens": 100, "response_format": "text"}


def test_missing_keys_get_the_models_defaults() -> None:
    assert with_defaults({}, MODEL) == DEFAULTS
    assert with_defaults({"temperature": 0, "seed": 7}, MODEL) == DEFAULTS | {"temperature": 0, "seed": 7}


def test_a_default_sent_is_as_good_as_left_out() -> None:
    assert without_defaults(DEFAULTS | {"seed": 7}, MODEL) == {"seed": 7}
    assert without_defaults({"max_tokens": 99, "top_p": 1}, MODEL) == {"max_tokens": 99, "top_p": 1}


@pytest.mark.parametrize("config", [{}, {"temperature": 0}, {"temperature": 1.5, "max_tokens": 100}])
def test_values_in_range_pass(config: dict[str, Any]) -> None:
    check_ranges(config, MODEL)


@pytest.mark.parametrize(
    ("config", "model", "message"),
    [
        ({"temperature": 1.6}, MODEL, "languageModelConfig.temperature: m accepts 0 to 1.5."),
        ({"temperature": 0.5}, ONE_TEMPERATURE, "languageModelConfig.temperature: m accepts only 1."),
        ({"max_tokens": 101}, MODEL, "languageModelConfig.max_tokens: m accepts 1 to 100."),
        ({"temperature": 0.2, "top_p": 0.9}, ONE_OF_TWO, "languageModelConfig.top_p: m accepts either"),
        ({"seed": 7}, replace(MODEL, vendor="ANTHROPIC"), "languageModelConfig.seed: "),
    ],
)
def test_a_value_out_of_range_is_named(config: dict[str, Any], model: Any, message: str) -> None:
    with pytest.raises(Invalid, match=message):
        check_ranges(config, model)


@pytest.mark.parametrize("config", [{"top_p": 0.9}, {"temperature": 1, "top_p": 0.9}, {"temperature": 0.2}])
def test_one_of_temperature_and_top_p_passes(config: dict[str, Any]) -> None:
    check_ranges(config, ONE_OF_TWO)


def test_a_call_is_made_with_the_config() -> None:
    config = {
        "tools": [{"name": "t", "description": "d", "parameters": {"type": "object"}, "strict": False}, {"name": "u"}],
        "max_tokens": 10,
        "temperature": 0,
        "response_format": "json_schema",
        "json_schema": {"type": "object"},
        "reasoning_effort": "low",
        "top_p": 0.5,
        "stop": ["a"],
        "seed": 7,
    }
    assert parse_config(config, MODEL) == ModelConfig(
        tools=(ToolDefinition("t", "d", {"type": "object"}, False), ToolDefinition("u")),
        max_tokens=10,
        temperature=0,
        response_format="json_schema",
        json_schema={"type": "object"},
        reasoning_effort="low",
        top_p=0.5,
        stop=("a",),
        seed=7,
    )


def test_the_temperature_shown_is_the_one_sent() -> None:
    for config in ({}, {"temperature": 1}, with_defaults({}, MODEL)):
        assert parse_config(config, MODEL) == ModelConfig(temperature=1, response_format="text")


@pytest.mark.parametrize("vendor", ["ANTHROPIC", "GOOGLE", "DEEPSEEK", "CUSTOM_OPENAI_COMPATIBLE"])
def test_the_limit_shown_is_the_one_sent(vendor: str) -> None:
    model = replace(MODEL, vendor=vendor)
    for config in ({}, {"max_tokens": 100}, with_defaults({}, model)):
        assert (parse_config(config, model).max_tokens, parse_config(config, model).is_models_limit) == (100, True)
    parsed = parse_config({"max_tokens": 99}, model)
    assert (parsed.max_tokens, parsed.is_models_limit) == (99, False)


def test_what_only_the_vendor_can_know_is_left_to_it() -> None:
    assert parse_config({"max_tokens": 100}, MODEL).max_tokens is None
    assert parse_config({}, ONE_TEMPERATURE).temperature is None
    assert parse_config({"top_p": 0.5}, MODEL).temperature is None
