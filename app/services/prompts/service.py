"""Reads and renders prompts: one, or the list of a project; heads and renderings are cached."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Required, TypedDict, Unpack

from reprise_formats.placeholders import Rendering

from app.concurrency import computing
from app.concurrency.caches import BoundedCache
from app.database.transactions import Database
from app.errors import NotFound
from app.metrics import Metrics, cache_lookups
from app.models import prompts
from app.models.prompts import PromptHead, PromptListing
from app.redis_store.epochs import REMEMBERED_S
from app.rendering.render import render
from app.services.prompts import drafts
from app.services.prompts.content import PromptContent
from app.services.prompts.reader import CACHED_CHARACTERS, PromptReader
from app.services.prompts.splits import ByLabel, commit_hash_of


@dataclass(frozen=True, slots=True)
class PromptView:
    """A prompt with the content that was requested."""

    head: PromptHead
    content: PromptContent
    source: VersionSource | None = field(default=None, compare=False)

    @property
    def etag(self) -> str | None:
        """The draft's ETag; None if the content is a version's."""
        return drafts.etag(self.head) if self.content.commit_hash is None else None


@dataclass(frozen=True, slots=True)
class _KnownHead:
    """A cached head, read after its epoch; `until` is monotonic."""

    head: PromptHead
    epoch: bytes
    until: float


@dataclass(frozen=True, slots=True, eq=False)
class VersionSource:
    """The cached head and content from which a version was read.

    A caller that keeps what it makes of the version asks `is_current` before it uses that again.
    """

    known: _KnownHead
    content: PromptContent
    reader: PromptReader
    monotonic: Callable[[], float]

    @property
    def project_id(self) -> int:
        return self.known.head.project_id

    def is_current(self, epoch: bytes) -> bool:
        """Return whether `PromptService.get` would return the same version without reading the database.

        `epoch` is the project's epoch, read after the request arrived.
        """
        known = self.known
        return (
            known.epoch == epoch and self.monotonic() < known.until and self.reader.has_models(known.head, self.content)
        )


@dataclass(frozen=True, slots=True)
class RenderedVersion:
    """The content of a draft or version, and the instruction that it renders to."""

    content: PromptContent
    rendered: Rendering
    source: VersionSource | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class PromptListPage:
    """A page of a list; `next_before_id` requests the next page, None on the last one."""

    prompts: list[PromptListing]
    limit: int | None
    next_before_id: int | None


class PromptQuery(TypedDict, total=False):
    """The requested prompt and version: the arguments of `PromptService.get`."""

    project_id: Required[int]
    prompt_id: Required[int]
    productive: Required[bool]
    commit_hash: str | None
    by_label: ByLabel | None
    epoch: bytes


class PromptService:
    """Reads and renders prompts. Heads and renderings are cached, each for up to `CACHED_CHARACTERS` of text."""

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

        Without `productive`, a label or `commit_hash` it is the draft. Raises `NotFound` for a missing prompt, version
        or label. With `require_committed` it also raises `NotFound` for productive use of a prompt that was never
        committed.
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

        `epoch` is the project's epoch, read after the request arrived: cached heads and versions are current until it
        ends. Without an epoch the database is read. A process may die between the commit of a change and the end of the
        epoch; that change was never acknowledged, and becomes visible within `REMEMBERED_S`.
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
        if not epoch or content.commit_hash is None:
            return PromptView(head, content)
        known = _KnownHead(head, epoch, read_at + REMEMBERED_S)
        self._heads.put(prompt_id, known, weight=_weight_of(head))
        return self._view(known, content)

    def render(self, *, selections: Mapping[str, str], **query: Unpack[PromptQuery]) -> RenderedVersion:
        """Render the content; `selections` maps a placeholder's key to the name of one of its values."""
        view = self.get(**query)
        computing.await_place(view.content.filled_length)
        return RenderedVersion(view.content, self._render(view.content, selections), view.source)

    def _view(self, known: _KnownHead, content: PromptContent) -> PromptView:
        return PromptView(known.head, content, VersionSource(known, content, self._reader, self._monotonic))

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
        return self._view(known, content) if content else None

    def list(
        self,
        *,
        project_id: int,
        search: str | None = None,
        before_id: int | None = None,
        limit: int | None = None,
        archived: bool = False,
        order: str = "-created",
    ) -> PromptListPage:
        """List prompts, or archived ones: at most `limit` that come after the prompt `before_id`.

        `order` is one of `list_prompts` in app/models/prompts.py, by default the newest first.
        """
        with self._database.read() as connection:
            rows = prompts.list_prompts(
                connection,
                project_id=project_id,
                search=search,
                before_id=before_id,
                limit=None if limit is None else limit + 1,
                archived=archived,
                order=order,
            )
        shown = rows[:limit]
        return PromptListPage(shown, limit=limit, next_before_id=shown[-1].id if len(shown) < len(rows) else None)

    def _render(self, content: PromptContent, selections: Mapping[str, str]) -> Rendering:
        """Render the content; renderings of versions are cached by their selections."""
        if content.commit_hash is None:
            return _rendered(content, selections)
        key = (content.commit_hash, tuple(selections.items()))
        rendered = self._renderings.get(key)
        if rendered is None:
            rendered = _rendered(content, selections)
            self._renderings.put(key, rendered, weight=_weight(rendered, selections))
        return rendered


def _weight_of(head: PromptHead) -> int:
    """Return about how many bytes a head has in memory."""
    case_ids = sum(label.case_count for label in head.labels.values())
    return 1000 + len(head.assertion_value) + 500 * len(head.labels) + 40 * case_ids


def _rendered(content: PromptContent, selections: Mapping[str, str]) -> Rendering:
    return render(content.value, content.instruction_format, content.placeholders, selections)


def _weight(rendered: Rendering, selections: Mapping[str, str]) -> int:
    """Return the approximate number of characters in memory, plus 1,000 for the objects around them."""
    return 1000 + len(rendered.instruction) + 4 * sum(len(key) + len(name) for key, name in selections.items())
