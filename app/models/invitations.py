"""Invitations: links that make whoever opens one a member, once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Column, Connection, Index, Table, UniqueConstraint, delete, insert, select, update

from app.models.base import OPTIONS, BigInt, Timestamp, binary, exact, identifier, metadata, reference
from app.models.memberships import Role
from app.models.organizations import organizations

invitations = Table(
    "invitations",
    metadata,
    identifier(),
    reference("organization_id", "organizations"),
    Column("email", exact(254), nullable=False),
    Column("role", exact(16), nullable=False),
    Column("digest", binary(32), nullable=False),
    Column("created_at", Timestamp, nullable=False),
    Column("expires_at", Timestamp, nullable=False),
    Column("accepted_by", BigInt),
    UniqueConstraint("digest"),
    Index("ix_invitations_organization_id", "organization_id"),
    **OPTIONS,
)


@dataclass(frozen=True, slots=True)
class Invitation:
    id: int
    organization_id: int
    organization: str
    email: str
    role: Role
    created_at: datetime
    expires_at: datetime


_SELECT = (
    select(
        invitations.c.id,
        invitations.c.organization_id,
        organizations.c.name.label("organization"),
        invitations.c.email,
        invitations.c.role,
        invitations.c.created_at,
        invitations.c.expires_at,
    )
    .join(organizations, organizations.c.id == invitations.c.organization_id)
    .where(invitations.c.accepted_by.is_(None))
)


def add_invitation(
    connection: Connection,
    *,
    organization_id: int,
    email: str,
    role: Role,
    digest: bytes,
    now: datetime,
    expires_at: datetime,
) -> None:
    statement = insert(invitations).values(
        organization_id=organization_id,
        email=email,
        role=str(role),
        digest=digest,
        created_at=now,
        expires_at=expires_at,
    )
    connection.execute(statement)


def find_open(connection: Connection, *, digest: bytes, now: datetime) -> Invitation | None:
    """The invitation, unless it was accepted or has expired."""
    statement = _SELECT.where(invitations.c.digest == digest, invitations.c.expires_at > now)
    row = connection.execute(statement).one_or_none()
    return _invitation(row) if row else None


def list_open(connection: Connection, *, organization_id: int) -> list[Invitation]:
    """Not accepted yet, expired ones too, newest first."""
    statement = _SELECT.where(invitations.c.organization_id == organization_id).order_by(invitations.c.id.desc())
    return [_invitation(row) for row in connection.execute(statement)]


def accept(connection: Connection, *, invitation_id: int, user_id: int) -> bool:
    """False when somebody was faster."""
    statement = update(invitations).where(invitations.c.id == invitation_id, invitations.c.accepted_by.is_(None))
    return connection.execute(statement.values(accepted_by=user_id)).rowcount == 1


def withdraw(connection: Connection, *, organization_id: int, invitation_id: int) -> str | None:
    """The e-mail it was for; None when there is no such open invitation."""
    ours = (
        invitations.c.id == invitation_id,
        invitations.c.organization_id == organization_id,
        invitations.c.accepted_by.is_(None),
    )
    email = connection.scalar(select(invitations.c.email).where(*ours))
    withdrawn = email is not None and connection.execute(delete(invitations).where(*ours)).rowcount == 1
    return email if withdrawn else None


def withdraw_all(connection: Connection, *, organization_id: int, email: str) -> None:
    """The open ones for an e-mail."""
    ours = invitations.c.organization_id == organization_id, invitations.c.email == email
    connection.execute(delete(invitations).where(*ours, invitations.c.accepted_by.is_(None)))


def _invitation(row: Any) -> Invitation:
    values = row._asdict()
    return Invitation(**values | {"role": Role(values["role"])})
