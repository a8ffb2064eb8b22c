"""Reads prompts, their drafts and their versions in a transaction; versions never change, so they are cached."""

from __future__ import annotations

import re
from collections.abc import Hashable
from functools import partial

from sqlalchemy import Connection

from app.concurrency.caches import BoundedCache
from app.errors import require
from app.metrics import Metrics, cache_lookups
from app.models import prompt_versions, prompts
from app.models.prompt_versions import VersionRow
from app.models.prompts import PromptHead, PromptRow
from app.rendering.render import Placeholder
from app.services.language_models.service import ModelService
from app.services.prompts.content import PromptContent, Version, content_of, parse_placeholders
from app.services.prompts.splits import ByLabel, commit_hash_of

CACHED_CHARACTERS = 8_000_000
_HASH = re.compile(r"[0-9a-f]{64}")


class PromptReader:
    """Finds prompts of one project only; `NotFound` does not reveal whether another project has the prompt."""

    def __init__(self, *, models: ModelService, metrics: Metrics) -> None:
        self._models = models
        self._versions: BoundedCache[Version] = BoundedCache(
            CACHED_CHARACTERS, on_lookup=cache_lookups(metrics, "prompt_versions")
        )

    def read(
        self,
        connection: Connection,
        *,
        project_id: int,
        prompt_id: int,
        productive: bool,
        commit_hash: str | None,
        by_label: ByLabel | None = None,
    ) -> tuple[PromptHead, PromptContent]:
        """Return the version of the label or `commit_hash`; else the newest one if `productive`, else the draft.

        A prompt that was never committed has only its draft.
        """
        if productive or commit_hash is not None or by_label is not None:
            head = self.head(connection, project_id=project_id, prompt_id=prompt_id)
            commit_hash = commit_hash_of(head.labels, by_label) if by_label else commit_hash
            version = (
                self.newest(connection, head) if commit_hash is None else self.pinned(connection, head, commit_hash)
            )
            if version is not None:
                return head, self.content_of(connection, head, version)
        return self.read_draft(connection, project_id=project_id, prompt_id=prompt_id)

    def remembered(self, head: PromptHead, commit_hash: str | None) -> PromptContent | None:
        """Return the cached result of a productive `read`; None if it would have to query the database."""
        key = (head.id, commit_hash) if commit_hash is not None else head.newest_version_id
        version = self._cached(head, key, count_miss=False)
        if version is None:
            return None
        known = partial(self._models.known, organization_id=head.organization_id)
        model, fallback_id = known(model_id=version.row.language_model_id), version.row.fallback_model_id
        fallback = known(model_id=fallback_id) if fallback_id is not None else None
        if model is None or (fallback is None and fallback_id is not None):
            return None
        return content_of(head, version.row, version.placeholders, model, fallback)

    def has_models(self, head: PromptHead, content: PromptContent) -> bool:
        """Return whether the cache has the content's models, unchanged."""
        return all(
            model is None or self._models.known(organization_id=head.organization_id, model_id=model.id) is model
            for model in (content.model, content.fallback)
        )

    def read_draft(
        self, connection: Connection, *, project_id: int, prompt_id: int, lock: bool = False
    ) -> tuple[PromptRow, PromptContent]:
        """Return a prompt with its draft; `lock` locks its row until the transaction ends."""
        prompt = prompts.require_prompt(connection, project_id=project_id, prompt_id=prompt_id, lock=lock)
        return prompt, self._content(connection, prompt, prompt, parse_placeholders(prompt.placeholders))

    def head(self, connection: Connection, *, project_id: int, prompt_id: int) -> PromptHead:
        return prompts.require_head(connection, project_id=project_id, prompt_id=prompt_id)

    def newest(self, connection: Connection, head: PromptHead) -> Version | None:
        """Return the newest version; None for a prompt that was never committed."""
        if head.newest_version_id is None:
            return None
        if cached := self._cached(head, head.newest_version_id):
            return cached
        return self._keep(prompt_versions.find_version_by_id(connection, version_id=head.newest_version_id))

    def pinned(self, connection: Connection, head: PromptHead, commit_hash: str) -> Version:
        """Return the version with this whole commit hash; `NotFound` if the prompt has none."""
        if cached := self._cached(head, (head.id, commit_hash)):
            return cached
        if not _HASH.fullmatch(commit_hash):
            return self._keep(None)
        return self._keep(prompt_versions.find_version(connection, prompt_id=head.id, commit_hash=commit_hash))

    def _cached(self, head: PromptHead, key: Hashable, *, count_miss: bool = True) -> Version | None:
        """Return a cached version; None if it is older than its prompt: SQLite reuses the ids of erased rows."""
        version = self._versions.get(key, count_miss=count_miss)
        if version is None or version.row.prompt_id != head.id or version.row.created_at < head.created_at:
            return None
        return version

    def content_of(self, connection: Connection, head: PromptHead, version: Version) -> PromptContent:
        return self._content(connection, head, version.row, version.placeholders)

    def _content(
        self,
        connection: Connection,
        head: PromptHead,
        row: PromptRow | VersionRow,
        placeholders: tuple[Placeholder, ...],
    ) -> PromptContent:
        read = partial(self._models.read, connection, organization_id=head.organization_id)
        fallback = None if row.fallback_model_id is None else read(model_id=row.fallback_model_id)
        return content_of(head, row, placeholders, read(model_id=row.language_model_id), fallback)

    def _keep(self, stored: VersionRow | None) -> Version:
        row = require(stored, "The prompt has no such version.")
        version = Version(row, parse_placeholders(row.placeholders))
        for key in (row.id, (row.prompt_id, row.commit_hash)):
            self._versions.put(key, version, weight=version.weight)
        return version
