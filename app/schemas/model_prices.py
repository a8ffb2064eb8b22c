"""Prices of models that traces name: the prices that an organization has set, and the models without a price."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from marshmallow import validate

from app.models import model_prices
from app.schemas.answer import AnswerSchema, fields_of, integer, many, part
from app.schemas.base import JsonNumber, StrictSchema, Text
from app.schemas.traces import CalledModelSchema
from app.services.ingest.observed import ObservedGroup
from app.services.language_models.prices import MODEL_MAX, PROVIDER_MAX, OwnPrice
from app.services.language_models.service import PRICE_MAX


def _price(**options: Any) -> JsonNumber:
    return JsonNumber(validate=validate.Range(0, PRICE_MAX), **options)


class ModelPriceSchema(StrictSchema):
    """Prices in USD per million tokens. If null, cached tokens cost the prompt's price, reasoning the completion's."""

    command: ClassVar = OwnPrice

    model = Text(required=True, minimum=1, maximum=MODEL_MAX, trim=True)
    provider = Text(maximum=PROVIDER_MAX, trim=True, load_default="")
    prompt_price = _price(required=True)
    completion_price = _price(required=True)
    cache_read_price = _price(allow_none=True, load_default=None)
    cache_write_price = _price(allow_none=True, load_default=None)
    reasoning_price = _price(allow_none=True, load_default=None)


class ModelPriceAnswerSchema(AnswerSchema):
    """`provider` is "" if the price applies to every provider."""

    called = fields_of(model_prices.ModelPrice, "id", "provider", "model")
    prices = fields_of(model_prices.ModelPrice, "prompt_price", "completion_price")
    parts = fields_of(model_prices.ModelPrice, "cache_read_price", "cache_write_price", "reasoning_price")
    times = fields_of(model_prices.ModelPrice, "created_at", "updated_at")


class UnpricedModel(AnswerSchema):
    """A model as traces name it, with the usage of its calls in the last 30 days."""

    called = part(CalledModelSchema, "called")
    calls = integer(attribute="sums.calls")
    prompt_tokens = integer(attribute="sums.usage.input_tokens")
    completion_tokens = integer(attribute="sums.usage.output_tokens")


class Priced(NamedTuple):
    own: Sequence[model_prices.ModelPrice]
    unpriced: Sequence[ObservedGroup]


class ModelPricesSchema(AnswerSchema):
    """`unpricedModels` are models in the key's project: at most 100, the models with the most tokens first."""

    model_prices = many(ModelPriceAnswerSchema, attribute="own")
    unpriced_models = many(UnpricedModel, attribute="unpriced")
