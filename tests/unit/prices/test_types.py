"""Costs and bills of model calls."""

from __future__ import annotations

from decimal import Decimal

import pytest

from app.chat import Tokens
from app.prices.book import NO_PRICES, PriceBook, PriceList
from app.prices.names import LONGEST
from app.prices.types import NOTHING, Bill, CalledModel, Cost, size_of, total
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
