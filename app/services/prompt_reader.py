"""Reads what a prompt says: the draft from its row, a committed version once, since it never changes."""

from __future__ import annotations

import re

from sqlalchemy import Connection

from app.errors import NotFound
from app.models import prompt_versions, prompts
from app.models.prompt_versions import VersionRow
from app.models.prompts import PromptHead, PromptRow
from app.services.caches import BoundedCache
from app.services.models import ModelService
from app.services.prompt_content import PromptContent, Version, of_draft, of_version, parse_placeholders

CACHED_CHARACTERS = 8_000_000
_HASH = re.compile(r"[0-9a-f]{64}")


class PromptReader:
    """All queries are bound to the project; `NotFound` says the same for what is not there and what is foreign."""

    def __init__(self, *, models: ModelService) -> None:
        self._models = models
        self._versions: BoundedCache[Version] = BoundedCache(weigh=lambda v: v.size, limit=CACHED_CHARACTERS)

    def head(self, connection: Connection, *, project_id: int, prompt_id: int) -> PromptHead:
        head = prompts.find_head(connection, project_id=project_id, prompt_id=prompt_id)
        if head is None:
            raise NotFound("There is no such prompt.")
        return head

    def prompt(self, connection: Connection, *, project_id: int, prompt_id: int, lock: bool = False) -> PromptRow:
        prompt = prompts.find_prompt(connection, project_id=project_id, prompt_id=prompt_id, lock=lock)
        if prompt is None:
            raise NotFound("There is no such prompt.")
        return prompt

    def content(
        self, connection: Connection, head: PromptHead, *, productive: bool, commit_hash: str | None
    ) -> PromptContent:
        """The pinned version; else the newest one or the draft. A prompt never committed has only its draft."""
        if commit_hash is not None:
            return self.of(connection, head, self.pinned(connection, head, commit_hash))
        if productive and head.newest_version_id is not None:
            return self.of(connection, head, self.newest(connection, head.newest_version_id))
        prompt = self.prompt(connection, project_id=head.project_id, prompt_id=head.id)
        return self.draft(connection, prompt)

    def of(self, connection: Connection, head: PromptHead, version: Version) -> PromptContent:
        model = self._models.read(
            connection, organization_id=head.organization_id, model_id=version.row.language_model_id
        )
        return of_version(head, version, model)

    def draft(self, connection: Connection, prompt: PromptRow) -> PromptContent:
        model = self._models.read(connection, organization_id=prompt.organization_id, model_id=prompt.language_model_id)
        return of_draft(prompt, model)

    def newest(self, connection: Connection, version_id: int) -> Version:
        cached = self._versions.get(version_id)
        if cached:
            return cached
        row = prompt_versions.find_version_by_id(connection, version_id=version_id)
        if row is None:
            raise NotFound("The prompt has no such version.")
        return self._keep(row)

    def pinned(self, connection: Connection, head: PromptHead, commit_hash: str) -> Version:
        cached = self._versions.get((head.id, commit_hash))
        if cached:
            return cached
        row = None
        if _HASH.fullmatch(commit_hash):
            row = prompt_versions.find_version(connection, prompt_id=head.id, commit_hash=commit_hash)
        if row is None:
            raise NotFound("The prompt has no such version.")
        return self._keep(row)

    def _keep(self, row: VersionRow) -> Version:
        version = Version(row, parse_placeholders(row.placeholders))
        self._versions.put(row.id, version)
        self._versions.put((row.prompt_id, row.commit_hash), version)
        return version
