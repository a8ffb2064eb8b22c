"""Prices that organizations set for models which occur in traces and are not in the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import Connection, Double, ForeignKey, UniqueConstraint, delete, select

from app.models import queries
from app.models.base import BigInt, Timestamp, exact, new_table
from app.models.organizations import projects


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """USD per million tokens. A price that is None equals the prompt's price; for reasoning, the completion's price.

    `provider` is "" for a price that applies at every provider.
    """

    organization_id: Annotated[int, BigInt, ForeignKey("organizations.id")]
    provider: Annotated[str, exact(64)]
    model: Annotated[str, exact(255)]
    prompt_price: Annotated[float, Double]
    completion_price: Annotated[float, Double]
    cache_read_price: Annotated[float | None, Double]
    cache_write_price: Annotated[float | None, Double]
    reasoning_price: Annotated[float | None, Double]
    created_at: Annotated[datetime, Timestamp]
    updated_at: Annotated[datetime, Timestamp]
    id: int = 0


model_prices = new_table("model_prices", ModelPrice, UniqueConstraint("organization_id", "provider", "model"))

_C = model_prices.c
_SELECT = select(*queries.columns_of(ModelPrice, model_prices))


def list_prices(connection: Connection, *, organization_id: int) -> list[ModelPrice]:
    """List the prices of an organization by provider and model."""
    statement = _SELECT.where(_C.organization_id == organization_id).order_by(_C.provider, _C.model)
    return queries.list_rows(connection, ModelPrice, statement)


def prices_of_project(connection: Connection, *, project_id: int) -> list[ModelPrice]:
    """List the prices of the organization that a project belongs to."""
    of_organization = projects.c.organization_id == _C.organization_id
    return queries.list_rows(
        connection, ModelPrice, _SELECT.join(projects, of_organization).where(projects.c.id == project_id)
    )


def put_price(
    connection: Connection, *, organization_id: int, provider: str, model: str, values: dict[str, Any], now: datetime
) -> tuple[ModelPrice, bool]:
    """Write the price of a model; returns it, and whether there was none before."""
    key = {"organization_id": organization_id, "provider": provider, "model": model}
    written = _SELECT.filter_by(**key)
    known = queries.find_row(connection, ModelPrice, written)
    changed = values | {"updated_at": now}
    queries.put_row(connection, model_prices, key=key, values=changed, new={"created_at": now})
    return ModelPrice(*connection.execute(written).one()), known is None


def find_price(connection: Connection, *, organization_id: int, price_id: int) -> ModelPrice | None:
    statement = _SELECT.where(_C.id == price_id, _C.organization_id == organization_id)
    return queries.find_row(connection, ModelPrice, statement)


def remove_price(connection: Connection, *, organization_id: int, price_id: int) -> bool:
    """Remove a price; returns False where the organization has none of that id."""
    statement = delete(model_prices).where(_C.id == price_id, _C.organization_id == organization_id)
    return queries.changes_row(connection, statement)
