"""Prompts: what is the same for all versions, and the draft."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Index,
    Integer,
    String,
    Table,
    insert,
    select,
    update,
)

from app.models.base import OPTIONS, BigInt, Json, MediumText, Timestamp, exact, identifier, metadata, reference

prompts = Table(
    "prompts",
    metadata,
    identifier(),
    reference("project_id", "projects"),
    Column("name", String(128), nullable=False),
    Column("instruction_format", exact(8), nullable=False),
    Column("assertion_type", exact(16), nullable=False, server_default="STRICT"),
    Column("assertion_value", MediumText, nullable=False),
    Column("value", MediumText, nullable=False),
    reference("language_model_id", "language_models"),
    Column("config", Json, nullable=False),
    Column("placeholders", Json, nullable=False),
    Column("revision", Integer, nullable=False, server_default="1"),
    # No foreign key: a version refers to its prompt, and the circle would need deferred constraints.
    Column("newest_version_id", BigInt),
    Column("archived_at", Timestamp),
    Column("created_at", Timestamp, nullable=False),
    Column("updated_at", Timestamp, nullable=False),
    Index("ix_prompts_project_id_archived_at", "project_id", "archived_at"),
    Index("ix_prompts_language_model_id", "language_model_id"),
    **OPTIONS,
)


@dataclass(frozen=True, slots=True)
class PromptRow:
    """A prompt with its draft. `config` and `placeholders` are the JSON of `app/schemas/prompts.py`."""

    id: int
    project_id: int
    name: str
    instruction_format: str
    assertion_type: str
    assertion_value: str
    value: str
    language_model_id: int
    config: dict[str, Any]
    placeholders: list[dict[str, Any]]
    revision: int
    newest_version_id: int | None
    created_at: datetime
    updated_at: datetime


_COLUMNS = [prompts.c[name] for name in PromptRow.__dataclass_fields__]
_LIVE = prompts.c.archived_at.is_(None)


def add_prompt(connection: Connection, *, values: dict[str, Any], now: datetime) -> int:
    statement = insert(prompts).values(created_at=now, updated_at=now, **values)
    return int(connection.execute(statement).inserted_primary_key[0])  # type: ignore[index]


def find_prompt(connection: Connection, *, project_id: int, prompt_id: int, lock: bool = False) -> PromptRow | None:
    """The project's prompt, unless it is archived; `lock` keeps others from changing it until the commit."""
    statement = select(*_COLUMNS).where(prompts.c.id == prompt_id, prompts.c.project_id == project_id, _LIVE)
    row = connection.execute(statement.with_for_update() if lock else statement).one_or_none()
    return PromptRow(*row) if row else None


def known_prompts(connection: Connection, *, project_id: int, prompt_ids: set[int]) -> set[int]:
    """Those of `prompt_ids` that are prompts of the project; archived ones still take spans."""
    statement = select(prompts.c.id).where(prompts.c.project_id == project_id, prompts.c.id.in_(sorted(prompt_ids)))
    return set(connection.scalars(statement))


def list_prompts(
    connection: Connection, *, project_id: int, search: str | None, before_id: int | None, limit: int | None
) -> list[PromptRow]:
    """Newest first; `search` is a part of the name, any case."""
    statement = select(*_COLUMNS).where(prompts.c.project_id == project_id, _LIVE)
    if search:
        statement = statement.where(prompts.c.name.icontains(search, autoescape=True))
    if before_id is not None:
        statement = statement.where(prompts.c.id < before_id)
    statement = statement.order_by(prompts.c.id.desc())
    return [PromptRow(*row) for row in connection.execute(statement.limit(limit) if limit else statement)]


def change_prompt(connection: Connection, *, prompt_id: int, values: dict[str, Any], now: datetime) -> None:
    """Write `values` and count the revision that the draft's ETag shows."""
    statement = update(prompts).where(prompts.c.id == prompt_id)
    connection.execute(statement.values(updated_at=now, revision=prompts.c.revision + 1, **values))


def archive_prompt(connection: Connection, *, project_id: int, prompt_id: int, now: datetime) -> bool:
    statement = update(prompts).where(prompts.c.id == prompt_id, prompts.c.project_id == project_id, _LIVE)
    return connection.execute(statement.values(archived_at=now)).rowcount == 1
