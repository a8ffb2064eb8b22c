"""/api/v1/prompts/{id}/commit and /versions: a prompt's history."""

from __future__ import annotations

import falcon

from app.api.bodies import read_json
from app.api.etags import if_match
from app.api.prompts import show
from app.schemas import prompt_records
from app.schemas.base import load
from app.schemas.prompts import CommitSchema
from app.services.versions import VersionService

_COMMIT = CommitSchema()


class Commit:
    def __init__(self, *, versions: VersionService, body_bytes: int) -> None:
        self._versions = versions
        self._body_bytes = body_bytes

    def on_post(self, req: falcon.Request, resp: falcon.Response, prompt_id: int) -> None:
        body = load(_COMMIT, read_json(req, self._body_bytes, optional=True))
        committed = self._versions.commit(
            project_id=req.context.key.project_id,
            prompt_id=prompt_id,
            message=body["message"],
            if_match=if_match(req),
        )
        resp.status = falcon.HTTP_201
        resp.location = f"/api/v1/prompts/{prompt_id}/versions/{committed.head.commit_hash}"
        resp.media = prompt_records.version_record(committed)


class Versions:
    def __init__(self, *, versions: VersionService) -> None:
        self._versions = versions

    def on_get(self, req: falcon.Request, resp: falcon.Response, prompt_id: int) -> None:
        versions = self._versions.list(project_id=req.context.key.project_id, prompt_id=prompt_id)
        resp.media = {"versions": [prompt_records.version_entry(version) for version in versions]}


class Version:
    def __init__(self, *, versions: VersionService) -> None:
        self._versions = versions

    def on_get(self, req: falcon.Request, resp: falcon.Response, prompt_id: int, commit_hash: str) -> None:
        version = self._versions.get(
            project_id=req.context.key.project_id, prompt_id=prompt_id, commit_hash=commit_hash
        )
        resp.media = prompt_records.version_record(version)


class Restore:
    def __init__(self, *, versions: VersionService, base: str) -> None:
        self._versions = versions
        self._base = base

    def on_post(self, req: falcon.Request, resp: falcon.Response, prompt_id: int, commit_hash: str) -> None:
        view = self._versions.restore(
            project_id=req.context.key.project_id,
            prompt_id=prompt_id,
            commit_hash=commit_hash,
            if_match=if_match(req),
        )
        show(resp, view, base=self._base)
