"""Costs and bills of model calls."""

from __future__ import annotations

from decimal import Decimal

import pytest

from app.chat import Tokens
from app.prices.book import NO_PRICES, PriceBook, PriceList
from app.prices.names import LONGEST
from app.prices.types import (
    NOTHING,
    Bill,
    CalledModel,
    Cost,
    ModalityPrices,
    Prices,
    Tariff,
    size_of,
    size_of_modality,
    total,
)
from app.providers import catalogue

BOOK = PriceBook(catalogue.load_prices())


# By the lists of prices that the vendors publish, in USD per million tokens.
@pytest.mark.parametrize(
    ("provider", "model", "tokens", "prompt", "completion"),
    [
        ("openai", "gpt-4o-mini-2024-07-18", Tokens(1_000_000, 1_000_000), "0.15", "0.60"),
        ("openai", "gpt-4o", Tokens(1_000_000, 0, cache_read=400_000), "2.00", "0"),
        ("openai", "o3", Tokens(1000, 3000, reasoning=2000), "0.002", "0.024"),
        ("anthropic", "claude-haiku-4-5", Tokens(100_000, 1000, 60_000, 20_000), "0.051", "0.005"),
        ("aws.bedrock", "us.anthropic.claude-opus-4-1-20250805-v1:0", Tokens(10_000, 1000), "0.15", "0.075"),
        ("gcp.gemini", "gemini-2.5-pro", Tokens(200_000, 1000), "0.25", "0.01"),
        ("gcp.gemini", "gemini-2.5-pro", Tokens(200_001, 1000), "0.5000025", "0.015"),
        ("anthropic", "claude-sonnet-4-5", Tokens(200_001, 1000, 200_001), "0.1200006", "0.0225"),
    ],
)
def test_a_call_costs_what_the_vendor_publishes(
    provider: str, model: str, tokens: Tokens, prompt: str, completion: str
) -> None:
    assert BOOK.bill(CalledModel(provider, model), tokens).cost == Cost(Decimal(prompt), Decimal(completion))


def test_a_sum_of_calls_costs_what_the_calls_cost() -> None:
    called = CalledModel("gcp.gemini", "gemini-2.5-pro")
    calls = [Tokens(150_000, 10), Tokens(190_000, 20), Tokens(250_000, 30)]
    sums = [(Tokens(340_000, 30), size_of(150_000)), (Tokens(250_000, 30), size_of(250_000))]

    each = total(BOOK.bill(called, tokens) for tokens in calls)
    summed = total(BOOK.bill(called, tokens, size) for tokens, size in sums)

    assert each == summed


def test_a_bill_names_the_models_that_are_not_in_it() -> None:
    known, unknown = CalledModel("openai", "gpt-4o"), CalledModel("acme", "gpt-99")

    bill = total([BOOK.bill(known, Tokens(1_000_000, 0)), BOOK.bill(unknown, Tokens(5, 5))])

    assert bill == Bill(Cost(Decimal("2.5"), Decimal(0)), frozenset({unknown}))


def test_a_call_without_recorded_tokens_has_no_cost_and_lacks_no_price() -> None:
    assert BOOK.bill(CalledModel("acme", "gpt-99"), Tokens()) is NOTHING


def test_without_prices_nothing_is_known_of_the_cost() -> None:
    assert NO_PRICES.bill(CalledModel("openai", "gpt-4o"), Tokens(1, 1)).cost is None


@pytest.mark.parametrize(
    ("tokens", "size"), [(0, 0), (1, 0), (200_000, 128_000), (200_001, 200_000), (10**12, 272_000)]
)
def test_the_size_of_a_prompt_is_the_greatest_number_that_it_exceeds(tokens: int, size: int) -> None:
    assert size_of(tokens) == size


def test_long_names_of_models_are_not_remembered_whole() -> None:
    book = PriceBook(PriceList({}))
    book.find(CalledModel("p" * 1_000_000, "m" * 1_000_000))

    assert max(len(called.provider + called.model) for called in book._known) <= 2 * LONGEST


# By the pages of the vendors' models, in USD per million tokens.
@pytest.mark.parametrize(
    ("model", "modality", "tokens", "prompt", "completion"),
    [
        ("gpt-realtime-1.5", "audio", Tokens(1_000_000, 1_000_000), "32", "64"),
        ("gpt-realtime-1.5", "audio", Tokens(1_000_000, 0, 250_000), "24.1", "0"),
        ("gpt-realtime-1.5", "image", Tokens(1_000_000, 0, 500_000), "2.75", "0"),
        ("gpt-4o-realtime-preview-2024-12-17", "audio", Tokens(1_000_000, 1_000_000), "40", "80"),
        ("gpt-4o-audio-preview", "audio", Tokens(1_000_000, 0, 1_000_000), "40", "0"),
        ("gemini-2.5-flash", "audio", Tokens(1_000_000, 0, 500_000), "0.55", "0"),
        ("gemini-2.5-flash", "image", Tokens(1_000_000, 0), "0.3", "0"),
        ("gpt-4o", "image", Tokens(1_000_000, 0, 1_000_000), "1.25", "0"),
    ],
)
def test_sound_and_images_cost_what_the_vendor_publishes(
    model: str, modality: str, tokens: Tokens, prompt: str, completion: str
) -> None:
    bill = BOOK.bill(CalledModel("", model), tokens, size_of_modality(modality, 0))

    assert bill.cost == Cost(Decimal(prompt), Decimal(completion))


def test_sound_at_the_price_of_text_costs_more_in_long_prompts() -> None:
    called, tokens = CalledModel("", "gemini-2.5-pro"), Tokens(100_000, 0)

    costs = [BOOK.bill(called, tokens, size_of_modality("audio", size)).total_usd for size in (0, 200_000)]

    assert costs == [0.125, 0.25]


@pytest.mark.parametrize(
    ("model", "modality", "tokens"),
    [
        ("gpt-4o", "audio", Tokens(10, 0)),
        ("gpt-4o", "image", Tokens(0, 10)),
        ("gpt-realtime-1.5", "image", Tokens(10, 10)),
        ("gemini-2.5-flash", "audio", Tokens(0, 10)),
    ],
)
def test_tokens_of_a_modality_without_a_price_have_no_cost_and_their_model_is_named(
    model: str, modality: str, tokens: Tokens
) -> None:
    called = CalledModel("", model)

    assert BOOK.bill(called, tokens, size_of_modality(modality, 0)) == Bill(None, frozenset({called}))


def test_a_model_of_sound_has_no_cost_where_the_modalities_of_its_tokens_are_not_known() -> None:
    called, tokens = CalledModel("openai", "gpt-4o-audio-preview"), Tokens(1_000_000, 0)

    assert BOOK.bill(called, tokens) == Bill(None, frozenset({called}))
    assert BOOK.bill(called, tokens, size_of_modality("text", 0)).total_usd == 2.5


def test_a_price_that_people_set_is_that_of_all_tokens() -> None:
    tariff = Tariff("organization", Prices(Decimal(1), Decimal(2)), for_all=True)
    book = PriceBook(PriceList({}), {("", "voice"): tariff})

    for modality in ("audio", "image"):
        bill = book.bill(CalledModel("", "voice"), Tokens(1_000_000, 1_000_000), size_of_modality(modality, 200_000))
        assert bill.total_usd == 3


def test_a_price_of_a_modality_is_not_negative() -> None:
    with pytest.raises(ValueError, match="at least 0"):
        ModalityPrices(input=Decimal(-1))
