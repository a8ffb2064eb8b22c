"""The catalogue of models: what ships is sound, a file extends it, and costs are exact."""

from decimal import Decimal

import pytest

from app.chat import Tokens
from app.errors import Invalid
from app.providers import builtin, catalogue
from app.providers.vendors import CUSTOM, VENDORS

HEAD = "pricesAsOf = 2026-01-01\n"
MINE = """
[[models]]
vendor = "OPENAI"
name = "mine"
description = "x"
contextTokensMax = 10
completionTokensMax = 5
prices = { input = 3, output = 15, cacheRead = 0.3, cacheWrite = 3.75, reasoning = 20 }
longPrompt = { above = 100, input = 6, output = 22.5 }
"""


@pytest.fixture
def extend(tmp_path):
    def write(text):
        path = tmp_path / "models.toml"
        path.write_text(text)
        return catalogue.load(path)

    return write


def test_every_vendor_has_models_and_each_is_dated():
    entries = catalogue.load().values()

    assert {entry.vendor for entry in entries} == {*VENDORS, "BUILTIN"} - {CUSTOM}
    assert all(entry.prices_as_of and entry.description for entry in entries)


def test_every_shipped_model_answers_within_its_context_and_caches_below_its_price():
    for entry in catalogue.load().values():
        assert entry.completion_tokens_max <= entry.context_tokens_max, entry.name
        assert (entry.prices.cache_read or 0) <= entry.prices.input <= entry.prices.output, entry.name


def test_the_only_default_is_echo():
    assert [entry.name for entry in catalogue.load().values() if entry.default] == ["echo"]


def test_the_builtin_entries_are_the_builtin_models_with_their_purposes():
    shipped = {entry.name: entry.description for entry in catalogue.load().values() if entry.vendor == "BUILTIN"}

    assert set(shipped) == set(builtin.NAMES)
    assert all("for trying the product and for tests" in description for description in shipped.values())


def test_a_file_adds_models_and_replaces_shipped_ones(extend):
    extended = extend(HEAD + MINE + MINE.replace("mine", "gpt-4o-mini"))

    assert len(extended) == len(catalogue.load()) + 1
    assert extended["OPENAI", "gpt-4o-mini"].prices.input == 3


@pytest.mark.parametrize(
    ("broken", "names"),
    [
        ("nonsense", "models.toml"),
        (MINE, "pricesAsOf"),
        (HEAD + MINE + "colour = 1", "colour"),
        (HEAD + MINE.replace('"OPENAI"', '"ACME"'), "models.*vendor"),
        (HEAD + MINE.replace("input = 3,", "input = -3,"), "models.*prices"),
        (HEAD + MINE.replace("input = 3,", "input = nan,"), "models.*prices"),
        (HEAD + MINE.replace("Max = 10", "Max = 0"), "contextTokensMax"),
        (HEAD + MINE + "temperature = [2.0, 1.0]", "temperature"),
    ],
)
def test_a_broken_file_is_refused_by_the_name_of_file_and_field(extend, broken, names):
    with pytest.raises(Invalid, match=names):
        extend(broken)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(Invalid, match="absent"):
        catalogue.load(tmp_path / "absent.toml")


def test_cost_bills_cached_and_reasoning_tokens_as_parts_at_their_own_price(extend):
    entry = extend(HEAD + MINE)["OPENAI", "mine"]

    cost = catalogue.cost(entry, Tokens(prompt=100, completion=10, cache_read=60, cache_write=20, reasoning=4))

    assert cost.prompt == (20 * Decimal(3) + 60 * Decimal("0.3") + 20 * Decimal("3.75")) / 1_000_000
    assert cost.completion == (6 * Decimal(15) + 4 * Decimal(20)) / 1_000_000
    assert cost.total == cost.prompt + cost.completion


def test_cost_of_a_long_prompt_is_by_the_long_prices_for_all_of_it(extend):
    entry = extend(HEAD + MINE)["OPENAI", "mine"]

    cost = catalogue.cost(entry, Tokens(prompt=101, completion=10, cache_read=1, reasoning=5))

    assert cost.prompt == 101 * Decimal(6) / 1_000_000
    assert cost.completion == 10 * Decimal("22.5") / 1_000_000


def test_gpt_4o_mini_costs_what_openai_publishes():
    cost = catalogue.cost(catalogue.load()["OPENAI", "gpt-4o-mini"], Tokens(1_000_000, 1_000_000))

    assert (cost.prompt, cost.completion) == (Decimal("0.15"), Decimal("0.6"))


def test_a_model_that_no_catalogue_knows_costs_nothing():
    assert catalogue.cost(None, Tokens(5, 5)).total == 0


def test_counts_that_contradict_each_other_never_make_a_negative_cost(extend):
    entry = extend(HEAD + MINE)["OPENAI", "mine"]

    assert catalogue.cost(entry, Tokens(prompt=1, completion=1, cache_read=5, reasoning=5)).total > 0
