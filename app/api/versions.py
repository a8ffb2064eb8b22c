"""/api/v1/prompts/{id}/commit and /versions: a prompt's versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from app.access import ByKey
from app.api.operation import Call, Command, operation
from app.models.api_keys import ApiKey
from app.models.prompt_versions import VersionHead
from app.schemas import prompts as schemas
from app.schemas.prompts import Published
from app.services.prompts.versions import VersionService, VersionView


@dataclass(frozen=True, slots=True)
class Commit:
    access: ClassVar = ByKey({"POST": "write"})
    versions: VersionService

    @operation(
        "Commit the draft",
        body=schemas.CommitSchema,
        body_optional=True,
        headers=("If-Match",),
        answers={201: schemas.Version},
        location="/api/v1/prompts/{prompt_id}/versions/{commitHash}",
        errors=(409, 412),
    )
    def on_post(self, key: ApiKey, command: Command, call: Call, prompt_id: int) -> VersionView:
        return self.versions.commit(
            project_id=key.project_id, prompt_id=prompt_id, if_match=call.if_match, actor=key.actor, **command
        )


@dataclass(frozen=True, slots=True)
class Versions:
    access: ClassVar = ByKey({"GET": "read"})
    versions: VersionService

    @operation("The prompt's versions, newest first", answers={200: schemas.Versions})
    def on_get(self, key: ApiKey, prompt_id: int) -> list[VersionHead]:
        return self.versions.list(project_id=key.project_id, prompt_id=prompt_id)


@dataclass(frozen=True, slots=True)
class Version:
    access: ClassVar = ByKey({"GET": "read"})
    versions: VersionService

    @operation("One version", answers={200: schemas.Version})
    def on_get(self, key: ApiKey, prompt_id: int, commit_hash: str) -> VersionView:
        return self.versions.get(project_id=key.project_id, prompt_id=prompt_id, commit_hash=commit_hash)


@dataclass(frozen=True, slots=True)
class Restore:
    """`base` is the public address of the pages, "" where there is none."""

    access: ClassVar = ByKey({"POST": "write"})
    versions: VersionService
    base: str

    @operation(
        "Make a version the draft again",
        headers=("If-Match",),
        answers={200: schemas.Prompt},
        answer_headers=("ETag",),
        errors=(412,),
    )
    def on_post(self, key: ApiKey, call: Call, prompt_id: int, commit_hash: str) -> Published:
        view = self.versions.restore(
            project_id=key.project_id,
            prompt_id=prompt_id,
            commit_hash=commit_hash,
            if_match=call.if_match,
            actor=key.actor,
        )
        return Published.at(self.base, view)
