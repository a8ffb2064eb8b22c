"""/api/v1/prompts/{id}/commit and /versions: a prompt's history."""

from __future__ import annotations

import falcon

from app.access import ByKey
from app.api.etags import if_match
from app.api.operation import operation
from app.api.prompts import show
from app.http.bodies import read_json
from app.schemas import prompt_records
from app.schemas.answers import prompts as answers
from app.schemas.base import load
from app.schemas.prompts import CommitSchema
from app.services.prompts.versions import VersionService

_COMMIT = CommitSchema()


class Commit:
    access = ByKey({"POST": "write"})

    def __init__(self, *, versions: VersionService, body_bytes: int) -> None:
        self._versions = versions
        self._body_bytes = body_bytes

    @operation(
        "Commit the draft",
        body=CommitSchema,
        body_optional=True,
        headers=("If-Match",),
        answers={201: answers.Version},
        errors=(409, 412),
    )
    def on_post(self, req: falcon.Request, resp: falcon.Response, prompt_id: int) -> None:
        body = load(_COMMIT, read_json(req, self._body_bytes, optional=True))
        committed = self._versions.commit(
            project_id=req.context.key.project_id,
            prompt_id=prompt_id,
            message=body["message"],
            if_match=if_match(req),
            actor=req.context.key.actor,
        )
        resp.status = falcon.HTTP_201
        resp.location = f"/api/v1/prompts/{prompt_id}/versions/{committed.head.commit_hash}"
        resp.media = prompt_records.version_record(committed)


class Versions:
    access = ByKey({"GET": "read"})

    def __init__(self, *, versions: VersionService) -> None:
        self._versions = versions

    @operation("The prompt's versions, newest first", answers={200: answers.Versions})
    def on_get(self, req: falcon.Request, resp: falcon.Response, prompt_id: int) -> None:
        versions = self._versions.list(project_id=req.context.key.project_id, prompt_id=prompt_id)
        resp.media = {"versions": [prompt_records.version_entry(version) for version in versions]}


class Version:
    access = ByKey({"GET": "read"})

    def __init__(self, *, versions: VersionService) -> None:
        self._versions = versions

    @operation("One version", answers={200: answers.Version})
    def on_get(self, req: falcon.Request, resp: falcon.Response, prompt_id: int, commit_hash: str) -> None:
        version = self._versions.get(
            project_id=req.context.key.project_id, prompt_id=prompt_id, commit_hash=commit_hash
        )
        resp.media = prompt_records.version_record(version)


class Restore:
    access = ByKey({"POST": "write"})

    def __init__(self, *, versions: VersionService, base: str) -> None:
        self._versions = versions
        self._base = base

    @operation(
        "Make a version the draft again",
        headers=("If-Match",),
        answers={200: answers.Prompt},
        answer_headers=("ETag",),
        errors=(412,),
    )
    def on_post(self, req: falcon.Request, resp: falcon.Response, prompt_id: int, commit_hash: str) -> None:
        view = self._versions.restore(
            project_id=req.context.key.project_id,
            prompt_id=prompt_id,
            commit_hash=commit_hash,
            if_match=if_match(req),
            actor=req.context.key.actor,
        )
        show(resp, view, base=self._base)
