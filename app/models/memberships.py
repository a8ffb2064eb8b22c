"""Memberships: the roles of users in organizations."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import Column, Connection, Index, Table, TypeDecorator, UniqueConstraint, delete, select, update
from sqlalchemy.engine import Dialect

from app.models import queries
from app.models.base import OPTIONS, Timestamp, exact, identifier, metadata, reference
from app.models.users import users


class Role(StrEnum):
    """A viewer reads; a member also edits and runs; an admin also changes the settings."""

    VIEWER = "viewer"
    MEMBER = "member"
    ADMIN = "admin"

    def covers(self, needed: Role) -> bool:
        """True if this role includes the rights of `needed`."""
        ranked = list(Role)
        return ranked.index(self) >= ranked.index(needed)


class RoleType(TypeDecorator[Role]):
    """A column of roles, as strings that are compared byte for byte."""

    impl = exact(16)
    cache_ok = True

    def process_result_value(self, value: str | None, dialect: Dialect) -> Role | None:
        return None if value is None else Role(value)


memberships = Table(
    "memberships",
    metadata,
    identifier(),
    reference("organization_id", "organizations"),
    reference("user_id", "users"),
    Column("role", RoleType, nullable=False),
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


_MEMBER = select(*queries.columns_of(Member, memberships, name=users.c.name, email=users.c.email)).join(
    users, users.c.id == memberships.c.user_id
)


def add_membership(connection: Connection, *, organization_id: int, user_id: int, role: Role, now: datetime) -> None:
    queries.insert_row(
        connection, memberships, organization_id=organization_id, user_id=user_id, role=role, created_at=now
    )


def roles_of(connection: Connection, *, user_id: int) -> dict[int, Role]:
    """The user's role in each of their organizations, by its id."""
    statement = select(memberships.c.organization_id, memberships.c.role).where(memberships.c.user_id == user_id)
    return {row[0]: row[1] for row in connection.execute(statement)}


def list_members(connection: Connection, *, organization_id: int) -> list[Member]:
    """In the order they joined."""
    statement = _MEMBER.where(memberships.c.organization_id == organization_id).order_by(memberships.c.id)
    return queries.list_rows(connection, Member, statement)


def lock_roles(connection: Connection, *, organization_id: int) -> dict[int, Role]:
    """The role of each member by user id, locked until the commit: two admins can't both step down at once."""
    c = memberships.c
    statement = select(c.user_id, c.role).where(c.organization_id == organization_id).order_by(c.id).with_for_update()
    return {row[0]: row[1] for row in connection.execute(statement)}


def set_role(connection: Connection, *, organization_id: int, user_id: int, role: Role) -> None:
    ours = memberships.c.organization_id == organization_id, memberships.c.user_id == user_id
    connection.execute(update(memberships).where(*ours).values(role=role))


def remove_membership(connection: Connection, *, organization_id: int, user_id: int) -> None:
    ours = memberships.c.organization_id == organization_id, memberships.c.user_id == user_id
    connection.execute(delete(memberships).where(*ours))
