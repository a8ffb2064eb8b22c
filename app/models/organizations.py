"""Organizations, and the projects that own everything else."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Column, Connection, Index, String, Table, func, select, update

from app.errors import require
from app.models import queries
from app.models.base import OPTIONS, Timestamp, identifier, metadata, reference

organizations = Table(
    "organizations",
    metadata,
    identifier(),
    Column("name", String(128), nullable=False),
    Column("created_at", Timestamp, nullable=False),
    **OPTIONS,
)

projects = Table(
    "projects",
    metadata,
    identifier(),
    reference("organization_id", "organizations"),
    Column("name", String(128), nullable=False),
    Column("created_at", Timestamp, nullable=False),
    Column("erased_at", Timestamp),
    Index("ix_projects_organization_id", "organization_id"),
    **OPTIONS,
)


@dataclass(frozen=True, slots=True)
class Project:
    id: int
    organization_id: int
    name: str
    created_at: datetime


_PROJECT = select(*queries.columns_of(Project, projects)).where(projects.c.erased_at.is_(None))


def add_organization(connection: Connection, *, name: str, now: datetime) -> int:
    return queries.insert_row(connection, organizations, name=name, created_at=now)


def add_project(connection: Connection, *, organization_id: int, name: str, now: datetime) -> int:
    return queries.insert_row(connection, projects, organization_id=organization_id, name=name, created_at=now)


def first_organization(connection: Connection) -> int | None:
    """The id of the instance's oldest organization, which `reprise init` or the first start made."""
    found: int | None = connection.execute(select(func.min(organizations.c.id))).scalar_one()
    return found


def list_projects(connection: Connection) -> list[Project]:
    """Every project of the instance, oldest first."""
    return queries.list_rows(connection, Project, _PROJECT.order_by(projects.c.id))


def lock_organization(connection: Connection, organization_id: int) -> None:
    """Lock the organization until the commit, so that changes of its members and invitations wait for each other."""
    connection.execute(select(organizations.c.id).where(organizations.c.id == organization_id).with_for_update())


def find_project(connection: Connection, project_id: int) -> Project | None:
    return queries.find_row(connection, Project, _PROJECT.where(projects.c.id == project_id))


def require_project(connection: Connection, project_id: int) -> Project:
    """The project; `NotFound` if there is none, or it is erased."""
    return require(find_project(connection, project_id), "There is no such project.")


def find_organization(connection: Connection, project_id: int) -> int | None:
    """The id of the organization of a project, erased or not."""
    return connection.scalar(select(projects.c.organization_id).where(projects.c.id == project_id))


def organizations_of(connection: Connection, table: Table, ids: Collection[int]) -> dict[int, int]:
    """{id: organization} of the rows of a table whose rows are a project's."""
    owned = select(table.c.id, projects.c.organization_id).join(projects, projects.c.id == table.c.project_id)
    return {row[0]: row[1] for row in connection.execute(owned.where(table.c.id.in_(sorted(ids))))}


def rename_project(connection: Connection, *, project_id: int, name: str) -> None:
    connection.execute(update(projects).where(projects.c.id == project_id).values(name=name))
