"""Which model is asked in the place of one that an agent was recorded with, and that no prompt can use here."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.models.language_models import LanguageModel
from app.services.language_models.substitutes import substitute
from tests.unit.services.contents import MODEL

OPENAI, ANTHROPIC = {"OPENAI": ""}, {"ANTHROPIC": ""}
_NAMES = {
    "OPENAI": {"gpt-4o": 10.0, "gpt-4o-mini": 0.6, "gpt-4.1": 8.0, "gpt-5.5": 30.0, "gpt-5-mini": 2.0},
    "ANTHROPIC": {
        "claude-haiku-4-5": 5.0,
        "claude-sonnet-4-6": 15.0,
        "claude-sonnet-5-5": 16.0,
        "claude-opus-5-5": 25.0,
    },
    "BUILTIN": {"echo": 0.0},
    "CUSTOM_OPENAI_COMPATIBLE": {"llama-3": 0.0},
}
MODELS = [
    replace(MODEL, id=number, vendor=vendor, name=name, completion_price=price)
    for number, (vendor, name, price) in enumerate(
        (vendor, name, price) for vendor, prices in _NAMES.items() for name, price in prices.items()
    )
]


def chosen(name: str, credentials: dict[str, str], models: list[LanguageModel] = MODELS, **more: bool) -> str | None:
    model = substitute(name, models, credentials, **{"other_vendors": True, **more})
    return model and model.name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("claude-3-5-sonnet-20241022", "claude-sonnet-4-6"),
        ("claude-3-haiku-20240307", "claude-haiku-4-5"),
        ("anthropic/claude-sonnet-4", "claude-sonnet-4-6"),
        ("us.anthropic.claude-opus-4-1-20250805-v1:0", "claude-opus-5-5"),
        ("claude-3-7-sonnet-latest", "claude-sonnet-4-6"),
        ("claude-2", "claude-haiku-4-5"),
    ],
)
def test_a_retired_model_is_replaced_by_the_nearest_of_its_family(name: str, expected: str) -> None:
    assert chosen(name, ANTHROPIC) == expected
    assert chosen(name, ANTHROPIC | OPENAI) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gpt-4-turbo", "gpt-4.1"),
        ("gpt-5.2", "gpt-5.5"),
        ("gpt-4.1-mini", "gpt-5-mini"),
        ("o4-mini", "gpt-5-mini"),
        ("chatgpt-4o-latest", "gpt-4o"),
    ],
)
def test_models_of_openai_have_a_family_under_several_names(name: str, expected: str) -> None:
    assert chosen(name, OPENAI) == expected


@pytest.mark.parametrize("credentials", [{}, ANTHROPIC])
def test_a_name_with_a_date_or_a_path_is_that_of_a_known_model_whichever_keys_are_set(
    credentials: dict[str, str],
) -> None:
    assert chosen("gpt-4o-2024-08-06", credentials) == "gpt-4o"
    assert chosen("openai/gpt-4o-mini", credentials) == "gpt-4o-mini"
    assert chosen("LLAMA-3", credentials) == "llama-3"


def test_a_model_of_a_vendor_without_a_key_is_replaced_by_one_of_the_only_vendor_that_has_one() -> None:
    assert chosen("claude-2", OPENAI) == "gpt-4.1"
    assert chosen("mistral-mini", OPENAI) == "gpt-5-mini"
    assert chosen("mistral", OPENAI | ANTHROPIC) is None
    assert chosen("mistral", OPENAI, other_vendors=False) is None
    assert chosen("mistral", {}) is None


def test_what_another_server_offers_is_not_guessed_but_it_may_offer_the_family() -> None:
    elsewhere = {"OPENAI": "http://localhost:11434/v1"}

    assert chosen("qwen-3", elsewhere) is None
    assert chosen("gpt-4-turbo", elsewhere) == "gpt-4.1"


def test_models_that_no_prompt_can_use_are_not_chosen() -> None:
    off = [replace(model, disabled=model.name == "claude-sonnet-4-6") for model in MODELS]
    gone = [replace(model, retired=model.vendor == "OPENAI") for model in MODELS]

    assert chosen("claude-3-5-sonnet-20241022", ANTHROPIC, off) == "claude-sonnet-5-5"
    assert chosen("gpt-4o-2024-08-06", OPENAI, gone) is None


@pytest.mark.parametrize("name", ["", " ", "-", "🙂", "4", "a" * 100_000])
def test_any_name_can_be_asked_for(name: str) -> None:
    assert chosen(name, {}) is None
    chosen(name, OPENAI)
