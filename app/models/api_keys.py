"""Project API keys: a digest and the last four characters, never the key itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Column, Connection, Index, String, Table, UniqueConstraint, insert, select, update

from app.models.audit_log import Actor
from app.models.base import OPTIONS, Timestamp, binary, identifier, metadata, reference
from app.models.organizations import projects

api_keys = Table(
    "api_keys",
    metadata,
    identifier(),
    reference("project_id", "projects"),
    Column("name", String(128), nullable=False),
    Column("digest", binary(32), nullable=False),
    Column("last_four", String(4), nullable=False),
    Column("scopes", String(64), nullable=False, server_default="run,read,write,ingest"),
    Column("created_at", Timestamp, nullable=False),
    Column("expires_at", Timestamp),
    Column("revoked_at", Timestamp),
    Column("last_used_at", Timestamp),
    UniqueConstraint("digest"),
    Index("ix_api_keys_project_id", "project_id"),
    **OPTIONS,
)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """`scopes` is a set of run, read, write, ingest, admin."""

    id: int
    project_id: int
    organization_id: int
    name: str
    last_four: str
    scopes: frozenset[str]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None

    @property
    def actor(self) -> Actor:
        """As the audit log names it."""
        return Actor("api_key", self.id, self.name)

    def valid_at(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)


_COLUMNS = (
    select(
        api_keys.c.id,
        api_keys.c.project_id,
        projects.c.organization_id,
        api_keys.c.name,
        api_keys.c.last_four,
        api_keys.c.scopes,
        api_keys.c.created_at,
        api_keys.c.expires_at,
        api_keys.c.revoked_at,
        api_keys.c.last_used_at,
    )
    .join(projects, projects.c.id == api_keys.c.project_id)
    .order_by(api_keys.c.id)
)


def _key(row: tuple[object, ...]) -> ApiKey:
    values = list(row)
    values[5] = frozenset(str(values[5]).split(","))
    return ApiKey(*values)  # type: ignore[arg-type]


def add_key(
    connection: Connection,
    *,
    project_id: int,
    name: str,
    digest: bytes,
    last_four: str,
    now: datetime,
    scopes: frozenset[str],
    expires_at: datetime | None,
) -> int:
    statement = insert(api_keys).values(
        project_id=project_id,
        name=name,
        digest=digest,
        last_four=last_four,
        scopes=",".join(sorted(scopes)),
        created_at=now,
        expires_at=expires_at,
    )
    return int(connection.execute(statement).inserted_primary_key[0])  # type: ignore[index]


def find_by_digest(connection: Connection, digest: bytes) -> ApiKey | None:
    row = connection.execute(_COLUMNS.where(api_keys.c.digest == digest)).one_or_none()
    return _key(tuple(row)) if row else None


def find_key(connection: Connection, *, project_id: int, key_id: int) -> ApiKey | None:
    statement = _COLUMNS.where(api_keys.c.id == key_id, api_keys.c.project_id == project_id)
    row = connection.execute(statement).one_or_none()
    return _key(tuple(row)) if row else None


def list_keys(connection: Connection, *, project_id: int) -> list[ApiKey]:
    """Revoked and expired ones too, oldest first."""
    return [_key(tuple(row)) for row in connection.execute(_COLUMNS.where(api_keys.c.project_id == project_id))]


def revoke_key(connection: Connection, *, project_id: int, key_id: int, now: datetime) -> bool:
    """False when there is no such key in the project, or it was revoked before."""
    statement = (
        update(api_keys)
        .where(api_keys.c.id == key_id, api_keys.c.project_id == project_id, api_keys.c.revoked_at.is_(None))
        .values(revoked_at=now)
    )
    return connection.execute(statement).rowcount == 1


def touch_keys(connection: Connection, *, used: dict[int, datetime]) -> None:
    """Note when keys were last used: {key id: time}."""
    for key_id, when in sorted(used.items()):
        connection.execute(update(api_keys).where(api_keys.c.id == key_id).values(last_used_at=when))
