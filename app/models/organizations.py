"""Organizations with their projects, which own everything else, their members and their invitations."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    ForeignKey,
    Index,
    Select,
    String,
    Table,
    TypeDecorator,
    UniqueConstraint,
    delete,
    func,
    select,
    update,
)
from sqlalchemy.engine import Dialect

from app.errors import require
from app.models import queries
from app.models.base import BigInt, Timestamp, binary, exact, lock_count, new_table, reference
from app.models.users import users

organizations = new_table(
    "organizations",
    Column("name", String(128), nullable=False),
    Column("created_at", Timestamp, nullable=False),
    lock_count(),
)


@dataclass(frozen=True, slots=True)
class Project:
    """A project of an organization."""

    id: int
    organization_id: Annotated[int, BigInt, ForeignKey("organizations.id")]
    name: Annotated[str, String(128)]
    created_at: Annotated[datetime, Timestamp]


projects = new_table(
    "projects",
    Project,
    Column("erased_at", Timestamp),
    # The batch id up to which the turns of the project are packed: see `span_packing.py`.
    Column("packed_until", BigInt),
    Index("ix_projects_organization_id", "organization_id"),
)


_PROJECT = select(*queries.columns_of(Project, projects)).where(projects.c.erased_at.is_(None))


def first_organization(connection: Connection) -> int | None:
    """Return the id of the instance's oldest organization, which `reprise init` or the first start made."""
    organization_id: int | None = connection.execute(select(func.min(organizations.c.id))).scalar_one()
    return organization_id


def list_projects(connection: Connection) -> list[Project]:
    """List every project of the instance, oldest first."""
    return queries.list_rows(connection, Project, _PROJECT.order_by(projects.c.id))


def owners(connection: Connection) -> dict[int, int]:
    """Return {project id: organization id} of every project of the instance."""
    owned = select(projects.c.id, projects.c.organization_id).where(projects.c.erased_at.is_(None))
    return queries.id_pairs(connection, owned)


def count_projects(connection: Connection, organization_id: int) -> int:
    """Return the number of the organization's projects that are not erased."""
    return queries.count_rows(connection, _PROJECT.where(projects.c.organization_id == organization_id))


def in_turn(statement: Select[Any], project_id: ColumnElement[int], *order: ColumnElement[Any]) -> Select[Any]:
    """Return the statement with its rows alternating between organizations.

    The first row of each organization comes first, then the second of each. `project_id` is the column of the row's
    project. `order` sorts the rows of an organization, and the organizations.
    """
    place = func.row_number().over(partition_by=projects.c.organization_id, order_by=order)
    return statement.join(projects, projects.c.id == project_id).order_by(place, *order)


def owners_of(connection: Connection, project_ids: Sequence[int]) -> dict[int, int]:
    """Return the organizations of projects, including erased projects, by the projects' ids."""
    owned: dict[int, int] = {}
    columns = select(projects.c.id, projects.c.organization_id)
    for piece in queries.pieces(project_ids):
        owned |= queries.id_pairs(connection, columns.where(projects.c.id.in_(piece)))
    return owned


def lock_organization(connection: Connection, organization_id: int) -> None:
    """Lock the organization until the commit. Changes of its members and invitations wait for each other."""
    queries.lock_rows(connection, organizations, organizations.c.id == organization_id)


def lock_owner(connection: Connection, project_id: int) -> None:
    """Lock the organization of a project until the commit; `NotFound` if there is no such project."""
    lock_organization(connection, require_project(connection, project_id).organization_id)


def find_project(connection: Connection, project_id: int) -> Project | None:
    return queries.find_row(connection, Project, _PROJECT.where(projects.c.id == project_id))


def require_project(connection: Connection, project_id: int) -> Project:
    """Return the project; `NotFound` if there is none, or it is erased."""
    return require(find_project(connection, project_id), "There is no such project.")


def find_organization(connection: Connection, project_id: int) -> int | None:
    """Return the id of the organization of a project, erased or not."""
    return connection.scalar(select(projects.c.organization_id).where(projects.c.id == project_id))


def organizations_of(connection: Connection, table: Table, ids: Collection[int]) -> dict[int, int]:
    """Return {id: organization id} of the rows of a table that have a project."""
    owned = select(table.c.id, projects.c.organization_id).join(projects, projects.c.id == table.c.project_id)
    return queries.id_pairs(connection, owned.where(table.c.id.in_(sorted(ids))))


