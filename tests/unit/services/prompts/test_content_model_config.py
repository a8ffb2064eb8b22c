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
    ],
)
def test_a_value_out_of_range_is_named(config: dict[str, Any], model: Any, message: str) -> None:
    with pytest.raises(Invalid, match=message):
        check_ranges(config, model)


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


def test_a_vendor_that_wants_a_limit_gets_the_one_that_is_shown() -> None:
    claude = replace(MODEL, vendor="ANTHROPIC")
    for config in ({}, {"max_tokens": 100}, with_defaults({}, claude)):
        assert parse_config(config, claude).max_tokens == 100


def test_what_only_the_vendor_can_know_is_left_to_it() -> None:
    assert parse_config({"max_tokens": 100}, MODEL).max_tokens is None
    assert parse_config({}, ONE_TEMPERATURE).temperature is None
    assert parse_config({"top_p": 0.5}, MODEL).temperature is None
