"""Language models: the shared catalogue, organizations' own models and choices, and vendors' encrypted keys."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    DefaultClause,
    Float,
    Index,
    Integer,
    Select,
    String,
    UniqueConstraint,
    and_,
    bindparam,
    func,
    or_,
    select,
    update,
)

from app.models import queries
from app.models.base import BigInt, Json, MediumText, Timestamp, exact, new_table, reference
from app.models.organizations import projects

# Models are enabled unless an organization disables them; it has at most one default.
model_choices = new_table(
    "model_choices",
    reference("organization_id", "organizations"),
    reference("language_model_id", "language_models"),
    Column("disabled", Boolean(create_constraint=False), nullable=False, server_default="0"),
    Column("is_default", Boolean(create_constraint=False), nullable=False, server_default="0"),
    UniqueConstraint("organization_id", "language_model_id"),
    Index("ix_model_choices_language_model_id", "language_model_id"),
)


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """Prices in USD per million tokens; `details` holds the catalogue's further fields of the model."""

    id: int
    # 0 for models of the catalogue, since NULLs would escape the unique key.
    organization_id: Annotated[int, BigInt, DefaultClause("0")]
    vendor: Annotated[str, exact(64)]
    name: Annotated[str, exact(128)]
    base_url: Annotated[str, String(512), DefaultClause("")]
    prompt_price: Annotated[float, Float]
    completion_price: Annotated[float, Float]
    context_tokens_max: Annotated[int, Integer]
    completion_tokens_max: Annotated[int, Integer]
    description: Annotated[str, MediumText]
    details: Annotated[dict[str, Any], Json]
    retired: Annotated[bool, Boolean(create_constraint=False), DefaultClause("0")]
    created_at: Annotated[datetime, Timestamp]
    updated_at: Annotated[datetime, Timestamp]
    disabled: bool = False
    is_default: bool = False

    @property
    def usable(self) -> bool:
        return not (self.retired or self.disabled)


language_models = new_table("language_models", LanguageModel, UniqueConstraint("organization_id", "vendor", "name"))


_COLUMNS = queries.columns_of(
    LanguageModel,
    language_models,
    disabled=func.coalesce(model_choices.c.disabled, False),
    is_default=func.coalesce(model_choices.c.is_default, False),
)


def _visible(organization_id: int) -> Select[Any]:
    c, choice = language_models.c, model_choices.c
    chosen = and_(choice.language_model_id == c.id, choice.organization_id == organization_id)
    return select(*_COLUMNS).outerjoin(model_choices, chosen).where(c.organization_id.in_((0, organization_id)))


def list_models(connection: Connection, *, organization_id: int) -> list[LanguageModel]:
    """List all models that the organization can see, disabled and retired ones too, by vendor and name."""
    statement = _visible(organization_id).order_by(language_models.c.vendor, language_models.c.name)
    return queries.list_rows(connection, LanguageModel, statement)


def find_model(connection: Connection, *, organization_id: int, model_id: int) -> LanguageModel | None:
    statement = _visible(organization_id).where(language_models.c.id == model_id)
    return queries.find_row(connection, LanguageModel, statement)


def find_models_named(connection: Connection, *, organization_id: int, name: str) -> list[LanguageModel]:
    """List the models of that name: the organization's own first, then in order of id."""
    c = language_models.c
    statement = _visible(organization_id).where(c.name == name).order_by(c.organization_id.desc(), c.id)
    return queries.list_rows(connection, LanguageModel, statement)


@dataclass(frozen=True, slots=True)
class PricedModel:
    """The prices of a model that an organization has added itself, in USD per million tokens."""

    name: str
    prompt_price: float
    completion_price: float


def priced_models_of_project(connection: Connection, *, project_id: int) -> list[PricedModel]:
    """List the models of a project's organization with a price, including disabled ones but no retired ones.

    A price of 0 is the default of an added model and means unknown.
    """
    c = language_models.c
    statement = (
        select(c.name, c.prompt_price, c.completion_price)
        .join(projects, projects.c.organization_id == c.organization_id)
        .where(projects.c.id == project_id, or_(c.prompt_price != 0, c.completion_price != 0))
        .where(c.retired.is_(False))
    )
    return queries.list_rows(connection, PricedModel, statement)