class Role(StrEnum):
    """A viewer reads; a member also edits and runs; an admin also changes the settings."""

    VIEWER = "viewer"
    MEMBER = "member"
    ADMIN = "admin"

    def covers(self, needed: Role) -> bool:
        """Return whether this role includes the rights of `needed`."""
        ranked = list(Role)
        return ranked.index(self) >= ranked.index(needed)


class RoleType(TypeDecorator[Role]):
    """A column of roles, as strings that are compared byte for byte."""

    impl = exact(16)
    cache_ok = True

    def process_result_value(self, value: str | None, dialect: Dialect) -> Role | None:
        return None if value is None else Role(value)


memberships = new_table(
    "memberships",
    reference("organization_id", "organizations"),
    reference("user_id", "users"),
    Column("role", RoleType, nullable=False),
    Column("created_at", Timestamp, nullable=False),
    UniqueConstraint("organization_id", "user_id"),
    Index("ix_memberships_user_id", "user_id"),
)


@dataclass(frozen=True, slots=True)
class Member:
    """A user with their role in an organization; `created_at` is when they joined it."""

    user_id: int
    name: str
    email: str
    role: Role
    created_at: datetime


_MEMBER = select(*queries.columns_of(Member, memberships, name=users.c.name, email=users.c.email)).join(
    users, users.c.id == memberships.c.user_id
)


def roles_of(connection: Connection, *, user_id: int) -> dict[int, Role]:
    """Return the user's role in each of their organizations, by its id."""
    statement = select(memberships.c.organization_id, memberships.c.role).where(memberships.c.user_id == user_id)
    return {row[0]: row[1] for row in connection.execute(statement)}


def list_members(connection: Connection, *, organization_id: int) -> list[Member]:
    """List the members in the order in which they joined."""
    statement = _MEMBER.where(memberships.c.organization_id == organization_id).order_by(memberships.c.id)
    return queries.list_rows(connection, Member, statement)


@dataclass(frozen=True, slots=True)
class Invitation:
    """An invitation of an e-mail address to an organization, which has the name `organization`."""

    id: int
    organization_id: Annotated[int, BigInt, ForeignKey("organizations.id")]
    organization: str
    email: Annotated[str, exact(254)]
    role: Annotated[Role, RoleType]
    created_at: Annotated[datetime, Timestamp]
    expires_at: Annotated[datetime, Timestamp]


invitations = new_table(
    "invitations",
    Invitation,
    Column("digest", binary(32), nullable=False),
    Column("accepted_by", BigInt),
    UniqueConstraint("digest"),
    Index("ix_invitations_organization_id", "organization_id"),
)


_OPEN = (
    select(*queries.columns_of(Invitation, invitations, organization=organizations.c.name))
    .join(organizations, organizations.c.id == invitations.c.organization_id)
    .where(invitations.c.accepted_by.is_(None))
)


def find_invitation(connection: Connection, *, digest: bytes, now: datetime) -> Invitation | None:
    """Return the invitation, unless it was accepted or has expired."""
    statement = _OPEN.where(invitations.c.digest == digest, invitations.c.expires_at > now)
    return queries.find_row(connection, Invitation, statement)


def list_invitations(connection: Connection, *, organization_id: int) -> list[Invitation]:
    """List invitations that were not accepted, expired ones too, newest first."""
    ours = _OPEN.where(invitations.c.organization_id == organization_id)
    return queries.list_rows(connection, Invitation, queries.newest_first(ours, invitations.c.id))


def accept_invitation(connection: Connection, *, invitation_id: int, user_id: int) -> bool:
    """Mark the invitation as accepted; False if it was accepted before."""
    c = invitations.c
    statement = update(invitations).where(c.id == invitation_id, c.accepted_by.is_(None)).values(accepted_by=user_id)
    return queries.changes_row(connection, statement)


def withdraw_invitation(connection: Connection, *, organization_id: int, invitation_id: int) -> str | None:
    """Delete an open invitation; returns its e-mail, None if there is no such invitation."""
    c = invitations.c
    ours = c.id == invitation_id, c.organization_id == organization_id, c.accepted_by.is_(None)
    email = connection.scalar(select(c.email).where(*ours))
    return email if queries.changes_row(connection, delete(invitations).where(*ours)) else None


def withdraw_invitations(connection: Connection, *, organization_id: int, email: str) -> None:
    """Delete the open invitations for an e-mail."""
    c = invitations.c
    ours = c.organization_id == organization_id, c.email == email, c.accepted_by.is_(None)
    connection.execute(delete(invitations).where(*ours))
