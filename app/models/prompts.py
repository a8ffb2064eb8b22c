"""Prompts: what is the same for all versions, and the draft."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Index,
    Integer,
    String,
    Table,
    bindparam,
    func,
    insert,
    select,
    update,
)

from app.models import bulk
from app.models.base import OPTIONS, BigInt, Json, MediumText, Timestamp, exact, identifier, metadata, reference
from app.models.cases import test_cases
from app.models.organizations import projects
from app.models.prompt_versions import VERSION_HEAD, VersionHead, prompt_versions
from app.rendering.render import InstructionFormat

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
    Column("fallback_model_id", BigInt),
    Column("config", Json, nullable=False),
    Column("placeholders", Json, nullable=False),
    Column("revision", Integer, nullable=False, server_default="1"),
    # No foreign key: a version refers to its prompt, and the circle would need deferred constraints.
    Column("newest_version_id", BigInt),
    # Whether the draft equals the newest version; kept by every write, so that no read has to compare.
    Column("committed", Boolean(create_constraint=False), nullable=False, server_default="0"),
    Column("archived_at", Timestamp),
    # An erased prompt is a row without content: nothing new can be stored for it while processes still know it.
    Column("erased_at", Timestamp),
    Column("created_at", Timestamp, nullable=False),
    Column("updated_at", Timestamp, nullable=False),
    Index("ix_prompts_project_id_archived_at", "project_id", "archived_at"),
    Index("ix_prompts_language_model_id", "language_model_id"),
    **OPTIONS,
)


@dataclass(frozen=True, slots=True)
class PromptHead:
    """A prompt without the draft's text: what all of its versions share. `language_model_id` is the draft's."""

    id: int
    project_id: int
    organization_id: int
    name: str
    instruction_format: InstructionFormat
    assertion_type: str
    assertion_value: str
    language_model_id: int
    revision: int
    newest_version_id: int | None
    committed: bool
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class PromptRow(PromptHead):
    """A prompt with its draft. `config` and `placeholders` are the JSON of `app/services/prompts/content.py`."""

    commit_hash: ClassVar[None] = None
    value: str
    fallback_model_id: int | None
    config: dict[str, Any]
    placeholders: list[dict[str, Any]]


# A subquery, not a join: FOR UPDATE locks joined rows too, and the project's row is everybody's.
_ORGANIZATION = select(projects.c.organization_id).where(projects.c.id == prompts.c.project_id).scalar_subquery()
_HEAD = [_ORGANIZATION if name == "organization_id" else prompts.c[name] for name in PromptHead.__dataclass_fields__]
_DRAFT = [prompts.c.value, prompts.c.fallback_model_id, prompts.c.config, prompts.c.placeholders]
_LIVE = prompts.c.archived_at.is_(None)
# Built once: every request that reads a prompt asks this.
_OURS = (prompts.c.id == bindparam("prompt_id"), prompts.c.project_id == bindparam("project_id"), _LIVE)
_FIND_HEAD = select(*_HEAD).where(*_OURS)
_FIND_PROMPT = select(*_HEAD, *_DRAFT).where(*_OURS)


def add_prompt(connection: Connection, *, values: dict[str, Any], now: datetime) -> int:
    statement = insert(prompts).values(created_at=now, updated_at=now, **values)
    return int(connection.execute(statement).inserted_primary_key[0])  # type: ignore[index]


def find_head(connection: Connection, *, project_id: int, prompt_id: int) -> PromptHead | None:
    """The project's prompt, unless it is archived."""
    row = connection.execute(_FIND_HEAD, {"prompt_id": prompt_id, "project_id": project_id}).one_or_none()
    return PromptHead(*row) if row else None


def find_prompt(connection: Connection, *, project_id: int, prompt_id: int, lock: bool = False) -> PromptRow | None:
    """As `find_head`, with the draft; `lock` keeps others from changing it until the commit."""
    statement = _FIND_PROMPT.with_for_update() if lock else _FIND_PROMPT
    row = connection.execute(statement, {"prompt_id": prompt_id, "project_id": project_id}).one_or_none()
    return PromptRow(*row) if row else None


def known_prompts(connection: Connection, *, project_id: int, prompt_ids: set[int]) -> set[int]:
    """Those of `prompt_ids` that are prompts of the project; archived ones still take spans, erased ones do not."""
    c = prompts.c
    known: set[int] = set()
    for some in bulk.pieces(sorted(prompt_ids)):
        ours = select(c.id).where(c.project_id == project_id, c.id.in_(some), c.erased_at.is_(None))
        known.update(connection.scalars(ours))
    return known


@dataclass(frozen=True, slots=True)
class PromptListing:
    """A prompt as lists show it; `language_model_id` is the newest version's, the draft's when there is none."""

    newest: VersionHead | None
    id: int
    name: str
    assertion_type: str
    language_model_id: int
    committed: bool
    created_at: datetime
    updated_at: datetime
    test_cases: int


def list_prompts(
    connection: Connection, *, project_id: int, search: str | None, before_id: int | None, limit: int | None
) -> list[PromptListing]:
    """Newest first; `search` is a part of the name, any case."""
    statement = _LISTING.where(prompts.c.project_id == project_id, _LIVE)
    if search:
        statement = statement.where(prompts.c.name.icontains(search, autoescape=True))
    if before_id is not None:
        statement = statement.where(prompts.c.id < before_id)
    if limit is not None:
        statement = statement.limit(limit)
    return [_listing(tuple(row)) for row in connection.execute(statement)]


def _listing(row: tuple[Any, ...]) -> PromptListing:
    shared, newest = row[:8], row[8:]
    return PromptListing(VersionHead(*newest) if newest[0] is not None else None, *shared)


_LISTING = (
    select(
        prompts.c.id,
        prompts.c.name,
        prompts.c.assertion_type,
        func.coalesce(prompt_versions.c.language_model_id, prompts.c.language_model_id),
        prompts.c.committed,
        prompts.c.created_at,
        prompts.c.updated_at,
        select(func.count()).where(test_cases.c.prompt_id == prompts.c.id).scalar_subquery(),
        *VERSION_HEAD,
    )
    .outerjoin(prompt_versions, prompt_versions.c.id == prompts.c.newest_version_id)
    .order_by(prompts.c.id.desc())
)


def change_draft(connection: Connection, *, prompt_id: int, values: dict[str, Any], now: datetime) -> None:
    """Write `values` and count the revision that the draft's ETag shows."""
    statement = update(prompts).where(prompts.c.id == prompt_id)
    connection.execute(statement.values(updated_at=now, revision=prompts.c.revision + 1, **values))


def note_commit(connection: Connection, *, prompt_id: int, version_id: int, now: datetime) -> None:
    """Make the version the newest; the draft, now equal to it, stays at its revision."""
    statement = update(prompts).where(prompts.c.id == prompt_id)
    connection.execute(statement.values(updated_at=now, newest_version_id=version_id, committed=True))


def archive_prompt(connection: Connection, *, project_id: int, prompt_id: int, now: datetime) -> bool:
    statement = update(prompts).where(prompts.c.id == prompt_id, prompts.c.project_id == project_id, _LIVE)
    return connection.execute(statement.values(archived_at=now)).rowcount == 1
