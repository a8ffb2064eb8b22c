"""Language models: the shipped catalogue, an organization's own, and what each organization made of them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    Index,
    Integer,
    String,
    Table,
    UniqueConstraint,
    and_,
    case,
    insert,
    select,
    update,
)

from app.models import queries
from app.models.base import OPTIONS, BigInt, Json, MediumText, Timestamp, exact, identifier, metadata, reference

language_models = Table(
    "language_models",
    metadata,
    identifier(),
    # 0 for the catalogue's: NULLs would escape the unique key.
    Column("organization_id", BigInt, nullable=False, server_default="0"),
    Column("vendor", exact(64), nullable=False),
    Column("name", exact(128), nullable=False),
    Column("base_url", String(512), nullable=False, server_default=""),
    Column("prompt_price", Float, nullable=False),
    Column("completion_price", Float, nullable=False),
    Column("context_tokens_max", Integer, nullable=False),
    Column("completion_tokens_max", Integer, nullable=False),
    Column("description", MediumText, nullable=False),
    Column("details", Json, nullable=False),
    Column("retired", Boolean(create_constraint=False), nullable=False, server_default="0"),
    Column("created_at", Timestamp, nullable=False),
    Column("updated_at", Timestamp, nullable=False),
    UniqueConstraint("organization_id", "vendor", "name"),
    **OPTIONS,
)

# An organization has every model enabled but those it disabled, and at most one default.
model_choices = Table(
    "model_choices",
    metadata,
    identifier(),
    reference("organization_id", "organizations"),
    reference("language_model_id", "language_models"),
    Column("disabled", Boolean(create_constraint=False), nullable=False, server_default="0"),
    Column("is_default", Boolean(create_constraint=False), nullable=False, server_default="0"),
    UniqueConstraint("organization_id", "language_model_id"),
    Index("ix_model_choices_language_model_id", "language_model_id"),
    **OPTIONS,
)


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """Prices in USD per million tokens; `details` holds the catalogue's further fields of the model."""

    id: int
    organization_id: int
    vendor: str
    name: str
    base_url: str
    prompt_price: float
    completion_price: float
    context_tokens_max: int
    completion_tokens_max: int
    description: str
    details: dict[str, Any]
    retired: bool
    created_at: datetime
    updated_at: datetime
    disabled: bool = False
    is_default: bool = False

    @property
    def usable(self) -> bool:
        return not (self.retired or self.disabled)


_FIELDS = [language_models.c[f.name] for f in fields(LanguageModel) if f.name in language_models.c]


def _visible(organization_id: int) -> Any:
    chosen = and_(
        model_choices.c.language_model_id == language_models.c.id,
        model_choices.c.organization_id == organization_id,
    )
    flags = (
        case((model_choices.c.disabled.is_(True), True), else_=False),
        case((model_choices.c.is_default.is_(True), True), else_=False),
    )
    return (
        select(*_FIELDS, *flags)
        .outerjoin(model_choices, chosen)
        .where(language_models.c.organization_id.in_((0, organization_id)))
    )


def _model(row: Any) -> LanguageModel:
    return LanguageModel(*row)


def list_models(connection: Connection, *, organization_id: int) -> list[LanguageModel]:
    """All that the organization can see, disabled and retired ones too, by vendor and name."""
    ordered = _visible(organization_id).order_by(language_models.c.vendor, language_models.c.name)
    return [_model(row) for row in connection.execute(ordered)]


def find_model(connection: Connection, *, organization_id: int, model_id: int) -> LanguageModel | None:
    row = connection.execute(_visible(organization_id).where(language_models.c.id == model_id)).one_or_none()
    return _model(row) if row else None


def find_models_named(connection: Connection, *, organization_id: int, name: str) -> list[LanguageModel]:
    """By name alone, as prompts name them; the organization's own first, then in order of id."""
    found = (
        _visible(organization_id)
        .where(language_models.c.name == name)
        .order_by(language_models.c.organization_id.desc(), language_models.c.id)
    )
    return [_model(row) for row in connection.execute(found)]


def put_catalogue(connection: Connection, *, entries: list[dict[str, Any]], now: datetime) -> None:
    """Make the shared models those of `entries` (column names to values): new, changed, or retired."""
    ours = select(language_models).where(language_models.c.organization_id == 0)
    known = {(row["vendor"], row["name"]): row for row in connection.execute(ours).mappings()}
    for entry in sorted(entries, key=lambda e: (e["vendor"], e["name"])):
        row = known.pop((entry["vendor"], entry["name"]), None)
        if row is None:
            connection.execute(
                insert(language_models).values(organization_id=0, created_at=now, updated_at=now, **entry)
            )
        elif row["retired"] or any(row[column] != value for column, value in entry.items()):
            changed = update(language_models).where(language_models.c.id == row["id"])
            connection.execute(changed.values(updated_at=now, retired=False, **entry))
    gone = [row["id"] for row in known.values() if not row["retired"]]
    for model_id in sorted(gone):
        retired = update(language_models).where(language_models.c.id == model_id)
        connection.execute(retired.values(updated_at=now, retired=True))


def put_own_model(
    connection: Connection, *, organization_id: int, vendor: str, name: str, values: dict[str, Any], now: datetime
) -> tuple[int, bool]:
    """Write a model of the organization's own, in place of one of the same name, a retired one too.

    Its id, and whether there was none of that name.
    """
    c = language_models.c
    key = {"organization_id": organization_id, "vendor": vendor, "name": name}
    changed = values | {"updated_at": now, "retired": False}
    ours = and_(c.organization_id == organization_id, c.vendor == vendor, c.name == name)
    known = connection.scalar(select(c.id).where(ours))
    queries.put_row(connection, language_models, key=key, values=changed, new={"created_at": now})
    return connection.execute(select(c.id).where(ours)).scalar_one(), known is None


def retire_own_model(connection: Connection, *, organization_id: int, model_id: int, now: datetime) -> bool:
    """False for what is none of the organization's own, or is retired."""
    c = language_models.c
    ours = and_(c.id == model_id, c.organization_id == organization_id, c.retired.is_(False))
    return connection.execute(update(language_models).where(ours).values(retired=True, updated_at=now)).rowcount == 1


def put_choice(connection: Connection, *, organization_id: int, model_id: int, values: dict[str, bool]) -> None:
    """Set columns of what the organization made of a model; a new default takes over from the old one."""
    c = model_choices.c
    ours = c.organization_id == organization_id
    if values.get("is_default"):
        connection.execute(update(model_choices).where(ours).values(is_default=False))
    key = {"organization_id": organization_id, "language_model_id": model_id}
    queries.put_row(connection, model_choices, key=key, values=values)
