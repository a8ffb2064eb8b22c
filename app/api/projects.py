"""/api/v1/projects: the organization's projects, and API keys for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from app.access import ByKey
from app.api.operation import Command, operation
from app.models import organizations
from app.models.api_keys import ApiKey
from app.schemas import organization as schemas
from app.schemas.organization import CreatedApiKey, MadeKey, NewKeySchema
from app.services.accounts.keys import KeyService
from app.services.accounts.projects import ProjectService


@dataclass(frozen=True, slots=True)
class Projects:
    access: ClassVar = ByKey({"GET": "admin", "POST": "admin"})
    projects: ProjectService

    @operation("The organization's projects, oldest first", answers={200: schemas.Projects})
    def on_get(self, key: ApiKey) -> list[organizations.Project]:
        return self.projects.list(organization_id=key.organization_id)

    @operation(
        "Make another project",
        body=schemas.ProjectSchema,
        answers={201: schemas.Project},
        location="/api/v1/projects/{id}",
    )
    def on_post(self, key: ApiKey, command: Command) -> organizations.Project:
        project_id = self.projects.create(organization_id=key.organization_id, actor=key.actor, **command)
        return self.projects.get(organization_id=key.organization_id, project_id=project_id)


@dataclass(frozen=True, slots=True)
class Project:
    access: ClassVar = ByKey({"GET": "admin", "PATCH": "admin"})
    projects: ProjectService

    @operation("One project", answers={200: schemas.Project})
    def on_get(self, key: ApiKey, project_id: int) -> organizations.Project:
        return self.projects.get(organization_id=key.organization_id, project_id=project_id)

    @operation("Rename a project", body=schemas.ProjectSchema, answers={200: schemas.Project})
    def on_patch(self, key: ApiKey, command: Command, project_id: int) -> organizations.Project:
        self.on_get(key, project_id)  # NotFound for another organization's
        self.projects.rename(project_id=project_id, actor=key.actor, **command)
        return self.on_get(key, project_id)


@dataclass(frozen=True, slots=True)
class ProjectApiKeys:
    """A project's further keys can be managed at /api/v1/api-keys with a key made here."""

    access: ClassVar = ByKey({"POST": "admin"})
    projects: ProjectService
    keys: KeyService

    @operation(
        "Make an API key of any project of the organization; its secret is shown this once",
        body=NewKeySchema,
        answers={201: CreatedApiKey},
        location="/api/v1/api-keys/{id}",
    )
    def on_post(self, key: ApiKey, command: Command, project_id: int) -> MadeKey:
        self.projects.get(organization_id=key.organization_id, project_id=project_id)
        new = self.keys.create_with(key, project_id=project_id, **command)
        return MadeKey(self.keys.get(project_id=project_id, key_id=new.id), new.secret)
