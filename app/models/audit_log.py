"""The audit log: who changed what, written in the transaction of the change itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Column, Connection, Index, String, Table, insert, select, update

from app.models.base import OPTIONS, BigInt, Json, Timestamp, exact, identifier, metadata

audit_log = Table(
    "audit_log",
    metadata,
    identifier(),
    # No foreign keys: an entry outlives what it tells of.
    Column("organization_id", BigInt, nullable=False),
    Column("project_id", BigInt),
    Column("actor_kind", exact(16), nullable=False),
    Column("actor_id", BigInt),
    Column("actor_name", String(254), nullable=False),
    Column("action", exact(64), nullable=False),
    Column("subject", String(254), nullable=False),
    Column("details", Json, nullable=False),
    Column("created_at", Timestamp, nullable=False),
    Index("ix_audit_log_organization_id_id", "organization_id", "id"),
    **OPTIONS,
)


@dataclass(frozen=True, slots=True)
class Actor:
    """Who made a change: a signed-in user, an API key, or Reprise itself."""

    kind: Literal["user", "api_key", "system"]
    id: int | None
    name: str


SYSTEM = Actor("system", None, "Reprise")


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """`action` is `<noun>.<what was done>`, such as `api_key.revoked`; `subject` names what it was done to."""

    id: int
    project_id: int | None
    actor_kind: str
    actor_name: str
    action: str
    subject: str
    details: dict[str, Any]
    created_at: datetime


_SELECT = select(*(audit_log.c[name] for name in AuditEntry.__dataclass_fields__))


def add_entry(
    connection: Connection,
    *,
    organization_id: int,
    project_id: int | None = None,
    actor: Actor,
    action: str,
    subject: str,
    details: Mapping[str, Any] | None = None,
    now: datetime,
) -> int:
    """The entry's id."""
    statement = insert(audit_log).values(
        organization_id=organization_id,
        project_id=project_id,
        actor_kind=actor.kind,
        actor_id=actor.id,
        actor_name=actor.name[:254],
        action=action,
        subject=subject[:254],
        details=dict(details or {}),
        created_at=now,
    )
    return int(connection.execute(statement).inserted_primary_key[0])  # type: ignore[index]


def change_details(connection: Connection, *, entry_id: int, details: Mapping[str, Any]) -> None:
    """For an entry that counts; all others stay as they were written."""
    connection.execute(update(audit_log).where(audit_log.c.id == entry_id).values(details=dict(details)))


def list_entries(
    connection: Connection, *, organization_id: int, before_id: int | None, limit: int
) -> list[AuditEntry]:
    """Newest first."""
    statement = _SELECT.where(audit_log.c.organization_id == organization_id)
    if before_id is not None:
        statement = statement.where(audit_log.c.id < before_id)
    return [AuditEntry(*row) for row in connection.execute(statement.order_by(audit_log.c.id.desc()).limit(limit))]
