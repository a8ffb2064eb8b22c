"""Reading prompts: one, all of a project, or rendered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.coalesce import Coalescer
from app.db import Database
from app.errors import NotFound
from app.metrics import Metrics, cache_lookups
from app.models import prompts
from app.models.prompts import PromptHead, PromptListing
from app.rendering.render import Rendered, render
from app.services import drafts
from app.services.caches import BoundedCache
from app.services.prompt_content import PromptContent
from app.services.prompt_reader import PromptReader

CACHED_CHARACTERS = 8_000_000


@dataclass(frozen=True, slots=True)
class PromptView:
    """A prompt with the content that was asked for."""

    head: PromptHead
    content: PromptContent

    @property
    def etag(self) -> str | None:
        """The draft's, when the content is the draft."""
        return drafts.etag(self.head) if self.content.commit_hash is None else None


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    content: PromptContent
    rendered: Rendered


@dataclass(frozen=True, slots=True)
class PromptPage:
    """`next_before_id` asks for the next page; None on the last one."""

    prompts: list[PromptListing]
    limit: int | None
    next_before_id: int | None


class PromptService:
    def __init__(self, *, database: Database, reader: PromptReader, metrics: Metrics) -> None:
        self._database = database
        self._reader = reader
        self._heads: Coalescer[int, PromptHead | None] = Coalescer(self._find_heads)
        self._renderings: BoundedCache[Rendered] = BoundedCache(
            CACHED_CHARACTERS, on_lookup=cache_lookups(metrics, "renderings")
        )

    def content(
        self,
        *,
        project_id: int,
        prompt_id: int,
        productive: bool,
        commit_hash: str | None = None,
        require_committed: bool = False,
    ) -> PromptContent:
        """What runs: the version of `commit_hash`, else the newest one, else (or when not productive) the draft.

        `NotFound` for a prompt or version that is not there, and, with `require_committed`, for a productive use
        of a prompt that was never committed.
        """
        view = self.get(project_id=project_id, prompt_id=prompt_id, productive=productive, commit_hash=commit_hash)
        if require_committed and productive and view.content.commit_hash is None:
            raise NotFound("The prompt has no committed version: commit it, or send productive: false.")
        return view.content

    def get(self, *, project_id: int, prompt_id: int, productive: bool, commit_hash: str | None = None) -> PromptView:
        if (productive or commit_hash) and (view := self._remembered(project_id, prompt_id, commit_hash)):
            return view
        with self._database.read() as connection:
            head, content = self._reader.read(
                connection,
                project_id=project_id,
                prompt_id=prompt_id,
                productive=productive,
                commit_hash=commit_hash,
            )
        return PromptView(head, content)

    def render(
        self,
        *,
        project_id: int,
        prompt_id: int,
        selections: Mapping[str, str],
        productive: bool,
        commit_hash: str | None = None,
    ) -> RenderedPrompt:
        """`selections` maps a placeholder's key to the name of one of its values."""
        content = self.content(
            project_id=project_id, prompt_id=prompt_id, productive=productive, commit_hash=commit_hash
        )
        return RenderedPrompt(content, self._render(content, selections))

    def _remembered(self, project_id: int, prompt_id: int, commit_hash: str | None) -> PromptView | None:
        """The prompt's head is asked for every time, so that a commit is seen at once; a version never changes."""
        head = self._heads(prompt_id)
        content = self._reader.remembered(head, commit_hash) if head and head.project_id == project_id else None
        return PromptView(head, content) if head and content else None

    def _find_heads(self, prompt_ids: Sequence[int]) -> list[PromptHead | None]:
        with self._database.read() as connection:
            found = prompts.find_heads(connection, prompt_ids=set(prompt_ids))
        return [found.get(prompt_id) for prompt_id in prompt_ids]

    def list(
        self, *, project_id: int, search: str | None = None, before_id: int | None = None, limit: int | None = None
    ) -> PromptPage:
        """Newest first: at most `limit` of those created before the prompt `before_id`."""
        with self._database.read() as connection:
            found = prompts.list_prompts(
                connection,
                project_id=project_id,
                search=search,
                before_id=before_id,
                limit=None if limit is None else limit + 1,
            )
        shown = found[:limit]
        return PromptPage(shown, limit=limit, next_before_id=shown[-1].id if len(shown) < len(found) else None)

    def _render(self, content: PromptContent, selections: Mapping[str, str]) -> Rendered:
        """A version's renderings are kept: its hash covers all that they are made of but the selections."""
        if content.commit_hash is None:
            return _rendered(content, selections)
        key = (content.commit_hash, tuple(selections.items()))
        rendered = self._renderings.get(key)
        if rendered is None:
            rendered = _rendered(content, selections)
            self._renderings.put(key, rendered, weight=_weight(rendered, selections))
        return rendered


def _rendered(content: PromptContent, selections: Mapping[str, str]) -> Rendered:
    return render(content.value, content.instruction_format, content.placeholders, selections)


def _weight(rendered: Rendered, selections: Mapping[str, str]) -> int:
    """About the characters held, with 1,000 for the objects around them."""
    return 1000 + len(rendered.instruction) + 4 * sum(len(key) + len(name) for key, name in selections.items())
