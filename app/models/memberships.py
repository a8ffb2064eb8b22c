"""Memberships: which user may do what in which organization."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import Column, Connection, Index, Table, UniqueConstraint, delete, insert, select, update

from app.models.base import OPTIONS, Timestamp, exact, identifier, metadata, reference
from app.models.users import users


class Role(StrEnum):
    """A viewer reads; a member also edits and runs; an admin also changes the settings."""

    VIEWER = "viewer"
    MEMBER = "member"
    ADMIN = "admin"

    def covers(self, needed: Role) -> bool:
        """Whether this role may do what asks for `needed`."""
        ranked = list(Role)
        return ranked.index(self) >= ranked.index(needed)


memberships = Table(
    "memberships",
    metadata,
    identifier(),
    reference("organization_id", "organizations"),
    reference("user_id", "users"),
    Column("role", exact(16), nullable=False),
    Column("created_at", Timestamp, nullable=False),
    UniqueConstraint("organization_id", "user_id"),
    Index("ix_memberships_user_id", "user_id"),
    **OPTIONS,
)


@dataclass(frozen=True, slots=True)
class Member:
    user_id: int
    name: str
    email: str
    role: Role
    created_at: datetime


_MEMBER = select(users.c.id, users.c.name, users.c.email, memberships.c.role, memberships.c.created_at).join(
    users, users.c.id == memberships.c.user_id
)


def add_membership(connection: Connection, *, organization_id: int, user_id: int, role: Role, now: datetime) -> None:
    values = {"organization_id": organization_id, "user_id": user_id, "role": str(role), "created_at": now}
    connection.execute(insert(memberships).values(values))


def roles_of(connection: Connection, *, user_id: int) -> dict[int, Role]:
    """The user's role in each of their organizations, by its id."""
    statement = select(memberships.c.organization_id, memberships.c.role).where(memberships.c.user_id == user_id)
    return {organization_id: Role(role) for organization_id, role in connection.execute(statement)}


def list_members(connection: Connection, *, organization_id: int) -> list[Member]:
    """In the order they joined."""
    statement = _MEMBER.where(memberships.c.organization_id == organization_id).order_by(memberships.c.id)
    return [Member(row[0], row[1], row[2], Role(row[3]), row[4]) for row in connection.execute(statement)]


def lock_roles(connection: Connection, *, organization_id: int) -> dict[int, Role]:
    """The role of each member by user id, held until the commit: two admins can't both step down at once."""
    c = memberships.c
    statement = select(c.user_id, c.role).where(c.organization_id == organization_id).order_by(c.id).with_for_update()
    return {user_id: Role(role) for user_id, role in connection.execute(statement)}


def set_role(connection: Connection, *, organization_id: int, user_id: int, role: Role) -> None:
    ours = memberships.c.organization_id == organization_id, memberships.c.user_id == user_id
    connection.execute(update(memberships).where(*ours).values(role=str(role)))


def remove_membership(connection: Connection, *, organization_id: int, user_id: int) -> None:
    ours = memberships.c.organization_id == organization_id, memberships.c.user_id == user_id
    connection.execute(delete(memberships).where(*ours))
