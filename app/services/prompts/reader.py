"""Reads what a prompt says: the draft from its row, a committed version once, since it never changes."""

from __future__ import annotations

import re
from functools import partial

from sqlalchemy import Connection

from app.caches import BoundedCache
from app.errors import NotFound
from app.metrics import Metrics, cache_lookups
from app.models import prompt_versions, prompts
from app.models.language_models import LanguageModel
from app.models.prompt_versions import VersionRow
from app.models.prompts import PromptHead, PromptRow
from app.services.language_models.service import ModelService
from app.services.prompts.content import PromptContent, Version, of_draft, of_version, parse_placeholders

CACHED_CHARACTERS = 8_000_000
_HASH = re.compile(r"[0-9a-f]{64}")


class PromptReader:
    """All queries are bound to the project; `NotFound` says the same for what is not there and what is foreign."""

    def __init__(self, *, models: ModelService, metrics: Metrics) -> None:
        self._models = models
        self._versions: BoundedCache[Version] = BoundedCache(
            CACHED_CHARACTERS, on_lookup=cache_lookups(metrics, "prompt_versions")
        )

    def read(
        self, connection: Connection, *, project_id: int, prompt_id: int, productive: bool, commit_hash: str | None
    ) -> tuple[PromptHead, PromptContent]:
        """The pinned version; else the newest one or the draft. A prompt never committed has only its draft."""
        if not productive and commit_hash is None:
            return self.read_draft(connection, project_id=project_id, prompt_id=prompt_id)
        head = self.head(connection, project_id=project_id, prompt_id=prompt_id)
        if commit_hash is not None:
            return head, self.content_of(connection, head, self.pinned(connection, head.id, commit_hash))
        newest = self.newest(connection, head)
        if newest is not None:
            return head, self.content_of(connection, head, newest)
        return self.read_draft(connection, project_id=project_id, prompt_id=prompt_id)

    def remembered(self, head: PromptHead, commit_hash: str | None) -> PromptContent | None:
        """What `read` would find for a productive use, if nothing but the head has to be asked for."""
        key = (head.id, commit_hash) if commit_hash is not None else head.newest_version_id
        version = self._versions.get(key, last_try=False)
        if version is None:
            return None
        known = partial(self._models.known, organization_id=head.organization_id)
        model, fallback_id = known(model_id=version.row.language_model_id), version.row.fallback_model_id
        fallback = known(model_id=fallback_id) if fallback_id is not None else None
        if model is None or (fallback is None and fallback_id is not None):
            return None
        return of_version(head, version, model, fallback)

    def read_draft(
        self, connection: Connection, *, project_id: int, prompt_id: int, lock: bool = False
    ) -> tuple[PromptRow, PromptContent]:
        """`lock` keeps others from changing the prompt until the transaction ends."""
        prompt = prompts.find_prompt(connection, project_id=project_id, prompt_id=prompt_id, lock=lock)
        if prompt is None:
            raise NotFound("There is no such prompt.")
        organization_id = prompt.organization_id
        model = self._models.read(connection, organization_id=organization_id, model_id=prompt.language_model_id)
        fallback = self._fallback(connection, organization_id, prompt.fallback_model_id)
        return prompt, of_draft(prompt, model, fallback)

    def head(self, connection: Connection, *, project_id: int, prompt_id: int) -> PromptHead:
        head = prompts.find_head(connection, project_id=project_id, prompt_id=prompt_id)
        if head is None:
            raise NotFound("There is no such prompt.")
        return head

    def newest(self, connection: Connection, head: PromptHead) -> Version | None:
        """The newest version, None for a prompt that was never committed."""
        if head.newest_version_id is None:
            return None
        if cached := self._versions.get(head.newest_version_id):
            return cached
        row = prompt_versions.find_version_by_id(connection, version_id=head.newest_version_id)
        return self._keep(row)

    def pinned(self, connection: Connection, prompt_id: int, commit_hash: str) -> Version:
        if cached := self._versions.get((prompt_id, commit_hash)):
            return cached
        row = None
        if _HASH.fullmatch(commit_hash):
            row = prompt_versions.find_version(connection, prompt_id=prompt_id, commit_hash=commit_hash)
        return self._keep(row)

    def content_of(self, connection: Connection, head: PromptHead, version: Version) -> PromptContent:
        model_id = version.row.language_model_id
        model = self._models.read(connection, organization_id=head.organization_id, model_id=model_id)
        fallback = self._fallback(connection, head.organization_id, version.row.fallback_model_id)
        return of_version(head, version, model, fallback)

    def _fallback(self, connection: Connection, organization_id: int, model_id: int | None) -> LanguageModel | None:
        if model_id is None:
            return None
        return self._models.read(connection, organization_id=organization_id, model_id=model_id)

    def _keep(self, row: VersionRow | None) -> Version:
        if row is None:
            raise NotFound("The prompt has no such version.")
        version = Version(row, parse_placeholders(row.placeholders))
        for key in (row.id, (row.prompt_id, row.commit_hash)):
            self._versions.put(key, version, weight=version.weight)
        return version
