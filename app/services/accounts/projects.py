"""Projects: what a viewer can see of them, and their names."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from app.db import Database
from app.errors import Invalid, NotFound
from app.models import audit_log, organizations
from app.models.audit_log import Action, Actor
from app.models.organizations import Project
from app.services.accounts.sign_ins import Viewer
from app.timestamps import Now

NAME_MAX = 128


@dataclass(slots=True, kw_only=True)
class ProjectService:
    database: Database
    now: Now
    _operators: int | None = field(default=None, init=False)

    def of(self, viewer: Viewer) -> list[Project]:
        """The projects of the viewer's organizations, oldest first."""
        return self._within(viewer.roles)

    def operators(self) -> int | None:
        """The instance's first organization, whose admins are its operators; it is never removed."""
        if self._operators is None:
            with self.database.read() as connection:
                self._operators = organizations.first_organization(connection)
        return self._operators

    def _within(self, organization_ids: Container[int]) -> list[Project]:
        with self.database.read() as connection:
            return [p for p in organizations.list_projects(connection) if p.organization_id in organization_ids]

    def oldest(self) -> int:
        """The id of the instance's first project; `NotFound` while there is none."""
        with self.database.read() as connection:
            for project in organizations.list_projects(connection):
                return project.id
        raise NotFound("There is no project yet: run `reprise init`.")

    def list(self, *, organization_id: int) -> list[Project]:
        """The organization's, oldest first."""
        return self._within([organization_id])

    def get(self, *, organization_id: int, project_id: int) -> Project:
        with self.database.read() as connection:
            project = organizations.require_project(connection, project_id)
        if project.organization_id != organization_id:
            raise NotFound("There is no such project.")
        return project

    def create(self, *, organization_id: int, name: str, actor: Actor) -> int:
        name, now = checked_name(name), self.now()
        with self.database.write() as connection:
            project_id = organizations.add_project(connection, organization_id=organization_id, name=name, now=now)
            audit_log.note(connection, now, actor, Action.PROJECT_CREATED, name, project_id=project_id)
        return project_id

    def rename(self, *, project_id: int, name: str, actor: Actor) -> None:
        name = checked_name(name)
        with self.database.write() as connection:
            old = organizations.require_project(connection, project_id).name
            organizations.rename_project(connection, project_id=project_id, name=name)
            now = self.now()
            audit_log.note(
                connection, now, actor, Action.PROJECT_RENAMED, name, project_id=project_id, details={"old": old}
            )


def checked_name(name: str) -> str:
    name = name.strip()
    if not 1 <= len(name) <= NAME_MAX or "\0" in name:
        raise Invalid(f"name: Use 1 to {NAME_MAX} characters.")
    return name
