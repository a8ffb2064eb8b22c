"""Prices of models that traces name: those that an organization has set, and the models that have none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from marshmallow import validate

from app.models import model_prices
from app.schemas.answer import Answer, fields_of, integer, many, part
from app.schemas.base import JsonNumber, StrictSchema, Text
from app.schemas.traces import CalledModel
from app.services.language_models.prices import MODEL_MAX, PROVIDER_MAX, OwnPrice
from app.services.language_models.service import PRICE_MAX
from app.services.traces.observed import ObservedGroup


def _price(**options: Any) -> JsonNumber:
    return JsonNumber(validate=validate.Range(0, PRICE_MAX), **options)


class ModelPriceSchema(StrictSchema):
    """Prices in USD per million tokens; the caches cost as much as the prompt for null, reasoning as the completion."""

    command: ClassVar = OwnPrice

    model = Text(required=True, minimum=1, maximum=MODEL_MAX, trim=True)
    provider = Text(maximum=PROVIDER_MAX, trim=True, load_default="")
    prompt_price = _price(required=True)
    completion_price = _price(required=True)
    cache_read_price = _price(allow_none=True, load_default=None)
    cache_write_price = _price(allow_none=True, load_default=None)
    reasoning_price = _price(allow_none=True, load_default=None)


class ModelPrice(Answer):
    """`provider` is "" where the price holds at every provider."""

    called = fields_of(model_prices.ModelPrice, "id", "provider", "model")
    prices = fields_of(model_prices.ModelPrice, "prompt_price", "completion_price")
    parts = fields_of(model_prices.ModelPrice, "cache_read_price", "cache_write_price", "reasoning_price")
    times = fields_of(model_prices.ModelPrice, "created_at", "updated_at")


class UnpricedModel(Answer):
    """A model as traces name it, and what its calls used in the last 30 days."""

    called = part(CalledModel, "called")
    calls = integer(attribute="sums.calls")
    prompt_tokens = integer(attribute="sums.usage.input_tokens")
    completion_tokens = integer(attribute="sums.usage.output_tokens")


class Priced(NamedTuple):
    own: Sequence[model_prices.ModelPrice]
    unpriced: Sequence[ObservedGroup]


class ModelPrices(Answer):
    """`unpricedModels` are those of the key's project: at most 100, the ones with the most tokens first."""

    model_prices = many(ModelPrice, attribute="own")
    unpriced_models = many(UnpricedModel, attribute="unpriced")
