"""The names by which instrumentations call models find the prices that the vendors publish."""

from __future__ import annotations

import csv
from decimal import Decimal
from pathlib import Path

import pytest

from app.prices.book import PriceBook
from app.prices.names import keys_of
from app.prices.types import SIZES, CalledModel, Prices, Tariff
from app.providers import catalogue

TABLE = Path(__file__).parents[2] / "data" / "prices" / "names.tsv"
ROWS = list(csv.DictReader(TABLE.read_text().splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))
PUBLISHED = catalogue.load_prices()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['instrumentation']}:{row['model'][:60]}")
def test_a_name_has_the_prices_of_its_model_or_none(row: dict[str, str]) -> None:
    found = PUBLISHED.find(CalledModel(row["provider"], row["model"]))

    assert (found.source if found else "-") == row["prices"]


def test_the_table_has_200_names_of_14_instrumentations() -> None:
    assert len(ROWS) >= 200
    assert len({row["instrumentation"] for row in ROWS}) >= 14


def test_every_threshold_of_the_catalogue_is_a_size_by_which_calls_are_summed() -> None:
    thresholds = {tariff.long_prompt.above for _, tariff in PUBLISHED.by_key.values() if tariff.long_prompt}

    assert thresholds <= set(SIZES)


@pytest.mark.parametrize("name", ["", " ", "/", "a" * 200_000, "-" * 200_000, "/" * 5_000, "x\x00y", "gpt-" * 9_000])
def test_any_text_is_a_name_and_has_few_keys(name: str) -> None:
    assert len(keys_of(name)) <= 12
    assert PUBLISHED.find(CalledModel(name, name)) is None


def test_the_price_that_a_person_set_counts_before_the_published_one_and_at_its_provider_before_any() -> None:
    here, anywhere = (Tariff(source, Prices(Decimal(1), Decimal(2))) for source in ("here", "anywhere"))
    book = PriceBook(PUBLISHED, {("groq", "llama3-2"): here, ("", "llama3-2"): anywhere, ("", "gpt-4o"): anywhere})

    assert book.find(CalledModel("Groq", "llama3.2")) is here
    assert book.find(CalledModel("ollama", "llama3.2-latest")) is anywhere
    assert book.find(CalledModel("openai", "gpt-4o-2024-08-06")) is anywhere
    assert book.find(CalledModel("groq", "llama4")) is None
