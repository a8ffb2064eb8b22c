"""Projects of organizations."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from app.database.transactions import Database, retried
from app.errors import Invalid, NotFound
from app.models import audit_log, organizations
from app.models.audit_log import Action, Actor
from app.models.organizations import Project
from app.models.queries import insert_row, update_rows
from app.timestamps import Now

PROJECT_NAME_MAX = 128
PROJECTS_OF_ORGANIZATION = 200
"""Projects of one organization; if it already has more, they are kept."""


@dataclass(slots=True, kw_only=True)
class ProjectService:
    """Projects of organizations. The first organization of an instance, that of its operators, is remembered."""

    database: Database
    now: Now
    _operators: int | None = field(default=None, init=False)

    def operators(self) -> int | None:
        """Return the id of the instance's first organization: its admins are the operators, and it is never removed."""
        if self._operators is None:
            with self.database.read() as connection:
                self._operators = organizations.first_organization(connection)
        return self._operators

    def of(self, organization_ids: Container[int]) -> list[Project]:
        """Return the projects of these organizations, oldest first."""
        with self.database.read() as connection:
            return [p for p in organizations.list_projects(connection) if p.organization_id in organization_ids]

    def oldest(self) -> int:
        """Return the id of the instance's first project; `NotFound` while there is none."""
        with self.database.read() as connection:
            for project in organizations.list_projects(connection):
                return project.id
        raise NotFound("There is no project yet: run `reprise init`.")

    def get(self, *, organization_id: int, project_id: int) -> Project:
        """Return a project of the organization; `NotFound` does not reveal whether another organization has it."""
        with self.database.read() as connection:
            project = organizations.require_project(connection, project_id)
        if project.organization_id != organization_id:
            raise NotFound("There is no such project.")
        return project

    @retried
    def create(self, *, organization_id: int, name: str, actor: Actor) -> int:
        """Create a project; raises `Invalid` for an invalid name, and beyond `PROJECTS_OF_ORGANIZATION`."""
        name, now = checked_name(name), self.now()
        with self.database.write() as connection:
            organizations.lock_organization(connection, organization_id)
            if organizations.count_projects(connection, organization_id) >= PROJECTS_OF_ORGANIZATION:
                raise Invalid(f"name: An organization has at most {PROJECTS_OF_ORGANIZATION} projects.")
            values = {"organization_id": organization_id, "name": name, "created_at": now}
            project_id = insert_row(connection, organizations.projects, **values)
            audit_log.note(connection, now, actor, Action.PROJECT_CREATED, name, project_id=project_id)
        return project_id

    @retried
    def rename(self, *, project_id: int, name: str, actor: Actor) -> None:
        """Rename a project; `Invalid` for an empty or too long name, `NotFound` for an unknown or erased project."""
        name = checked_name(name)
        with self.database.write() as connection:
            old = organizations.require_project(connection, project_id).name
            update_rows(connection, organizations.projects, {"id": project_id}, name=name)
            now = self.now()
            audit_log.note(
                connection, now, actor, Action.PROJECT_RENAMED, name, project_id=project_id, details={"old": old}
            )


def checked_name(name: str) -> str:
    """Return a project's name without spaces around it. Raises `Invalid` for an empty or a too long one."""
    name = name.strip()
    if not 1 <= len(name) <= PROJECT_NAME_MAX or "\0" in name:
        raise Invalid(f"name: Use 1 to {PROJECT_NAME_MAX} characters.")
    return name
