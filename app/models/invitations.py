"""Invitations: links that make whoever opens one a member, once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Column, Connection, Index, Table, UniqueConstraint, delete, select, update

from app.models import queries
from app.models.base import OPTIONS, BigInt, Timestamp, binary, exact, identifier, metadata, reference
from app.models.memberships import Role, RoleType
from app.models.organizations import organizations

invitations = Table(
    "invitations",
    metadata,
    identifier(),
    reference("organization_id", "organizations"),
    Column("email", exact(254), nullable=False),
    Column("role", RoleType, nullable=False),
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


_OPEN = (
    select(*queries.columns_of(Invitation, invitations, organization=organizations.c.name))
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
    values = {"email": email, "role": role, "digest": digest, "created_at": now, "expires_at": expires_at}
    queries.insert_row(connection, invitations, organization_id=organization_id, **values)


def find_open(connection: Connection, *, digest: bytes, now: datetime) -> Invitation | None:
    """The invitation, unless it was accepted or has expired."""
    statement = _OPEN.where(invitations.c.digest == digest, invitations.c.expires_at > now)
    return queries.find_row(connection, Invitation, statement)


def list_open(connection: Connection, *, organization_id: int) -> list[Invitation]:
    """Invitations that were not accepted, expired ones too, newest first."""
    ours = _OPEN.where(invitations.c.organization_id == organization_id)
    return queries.list_rows(connection, Invitation, queries.newest_first(ours, invitations.c.id))


def accept(connection: Connection, *, invitation_id: int, user_id: int) -> bool:
    """Mark the invitation as accepted; False if it was accepted before."""
    c = invitations.c
    statement = update(invitations).where(c.id == invitation_id, c.accepted_by.is_(None)).values(accepted_by=user_id)
    return queries.changes_row(connection, statement)


def withdraw(connection: Connection, *, organization_id: int, invitation_id: int) -> str | None:
    """Delete an open invitation; returns its e-mail, None if there is no such invitation."""
    c = invitations.c
    ours = c.id == invitation_id, c.organization_id == organization_id, c.accepted_by.is_(None)
    email = connection.scalar(select(c.email).where(*ours))
    return email if queries.changes_row(connection, delete(invitations).where(*ours)) else None


def withdraw_all(connection: Connection, *, organization_id: int, email: str) -> None:
    """Delete the open invitations for an e-mail."""
    c = invitations.c
    ours = c.organization_id == organization_id, c.email == email, c.accepted_by.is_(None)
    connection.execute(delete(invitations).where(*ours))
