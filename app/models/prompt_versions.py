"""Prompt versions: committed content that never changes again, so what is derived from it can be kept by its hash."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Column, Connection, Index, String, Table, UniqueConstraint, insert, select

from app.models.base import OPTIONS, BigInt, Json, MediumText, Timestamp, exact, identifier, metadata, reference

prompt_versions = Table(
    "prompt_versions",
    metadata,
    identifier(),
    reference("prompt_id", "prompts"),
    Column("commit_hash", exact(64), nullable=False),
    Column("parent_hash", exact(64)),
    # The hash as it would be without a parent: the same content has it in every version and draft.
    Column("content_hash", exact(64), nullable=False, server_default=""),
    Column("value", MediumText, nullable=False),
    reference("language_model_id", "language_models"),
    Column("fallback_model_id", BigInt),
    Column("config", Json, nullable=False),
    Column("placeholders", Json, nullable=False),
    Column("message", String(500), nullable=False),
    # Whoever committed: a member of the organization, or nobody known (an API key).
    Column("author_id", BigInt),
    Column("author_name", String(128)),
    Column("created_at", Timestamp, nullable=False),
    UniqueConstraint("prompt_id", "commit_hash"),
    Index("ix_prompt_versions_language_model_id", "language_model_id"),
    **OPTIONS,
)


@dataclass(frozen=True, slots=True)
class VersionHead:
    """A version as lists show it; the author is None for a commit by an API key."""

    id: int
    prompt_id: int
    commit_hash: str
    parent_hash: str | None
    message: str
    author_id: int | None
    author_name: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class VersionRow(VersionHead):
    """A version with its content. `config` and `placeholders` are as in a draft."""

    value: str
    language_model_id: int
    fallback_model_id: int | None
    config: dict[str, Any]
    placeholders: list[dict[str, Any]]


VERSION_HEAD = [prompt_versions.c[name] for name in VersionHead.__dataclass_fields__]
_COLUMNS = [prompt_versions.c[name] for name in VersionRow.__dataclass_fields__]


def add_version(connection: Connection, *, values: dict[str, Any], now: datetime) -> int:
    statement = insert(prompt_versions).values(created_at=now, **values)
    return int(connection.execute(statement).inserted_primary_key[0])  # type: ignore[index]


def find_version(connection: Connection, *, prompt_id: int, commit_hash: str) -> VersionRow | None:
    c = prompt_versions.c
    statement = select(*_COLUMNS).where(c.prompt_id == prompt_id, c.commit_hash == commit_hash)
    row = connection.execute(statement).one_or_none()
    return VersionRow(*row) if row else None


def find_version_by_id(connection: Connection, *, version_id: int) -> VersionRow | None:
    row = connection.execute(select(*_COLUMNS).where(prompt_versions.c.id == version_id)).one_or_none()
    return VersionRow(*row) if row else None


def list_versions(connection: Connection, *, prompt_id: int) -> list[VersionHead]:
    """Newest first."""
    statement = select(*VERSION_HEAD).where(prompt_versions.c.prompt_id == prompt_id)
    return [VersionHead(*row) for row in connection.execute(statement.order_by(prompt_versions.c.id.desc()))]


def hashes_by_content(connection: Connection, *, prompt_id: int, content_hashes: Collection[str]) -> dict[str, str]:
    """The commit hash of the newest version with each content, of those that were ever committed."""
    c = prompt_versions.c
    statement = select(c.content_hash, c.commit_hash).where(
        c.prompt_id == prompt_id, c.content_hash.in_(sorted(content_hashes))
    )
    return {row[0]: row[1] for row in connection.execute(statement.order_by(c.id))}


def content_hash_of(connection: Connection, *, prompt_id: int, commit_hash: str) -> str | None:
    c = prompt_versions.c
    statement = select(c.content_hash).where(c.prompt_id == prompt_id, c.commit_hash == commit_hash)
    found: str | None = connection.scalar(statement)
    return found