def put_catalogue(connection: Connection, *, entries: list[dict[str, Any]], now: datetime) -> None:
    """Add, change or retire shared models to make them those of `entries` (column names to values)."""
    c = language_models.c
    shared = connection.execute(select(language_models).where(c.organization_id == 0)).mappings()
    known = {(row["vendor"], row["name"]): row for row in shared}
    for entry in sorted(entries, key=lambda e: (e["vendor"], e["name"])):
        key = {"organization_id": 0, "vendor": entry["vendor"], "name": entry["name"]}
        row, values = known.pop((entry["vendor"], entry["name"]), None), entry | {"retired": False}
        if row is None or any(row[column] != value for column, value in values.items()):
            changed = values | {"updated_at": now}
            queries.put_row(connection, language_models, key=key, values=changed, new={"created_at": now})
    removed = [row["id"] for row in known.values() if not row["retired"]]
    connection.execute(update(language_models).where(c.id.in_(removed)).values(updated_at=now, retired=True))


def put_own_model(
    connection: Connection, *, organization_id: int, vendor: str, name: str, values: dict[str, Any], now: datetime
) -> tuple[int, bool]:
    """Write a model of the organization, in place of one of the same name, even a retired one.

    Returns its id, and whether it was added.
    """
    c = language_models.c
    key = {"organization_id": organization_id, "vendor": vendor, "name": name}
    id_of_own = select(c.id).filter_by(**key)
    known = connection.scalar(id_of_own)
    changed = values | {"updated_at": now, "retired": False}
    queries.put_row(connection, language_models, key=key, values=changed, new={"created_at": now})
    return connection.scalars(id_of_own).one(), known is None


def count_own_models(connection: Connection, *, organization_id: int) -> int:
    """Return how many models the organization has, with the retired ones."""
    statement = (
        select(func.count()).select_from(language_models).where(language_models.c.organization_id == organization_id)
    )
    return connection.scalars(statement).one()


def retire_own_model(connection: Connection, *, organization_id: int, model_id: int, now: datetime) -> bool:
    """Retire a model; returns False for one that is not the organization's own, or is retired already."""
    c = language_models.c
    of_organization = update(language_models).where(
        c.id == model_id, c.organization_id == organization_id, c.retired.is_(False)
    )
    return queries.changes_row(connection, of_organization.values(retired=True, updated_at=now))


def put_choice(connection: Connection, *, organization_id: int, model_id: int, values: dict[str, bool]) -> None:
    """Set columns of the organization's choice of a model; a new default replaces the old one."""
    if values.get("is_default"):
        of_organization = update(model_choices).where(model_choices.c.organization_id == organization_id)
        connection.execute(of_organization.values(is_default=False))
    key = {"organization_id": organization_id, "language_model_id": model_id}
    queries.put_row(connection, model_choices, key=key, values=values)


vendor_credentials = new_table(
    "vendor_credentials",
    reference("organization_id", "organizations"),
    Column("vendor", exact(64), nullable=False),
    Column("encrypted_key", MediumText, nullable=False),
    Column("base_url", String(512), nullable=False, server_default=""),
    Column("created_at", Timestamp, nullable=False),
    UniqueConstraint("organization_id", "vendor"),
)


_KEY = vendor_credentials.c
# Built once, since every run executes it.
_FIND_CREDENTIALS = select(_KEY.organization_id, _KEY.vendor, _KEY.encrypted_key, _KEY.base_url).where(
    _KEY.organization_id.in_(bindparam("organization_ids", expanding=True)),
    _KEY.vendor.in_(bindparam("vendors", expanding=True)),
)


def find_credentials(
    connection: Connection, *, keys: Collection[tuple[int, str]]
) -> dict[tuple[int, str], tuple[str, str]]:
    """Return {(organization id, vendor): (encrypted key, base URL)} of those `keys` that are stored.

    Credentials of other combinations of these organizations and vendors may be among them.
    """
    organization_ids, vendors = zip(*keys, strict=True)
    rows = connection.execute(_FIND_CREDENTIALS, {"organization_ids": organization_ids, "vendors": vendors})
    return {(row[0], row[1]): (row[2], row[3]) for row in rows}


def list_credentials(connection: Connection, *, organization_id: int) -> list[tuple[str, str, str, datetime]]:
    """List (vendor, encrypted key, base URL, created at) of an organization's credentials."""
    statement = select(_KEY.vendor, _KEY.encrypted_key, _KEY.base_url, _KEY.created_at)
    rows = connection.execute(statement.where(_KEY.organization_id == organization_id))
    return [(row[0], row[1], row[2], row[3]) for row in rows]
