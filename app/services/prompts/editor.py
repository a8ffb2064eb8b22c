"""Creates, changes and archives prompts, commits their drafts as versions, and restores versions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from app.concurrency import computing
from app.database.transactions import Database, retried
from app.errors import Conflict, Invalid, NotFound
from app.models import audit_log, prompt_versions, prompts
from app.models.audit_log import SYSTEM, Action, Actor
from app.models.prompt_versions import VersionHead
from app.models.prompts import PromptHead
from app.models.webhook_deliveries import add_event
from app.models.webhooks import WebhookEvent
from app.redis_store.epochs import Epochs
from app.rendering.render import render
from app.services.language_models.service import ModelService
from app.services.prompts import drafts
from app.services.prompts.content import PromptContent
from app.services.prompts.drafts import DraftChange, NewPrompt, checked
from app.services.prompts.reader import PromptReader
from app.services.prompts.service import PromptView, RenderedVersion
from app.services.prompts.splits import labels_by_hash
from app.timestamps import Now

# Of a prompt. The list of versions is not paged.
VERSIONS_MAX = 10_000
_ASSERTION = ("assertion_type", "assertion_value")


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptEditor:
    """Creates, changes and archives prompts by their drafts."""

    database: Database
    now: Now
    models: ModelService
    reader: PromptReader
    epochs: Epochs

    @retried
    def create(self, *, project_id: int, organization_id: int, new: NewPrompt, actor: Actor = SYSTEM) -> PromptContent:
        """Create a prompt and, unless it remains a draft, its first version, in one transaction."""
        with self.database.read() as connection:
            model = self.models.named(connection, organization_id=organization_id, name=new.model_name)
            fallback = drafts.named_fallback(connection, self.models, organization_id, new.fallback_name)
        content = checked(
            PromptContent(
                prompt_id=0,
                name=new.name,
                commit_hash=None,
                value=new.value,
                instruction_format=new.instruction_format,
                model=model,
                config=new.config,
                placeholders=new.placeholders,
                fallback=fallback,
            )
        )
        now = self.now()
        with self.database.write() as connection:
            created = drafts.add_prompt(connection, project_id, content, actor=actor, now=now)
            if not new.commit:
                return created
            message = "Initial commit"
            first = drafts.add_version(connection, created, parent=None, message=message, actor=actor, now=now)
            _add_event(connection, project_id, first, message, actor, now)
            return first

    def change(
        self,
        *,
        project_id: int,
        prompt_id: int,
        change: DraftChange,
        if_match: Collection[str] | None = None,
        actor: Actor = SYSTEM,
    ) -> PromptView:
        """Change the draft; raises `StaleDraft` if none of the ETags in `if_match` is the draft's."""

        def work(connection: Connection) -> PromptView:
            prompt, old = self.reader.read_draft(connection, project_id=project_id, prompt_id=prompt_id, lock=True)
            drafts.check_unchanged(prompt, if_match)
            new, now = drafts.changed(connection, self.models, prompt.organization_id, old, change), self.now()
            values = {
                **drafts.columns(new),
                **drafts.given(change, *_ASSERTION),
                "name": new.name,
                "committed": drafts.equals(new, self.reader.newest(connection, prompt)),
            }
            prompts.change_draft(connection, prompt_id=prompt_id, values=values, changed_by=actor.name, now=now)
            if changed := _differences(prompt, old, new, change):
                action, details = Action.PROMPT_CHANGED, {"changed": ", ".join(changed)}
                audit_log.note(connection, now, actor, action, new.name, project_id=project_id, details=details)
            return PromptView(self.reader.head(connection, project_id=project_id, prompt_id=prompt_id), new)

        view = self.database.retrying(work)
        self.epochs.end(project_id)
        return view

    def preview(
        self, *, project_id: int, prompt_id: int, change: DraftChange, selections: Mapping[str, str]
    ) -> RenderedVersion:
        """Return the draft with the change, and its rendering; nothing is stored."""
        with self.database.read() as connection:
            prompt, old = self.reader.read_draft(connection, project_id=project_id, prompt_id=prompt_id)
            new = drafts.changed(connection, self.models, prompt.organization_id, old, change)
        computing.await_place(new.filled_length)
        return RenderedVersion(new, render(new.value, new.instruction_format, new.placeholders, selections))

    @retried
    def archive(self, *, project_id: int, prompt_id: int, actor: Actor = SYSTEM) -> None:
        """Archive the prompt: it can't be used any more, but it still accepts spans."""
        with self.database.write() as connection:
            head = self.reader.head(connection, project_id=project_id, prompt_id=prompt_id)
            if not prompts.archive_prompt(connection, project_id=project_id, prompt_id=prompt_id, now=self.now()):
                raise NotFound(prompts.NO_PROMPT)
            audit_log.note(connection, self.now(), actor, Action.PROMPT_ARCHIVED, head.name, project_id=project_id)
        self.epochs.end(project_id)

    @retried
    def unarchive(self, *, project_id: int, prompt_id: int, actor: Actor = SYSTEM) -> PromptView:
        """Make an archived prompt usable again; does nothing if it is not archived."""
        with self.database.write() as connection:
            changed = prompts.unarchive_prompt(connection, project_id=project_id, prompt_id=prompt_id)
            prompt, draft = self.reader.read_draft(connection, project_id=project_id, prompt_id=prompt_id)
            if changed:
                action = Action.PROMPT_UNARCHIVED
                audit_log.note(connection, self.now(), actor, action, prompt.name, project_id=project_id)
        self.epochs.end(project_id)
        return PromptView(prompt, draft)


