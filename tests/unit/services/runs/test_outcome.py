"""Answers as columns: tokens, and cost by the model's row."""

from datetime import UTC, datetime

import msgspec
import pytest

from app.chat import Answer, Tokens, ToolCall
from app.models.language_models import LanguageModel
from app.providers import catalogue
from app.providers.types import ModelConfig
from app.services.language_models.service import _columns
from app.services.runs.outcome import answered, cost_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def model(vendor="OPENAI", name="mine", **fields):
    values = {
        "prompt_price": 2.5,
        "completion_price": 10.0,
        "context_tokens_max": 1000,
        "completion_tokens_max": 1000,
        "description": "",
        "details": {},
        **fields,
    }
    identity = {"id": 1, "organization_id": 7, "vendor": vendor, "name": name, "base_url": ""}
    return LanguageModel(**identity, **values, retired=False, created_at=NOW, updated_at=NOW)


def shipped():
    return [(entry, model(**_columns(entry))) for entry in catalogue.load().values()]


@pytest.mark.parametrize(("entry", "row"), shipped(), ids=lambda value: getattr(value, "name", ""))
def test_a_row_costs_what_its_catalogue_entry_does(entry, row):
    tokens = Tokens(300_000, 2_000, cache_read=100, cache_write=50, reasoning=700)

    assert cost_of(row, tokens) == catalogue.cost(entry, tokens)


def test_an_organizations_own_model_costs_by_its_own_prices():
    cost = cost_of(model(), Tokens(1_000_000, 100_000))

    assert (float(cost.prompt), float(cost.completion), float(cost.total)) == (2.5, 1.0, 3.5)


def test_parts_of_the_tokens_are_reported_when_there_are_any():
    plain = answered(Answer("x", tokens=Tokens(3, 2)), ModelConfig(), model())
    parts = answered(Answer("x", tokens=Tokens(3, 2, 1, 1, 1)), ModelConfig(), model())

    assert msgspec.to_builtins(plain.outcome.tokens) == {"prompt": 3, "completion": 2, "total": 5}
    assert msgspec.to_builtins(parts.outcome.tokens) == {
        "prompt": 3, "completion": 2, "total": 5, "cacheRead": 1, "cacheWrite": 1, "reasoning": 1
    }  # fmt: skip


def test_an_outcome_is_stored_under_the_names_that_rows_have_always_had():
    call = ToolCall("1", "weather", {"city": "Rome"})
    end = answered(Answer("x", (call,), reasoning="because", tokens=Tokens(3, 2)), ModelConfig(), model(), "mini: away")

    assert msgspec.to_builtins(end.outcome) == {
        "tokens": {"prompt": 3, "completion": 2, "total": 5},
        "cost": {"prompt": 7.5e-06, "completion": 2e-05, "total": 2.75e-05},
        "chainOfThoughts": "because",
        "toolCalls": [{"id": "1", "name": "weather", "arguments": {"city": "Rome"}}],
        "firstError": "mini: away",
    }
