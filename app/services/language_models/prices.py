"""The prices of a project's observed model calls: its organization's prices, and the vendors'."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from decimal import Decimal

from sqlalchemy import Connection

from app.database.transactions import Database, retried
from app.errors import Invalid, NotFound, require
from app.models import audit_log, language_models, model_prices, organizations
from app.models.audit_log import Action, Actor
from app.models.language_models import PricedModel
from app.models.model_prices import ModelPrice
from app.prices.book import PriceBook, PriceList
from app.prices.names import key_of
from app.prices.types import Prices, Tariff
from app.timestamps import Now

ORGANIZATION = "organization"
"""The source of a price that a person set."""
PRICES_MAX = 1_000
"""Prices that an organization may set; all of them are loaded for every session that is read."""
PROVIDER_MAX, MODEL_MAX = 64, 255
NO_PRICE = "The organization has set no such price."


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPrice:
    """An organization's price of a model in traces, in USD per million tokens; `provider` "" means any provider.

    A price of None is the prompt's price; a reasoning price of None is the completion's.
    """

    model: str
    provider: str = ""
    prompt_price: float
    completion_price: float
    cache_read_price: float | None = None
    cache_write_price: float | None = None
    reasoning_price: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceService:
    database: Database
    now: Now
    published: PriceList

    def book(self, connection: Connection, *, project_id: int) -> PriceBook:
        """Return the prices of the project's organization; the prices of its models apply to any provider."""
        models = language_models.priced_models_of_project(connection, project_id=project_id)
        added = {("", key_of(model.name)): _tariff_of(model) for model in models}
        for row in model_prices.prices_of_project(connection, project_id=project_id):
            added[row.provider, key_of(row.model)] = _tariff(row)
        return PriceBook(self.published, added)

    def list(self, *, organization_id: int) -> list[ModelPrice]:
        """List the organization's prices, by provider and model."""
        with self.database.read() as connection:
            return model_prices.list_prices(connection, organization_id=organization_id)

    def get(self, *, organization_id: int, price_id: int) -> ModelPrice:
        """Return a price of the organization; `NotFound` if there is none."""
        with self.database.read() as connection:
            price = model_prices.find_price(connection, organization_id=organization_id, price_id=price_id)
        return require(price, NO_PRICE)

    @retried
    def put(self, *, organization_id: int, price: OwnPrice, actor: Actor) -> tuple[ModelPrice, bool]:
        """Set the price of a model; returns it, and whether it is new. Raises `Invalid` beyond `PRICES_MAX`."""
        values = asdict(price)
        model, provider = values.pop("model"), values.pop("provider").strip().lower()
        if not key_of(model):
            raise Invalid("model: Must have a letter or a digit.")
        now, key = self.now(), {"organization_id": organization_id, "provider": provider, "model": model}
        with self.database.write() as connection:
            organizations.lock_organization(connection, organization_id)
            stored, is_new = model_prices.put_price(connection, **key, values=values, now=now)
            if is_new and len(model_prices.list_prices(connection, organization_id=organization_id)) > PRICES_MAX:
                raise Invalid(f"model: An organization can set {PRICES_MAX:,} prices; remove one first.")
            audit_log.note(
                connection, now, actor, Action.PRICE_SET, model[:100], values, organization_id=organization_id
            )
        return stored, is_new

    @retried
    def remove(self, *, organization_id: int, price_id: int, actor: Actor) -> None:
        """Remove a price of the organization; `NotFound` if there is none."""
        now, key = self.now(), {"organization_id": organization_id, "price_id": price_id}
        with self.database.write() as connection:
            known = model_prices.find_price(connection, **key)
            if known is None or not model_prices.remove_price(connection, **key):
                raise NotFound(NO_PRICE)
            audit_log.note(
                connection, now, actor, Action.PRICE_REMOVED, known.model[:100], organization_id=organization_id
            )


def _tariff_of(model: PricedModel) -> Tariff:
    return Tariff(ORGANIZATION, Prices(*_exact(model.prompt_price, model.completion_price)), for_all=True)


def _tariff(row: ModelPrice) -> Tariff:
    parts = (row.cache_read_price, row.cache_write_price, row.reasoning_price)
    return Tariff(ORGANIZATION, Prices(*_exact(row.prompt_price, row.completion_price, *parts)), for_all=True)


def _exact(*prices: float | None) -> Iterator[Decimal]:
    """Yield the prices as the decimals that people entered."""
    return (None if price is None else Decimal(str(price)) for price in prices)  # type: ignore[misc]