def _differences(head: PromptHead, old: PromptContent, new: PromptContent, change: DraftChange) -> list[str]:
    """Return the names, as the editor shows them, of the parts that the change modifies."""
    before, after = _parts(old), _parts(new)
    checks = any(getattr(head, name) != value for name, value in drafts.given(change, *_ASSERTION).items())
    return [name for name in before if before[name] != after[name]] + ["checks"] * checks


def _parts(content: PromptContent) -> dict[str, Any]:
    return {
        "name": content.name,
        "text": content.value,
        "model": content.model.id,
        "fallback model": content.fallback and content.fallback.id,
        "parameters": content.config,
        "placeholders": content.placeholders,
    }


@dataclass(frozen=True, slots=True)
class ListedVersion:
    """A version with the names of the labels that point to it."""

    head: VersionHead
    labels: list[str]


@dataclass(frozen=True, slots=True)
class VersionView(ListedVersion):
    """A version with its labels and its content."""

    content: PromptContent


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionService:
    """Commits drafts as versions, and reads and restores versions."""

    database: Database
    now: Now
    reader: PromptReader
    epochs: Epochs

    def commit(
        self,
        *,
        project_id: int,
        prompt_id: int,
        message: str = "",
        if_match: Collection[str] | None = None,
        actor: Actor = SYSTEM,
    ) -> VersionView:
        """Make the draft the newest version; raises `Conflict` if it equals the newest version."""

        def work(connection: Connection) -> str:
            prompt, draft = self.reader.read_draft(connection, project_id=project_id, prompt_id=prompt_id, lock=True)
            drafts.check_unchanged(prompt, if_match)
            newest = self.reader.newest(connection, prompt)
            if drafts.equals(draft, newest):
                raise Conflict("There is nothing to commit: the draft equals the newest version.")
            if prompt_versions.count_versions(connection, prompt_id=prompt_id) >= VERSIONS_MAX:
                raise Invalid(f"A prompt may have {VERSIONS_MAX:,} versions; go on with a new prompt.")
            parent = newest.row.commit_hash if newest else None
            now = self.now()
            committed = drafts.add_version(connection, draft, parent=parent, message=message, actor=actor, now=now)
            _add_event(connection, project_id, committed, message, actor, now)
            commit_hash = str(committed.commit_hash)
            self._note(connection, project_id, actor, Action.PROMPT_COMMITTED, draft.name, commit_hash)
            return commit_hash

        commit_hash = self.database.retrying(work)
        self.epochs.end(project_id)
        return self._read(project_id=project_id, prompt_id=prompt_id, commit_hash=commit_hash)

    def list(self, *, project_id: int, prompt_id: int, limit: int | None = None) -> list[ListedVersion]:
        """Return the versions, newest first, at most `limit`."""
        with self.database.read() as connection:
            head = self.reader.head(connection, project_id=project_id, prompt_id=prompt_id)
            versions = prompt_versions.list_versions(connection, prompt_id=head.id, limit=limit)
        names = labels_by_hash(head.labels)
        return [ListedVersion(version, names.get(version.commit_hash, [])) for version in versions]

    def messages(self, *, prompt_id: int, hashes: Collection[str]) -> dict[str, str]:
        """Return the messages of the prompt's versions with these commit hashes; other hashes are left out."""
        if not hashes:
            return {}
        with self.database.read() as connection:
            return prompt_versions.messages_by_hash(connection, prompt_id=prompt_id, hashes=hashes)

    def get(self, *, project_id: int, prompt_id: int, commit_hash: str) -> VersionView:
        view = self._read(project_id=project_id, prompt_id=prompt_id, commit_hash=commit_hash)
        computing.await_place(view.content.filled_length)
        return view

    def _read(self, *, project_id: int, prompt_id: int, commit_hash: str) -> VersionView:
        with self.database.read() as connection:
            head = self.reader.head(connection, project_id=project_id, prompt_id=prompt_id)
            version = self.reader.pinned(connection, head, commit_hash)
            content = self.reader.content_of(connection, head, version)
        return VersionView(version.row, labels_by_hash(head.labels).get(commit_hash, []), content)

    def restore(
        self,
        *,
        project_id: int,
        prompt_id: int,
        commit_hash: str,
        if_match: Collection[str] | None = None,
        actor: Actor = SYSTEM,
    ) -> PromptView:
        """Replace the draft's content by the version's; the history does not change."""

        def work(connection: Connection) -> PromptView:
            prompt, _ = self.reader.read_draft(connection, project_id=project_id, prompt_id=prompt_id, lock=True)
            drafts.check_unchanged(prompt, if_match)
            version = self.reader.pinned(connection, prompt, commit_hash)
            draft = replace(self.reader.content_of(connection, prompt, version), commit_hash=None)
            committed = drafts.equals(draft, self.reader.newest(connection, prompt))
            values = {**drafts.columns(draft), "committed": committed}
            now = self.now()
            prompts.change_draft(connection, prompt_id=prompt_id, values=values, changed_by=actor.name, now=now)
            self._note(connection, project_id, actor, Action.PROMPT_RESTORED, draft.name, version.row.commit_hash)
            return PromptView(self.reader.head(connection, project_id=project_id, prompt_id=prompt_id), draft)

        view = self.database.retrying(work)
        self.epochs.end(project_id)
        return view

    def _note(
        self, connection: Connection, project_id: int, actor: Actor, action: Action, name: str, commit_hash: str
    ) -> None:
        now, version = self.now(), commit_hash[:8]
        audit_log.note(connection, now, actor, action, name, project_id=project_id, details={"version": version})


def _add_event(
    connection: Connection, project_id: int, version: PromptContent, message: str, actor: Actor, now: datetime
) -> None:
    """Write the event of a commit for webhooks; its author is a person, or null for an API key."""
    author = actor.name if actor.kind == "user" else None
    data = {"projectId": project_id, "commitHash": version.commit_hash, "message": message, "author": author}
    add_event(connection, now, WebhookEvent.VERSION_COMMITTED, data, project_id=project_id, prompt_id=version.prompt_id)
