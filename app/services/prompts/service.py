"""Reads prompts: one, those of a project, or the rendering of one; versions never change, so they are cached."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Required, TypedDict, Unpack

from reprise_client.placeholders import Rendering
from sqlalchemy import Connection

from app.caches import BoundedCache
from app.db import Database
from app.errors import NotFound, require
from app.metrics import Metrics, cache_lookups
from app.models import prompt_versions, prompts
from app.models.prompt_versions import VersionRow
from app.models.prompts import PromptHead, PromptListing, PromptRow
from app.redis_store.epochs import REMEMBERED_S
from app.rendering.render import Placeholder, render
from app.services.language_models.service import ModelService
from app.services.prompts import drafts
from app.services.prompts.content import PromptContent, Version, content_of, parse_placeholders
from app.services.prompts.splits import ByLabel, commit_hash_of

CACHED_CHARACTERS = 8_000_000
_HASH = re.compile(r"[0-9a-f]{64}")


class PromptReader:
    """Finds prompts of one project only; `NotFound` does not tell a foreign prompt from one that does not exist."""

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
        """Return what `read` finds for a productive use; None if that takes more of the database than the head."""
        key = (head.id, commit_hash) if commit_hash is not None else head.newest_version_id
        version = self._cached(head, key, last_try=False)
        if version is None:
            return None
        known = partial(self._models.known, organization_id=head.organization_id)
        model, fallback_id = known(model_id=version.row.language_model_id), version.row.fallback_model_id
        fallback = known(model_id=fallback_id) if fallback_id is not None else None
        if model is None or (fallback is None and fallback_id is not None):
            return None
        return content_of(head, version.row, version.placeholders, model, fallback)

    def read_draft(
        self, connection: Connection, *, project_id: int, prompt_id: int, lock: bool = False
    ) -> tuple[PromptRow, PromptContent]:
        """Return a prompt with its draft; `lock` keeps others from changing it until the transaction ends."""
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
        if cached := self._cached(head, (head.id, commit_hash)):
            return cached
        if not _HASH.fullmatch(commit_hash):
            return self._keep(None)
        return self._keep(prompt_versions.find_version(connection, prompt_id=head.id, commit_hash=commit_hash))

    def _cached(self, head: PromptHead, key: Hashable, *, last_try: bool = True) -> Version | None:
        """Return a remembered version; None for one older than its prompt: SQLite gives ids of erased rows again."""
        version = self._versions.get(key, last_try=last_try)
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

    def _keep(self, found: VersionRow | None) -> Version:
        row = require(found, "The prompt has no such version.")
        version = Version(row, parse_placeholders(row.placeholders))
        for key in (row.id, (row.prompt_id, row.commit_hash)):
            self._versions.put(key, version, weight=version.weight)
        return version


@dataclass(frozen=True, slots=True)
class PromptView:
    """A prompt with the content that was requested."""

    head: PromptHead
    content: PromptContent

    @property
    def etag(self) -> str | None:
        """The draft's ETag; None when the content is a version's."""
        return drafts.etag(self.head) if self.content.commit_hash is None else None


@dataclass(frozen=True, slots=True)
class _KnownHead:
    """A head that was read after the epoch was; `until` is monotonic."""

    head: PromptHead
    epoch: bytes
    until: float


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    content: PromptContent
    rendered: Rendering


@dataclass(frozen=True, slots=True)
class PromptPage:
    """A page of a list; `next_before_id` requests the next one, and is None on the last one."""

    prompts: list[PromptListing]
    limit: int | None
    next_before_id: int | None


class PromptQuery(TypedDict, total=False):
    """The prompt and the version that are asked for, as `PromptService.get` takes them."""

    project_id: Required[int]
    prompt_id: Required[int]
    productive: Required[bool]
    commit_hash: str | None
    by_label: ByLabel | None
    epoch: bytes


class PromptService:
    def __init__(
        self,
        *,
        database: Database,
        reader: PromptReader,
        metrics: Metrics,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._reader = reader
        self._monotonic = monotonic
        self._heads: BoundedCache[_KnownHead] = BoundedCache(CACHED_CHARACTERS)
        self._on_lookup = cache_lookups(metrics, "prompt_heads")
        self._renderings: BoundedCache[Rendering] = BoundedCache(
            CACHED_CHARACTERS, on_lookup=cache_lookups(metrics, "renderings")
        )

    def content(self, *, require_committed: bool = False, **query: Unpack[PromptQuery]) -> PromptContent:
        """Return the content that runs: the version of the label or `commit_hash`, else the newest one, else the draft.

        Without `productive`, a label and `commit_hash` it is the draft.

        `NotFound` for a prompt, version or label that is not there, and, with `require_committed`, for a productive use
        of a prompt that was never committed.
        """
        view = self.get(**query)
        if require_committed and query["productive"] and view.content.commit_hash is None:
            raise NotFound("The prompt has no committed version: commit it, or send productive: false.")
        return view.content

    def get(
        self,
        *,
        project_id: int,
        prompt_id: int,
        productive: bool,
        commit_hash: str | None = None,
        by_label: ByLabel | None = None,
        epoch: bytes = b"",
    ) -> PromptView:
        """Return the prompt with the content that runs, or with its draft.

        `epoch` is the project's, read after the request arrived: while it lasts, heads and versions that this process
        remembers are current. Without it they are read from the database. A change whose process died between its
        commit and the end of the epoch shows within `REMEMBERED_S`; it was acknowledged to nobody.
        """
        committed = productive or commit_hash is not None or by_label is not None
        if committed and epoch and (view := self._remembered(project_id, prompt_id, commit_hash, by_label, epoch)):
            return view
        read_at = self._monotonic()
        with self._database.read() as connection:
            head, content = self._reader.read(
                connection,
                project_id=project_id,
                prompt_id=prompt_id,
                productive=productive,
                commit_hash=commit_hash,
                by_label=by_label,
            )
        if epoch and content.commit_hash is not None:
            known = _KnownHead(head, epoch, read_at + REMEMBERED_S)
            self._heads.put(prompt_id, known, weight=1000 + len(head.assertion_value) + 500 * len(head.labels))
        return PromptView(head, content)

    def render(self, *, selections: Mapping[str, str], **query: Unpack[PromptQuery]) -> RenderedPrompt:
        """Render the content; `selections` maps a placeholder's key to the name of one of its values."""
        content = self.content(**query)
        return RenderedPrompt(content, self._render(content, selections))

    def _remembered(
        self, project_id: int, prompt_id: int, commit_hash: str | None, by_label: ByLabel | None, epoch: bytes
    ) -> PromptView | None:
        known = self._heads.get(prompt_id)
        is_current = known is not None and known.epoch == epoch and self._monotonic() < known.until
        self._on_lookup(is_current)
        if known is None or not is_current or known.head.project_id != project_id:
            return None
        commit_hash = commit_hash_of(known.head.labels, by_label) if by_label else commit_hash
        content = self._reader.remembered(known.head, commit_hash)
        return PromptView(known.head, content) if content else None

    def list(
        self,
        *,
        project_id: int,
        search: str | None = None,
        before_id: int | None = None,
        limit: int | None = None,
        archived: bool = False,
        order: str = "-created",
    ) -> PromptPage:
        """List prompts, or the archived ones: at most `limit` that come after the prompt `before_id`.

        `order` is one of `list_prompts` in app/models/prompts.py; without it the newest come first.
        """
        with self._database.read() as connection:
            found = prompts.list_prompts(
                connection,
                project_id=project_id,
                search=search,
                before_id=before_id,
                limit=None if limit is None else limit + 1,
                archived=archived,
                order=order,
            )
        shown = found[:limit]
        return PromptPage(shown, limit=limit, next_before_id=shown[-1].id if len(shown) < len(found) else None)

    def _render(self, content: PromptContent, selections: Mapping[str, str]) -> Rendering:
        """Render the content; a version's renderings are cached, as only selections make them differ."""
        if content.commit_hash is None:
            return _rendered(content, selections)
        key = (content.commit_hash, tuple(selections.items()))
        rendered = self._renderings.get(key)
        if rendered is None:
            rendered = _rendered(content, selections)
            self._renderings.put(key, rendered, weight=_weight(rendered, selections))
        return rendered


def _rendered(content: PromptContent, selections: Mapping[str, str]) -> Rendering:
    return render(content.value, content.instruction_format, content.placeholders, selections)


def _weight(rendered: Rendering, selections: Mapping[str, str]) -> int:
    """Return the approximate number of characters held, with 1,000 for the objects around them."""
    return 1000 + len(rendered.instruction) + 4 * sum(len(key) + len(name) for key, name in selections.items())
