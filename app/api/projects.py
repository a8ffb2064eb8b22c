"""/api/v1/projects: those of the organization, and the first keys of new ones."""

from __future__ import annotations

import falcon

from app.access import ByKey
from app.api.operation import operation
from app.http.bodies import read_json
from app.schemas.answer import dump
from app.schemas.answers import organization as answers
from app.schemas.base import load
from app.schemas.keys import CreatedApiKey, MadeKey, NewKeySchema, WantedKey
from app.schemas.organization import ProjectSchema, dump_project
from app.services.accounts.keys import KeyService
from app.services.accounts.projects import ProjectService

_PROJECT, _KEY = ProjectSchema(), NewKeySchema()


class Projects:
    access = ByKey({"GET": "admin", "POST": "admin"})

    def __init__(self, *, projects: ProjectService, body_bytes: int) -> None:
        self._projects = projects
        self._body_bytes = body_bytes

    @operation("The organization's projects, oldest first", answers={200: answers.Projects})
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        found = self._projects.list(organization_id=req.context.key.organization_id)
        resp.media = {"projects": [dump_project(project) for project in found]}

    @operation("Make another project", body=ProjectSchema, answers={201: answers.Project})
    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        key, name = req.context.key, load(_PROJECT, read_json(req, self._body_bytes))["name"]
        project_id = self._projects.create(organization_id=key.organization_id, name=name, actor=key.actor)
        resp.status = falcon.HTTP_201
        resp.location = f"/api/v1/projects/{project_id}"
        resp.media = dump_project(self._projects.get(organization_id=key.organization_id, project_id=project_id))


class Project:
    access = ByKey({"GET": "admin", "PATCH": "admin"})

    def __init__(self, *, projects: ProjectService, body_bytes: int) -> None:
        self._projects = projects
        self._body_bytes = body_bytes

    @operation("One project", answers={200: answers.Project})
    def on_get(self, req: falcon.Request, resp: falcon.Response, project_id: int) -> None:
        organization_id = req.context.key.organization_id
        resp.media = dump_project(self._projects.get(organization_id=organization_id, project_id=project_id))

    @operation("Rename a project", body=ProjectSchema, answers={200: answers.Project})
    def on_patch(self, req: falcon.Request, resp: falcon.Response, project_id: int) -> None:
        key, name = req.context.key, load(_PROJECT, read_json(req, self._body_bytes))["name"]
        self._projects.get(organization_id=key.organization_id, project_id=project_id)
        self._projects.rename(project_id=project_id, name=name, actor=key.actor)
        resp.media = dump_project(self._projects.get(organization_id=key.organization_id, project_id=project_id))


class ProjectApiKeys:
    """With such a key the project's other keys are managed, at /api/v1/api-keys."""

    access = ByKey({"POST": "admin"})

    def __init__(self, *, projects: ProjectService, keys: KeyService, body_bytes: int) -> None:
        self._projects = projects
        self._keys = keys
        self._body_bytes = body_bytes

    @operation(
        "Make an API key of any project of the organization; its secret is shown this once",
        body=NewKeySchema,
        answers={201: CreatedApiKey},
    )
    def on_post(self, req: falcon.Request, resp: falcon.Response, project_id: int) -> None:
        maker = req.context.key
        wanted: WantedKey = load(_KEY, read_json(req, self._body_bytes))
        self._projects.get(organization_id=maker.organization_id, project_id=project_id)
        new = self._keys.create_with(
            maker, project_id=project_id, name=wanted.name, scopes=wanted.scopes, expires_at=wanted.expires_at
        )
        resp.status = falcon.HTTP_201
        resp.location = f"/api/v1/api-keys/{new.id}"
        made = MadeKey(self._keys.get(project_id=project_id, key_id=new.id), new.secret)
        resp.media = dump(CreatedApiKey, made)
