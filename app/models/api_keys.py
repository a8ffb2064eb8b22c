"""Project API keys: a digest and the last four characters, never the key itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    DefaultClause,
    ForeignKey,
    Index,
    String,
    TypeDecorator,
    UniqueConstraint,
    and_,
    or_,
    select,
    update,
)
from sqlalchemy.engine import Dialect

from app.models import queries
from app.models.audit_log import Actor
from app.models.base import BigInt, Timestamp, binary, new_table
from app.models.organizations import projects

# Of the keys that were revoked or have expired.
ENDED_LISTED = 1_000


class Scopes(TypeDecorator[frozenset[str]]):
    """A set of scopes, stored as a list that is separated by commas."""

    impl = String(64)
    cache_ok = True

    def process_bind_param(self, value: frozenset[str] | None, dialect: Dialect) -> str | None:
        return None if value is None else ",".join(sorted(value))

    def process_result_value(self, value: str | None, dialect: Dialect) -> frozenset[str] | None:
        return None if value is None else frozenset(value.split(","))


@dataclass(frozen=True, slots=True)
class ApiKey:
    """`scopes` is a set of run, read, write, ingest, admin."""

    id: int
    project_id: Annotated[int, BigInt, ForeignKey("projects.id")]
    organization_id: int
    name: Annotated[str, String(128)]
    last_four: Annotated[str, String(4)]
    scopes: Annotated[frozenset[str], Scopes, DefaultClause("run,read,write,ingest")]
    created_at: Annotated[datetime, Timestamp]
    expires_at: Annotated[datetime | None, Timestamp]
    revoked_at: Annotated[datetime | None, Timestamp]
    last_used_at: Annotated[datetime | None, Timestamp]

    @property
    def actor(self) -> Actor:
        """The key as the audit log names who acted."""
        return Actor("api_key", self.id, self.name)

    def valid_at(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)


api_keys = new_table(
    "api_keys",
    ApiKey,
    Column("digest", binary(32), nullable=False),
    UniqueConstraint("digest"),
    Index("ix_api_keys_project_id", "project_id"),
)


_KEYS = select(*queries.columns_of(ApiKey, api_keys, organization_id=projects.c.organization_id)).join(
    projects, projects.c.id == api_keys.c.project_id
)


def find_by_digest(connection: Connection, digest: bytes) -> ApiKey | None:
    return queries.find_row(connection, ApiKey, _KEYS.where(api_keys.c.digest == digest))


def find_key(connection: Connection, *, project_id: int, key_id: int) -> ApiKey | None:
    statement = _KEYS.where(api_keys.c.id == key_id, api_keys.c.project_id == project_id)
    return queries.find_row(connection, ApiKey, statement)


def list_keys(connection: Connection, *, project_id: int, now: datetime) -> list[ApiKey]:
    """List a project's valid keys and the newest `ENDED_LISTED` of the revoked and expired ones, oldest first."""
    of_project = _KEYS.where(api_keys.c.project_id == project_id)
    valid = queries.list_rows(connection, ApiKey, of_project.where(_is_valid(now)))
    ended = queries.newest_first(of_project.where(~_is_valid(now)), api_keys.c.id, limit=ENDED_LISTED)
    return sorted([*valid, *queries.list_rows(connection, ApiKey, ended)], key=lambda key: key.id)


def count_valid_keys(connection: Connection, *, project_id: int, now: datetime) -> int:
    return queries.count_rows(
        connection, select(api_keys.c.id).where(api_keys.c.project_id == project_id, _is_valid(now))
    )


def has_keys(connection: Connection, *, project_id: int) -> bool:
    """Return whether the project has a key, valid or not."""
    return connection.scalar(select(api_keys.c.id).where(api_keys.c.project_id == project_id).limit(1)) is not None


def _is_valid(now: datetime) -> ColumnElement[bool]:
    c = api_keys.c
    return and_(c.revoked_at.is_(None), or_(c.expires_at.is_(None), c.expires_at > now))


def revoke_key(connection: Connection, *, project_id: int, key_id: int, now: datetime) -> bool:
    """Revoke a key; return False if there is no such key in the project, or it was revoked before."""
    c = api_keys.c
    live = update(api_keys).where(c.id == key_id, c.project_id == project_id, c.revoked_at.is_(None))
    return queries.changes_row(connection, live.values(revoked_at=now))


def touch_keys(connection: Connection, *, used: dict[int, datetime]) -> None:
    """Store when keys were last used: {key id: time}."""
    for key_id, when in sorted(used.items()):
        connection.execute(update(api_keys).where(api_keys.c.id == key_id).values(last_used_at=when))
