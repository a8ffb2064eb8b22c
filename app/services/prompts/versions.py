"""Commits drafts to a prompt's history, reads its versions, and restores them into the draft."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from app.db import Database
from app.errors import Conflict
from app.models import audit_log, prompt_versions, prompts
from app.models.audit_log import SYSTEM, Action, Actor
from app.models.prompt_versions import VersionHead
from app.redis_store.epochs import Epochs
from app.services.prompts import drafts
from app.services.prompts.content import PromptContent
from app.services.prompts.reader import PromptReader
from app.services.prompts.service import PromptView
from app.timestamps import Now


@dataclass(frozen=True, slots=True)
class VersionView:
    head: VersionHead
    content: PromptContent


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionService:
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
        """Make the draft the newest version; `Conflict` when it equals the newest one."""

        def work(connection: Connection) -> str:
            prompt, draft = self.reader.read_draft(connection, project_id=project_id, prompt_id=prompt_id, lock=True)
            drafts.check_unchanged(prompt, if_match)
            newest = self.reader.newest(connection, prompt)
            if drafts.equals(draft, newest):
                raise Conflict("There is nothing to commit: the draft equals the newest version.")
            parent = newest.row.commit_hash if newest else None
            committed = drafts.add_version(
                connection, draft, parent=parent, message=message, actor=actor, now=self.now()
            )
            commit_hash = str(committed.commit_hash)
            self._note(connection, project_id, actor, Action.PROMPT_COMMITTED, draft.name, commit_hash)
            return commit_hash

        commit_hash = self.database.retrying(work)
        self.epochs.end(project_id)
        return self.get(project_id=project_id, prompt_id=prompt_id, commit_hash=commit_hash)

    def list(self, *, project_id: int, prompt_id: int) -> list[VersionHead]:
        """Return the versions, newest first."""
        with self.database.read() as connection:
            head = self.reader.head(connection, project_id=project_id, prompt_id=prompt_id)
            return prompt_versions.list_versions(connection, prompt_id=head.id)

    def get(self, *, project_id: int, prompt_id: int, commit_hash: str) -> VersionView:
        with self.database.read() as connection:
            head = self.reader.head(connection, project_id=project_id, prompt_id=prompt_id)
            version = self.reader.pinned(connection, head.id, commit_hash)
            return VersionView(version.row, self.reader.content_of(connection, head, version))

    def restore(
        self,
        *,
        project_id: int,
        prompt_id: int,
        commit_hash: str,
        if_match: Collection[str] | None = None,
        actor: Actor = SYSTEM,
    ) -> PromptView:
        """Make the version's content the draft's; the history stays unchanged."""

        def work(connection: Connection) -> PromptView:
            prompt, _ = self.reader.read_draft(connection, project_id=project_id, prompt_id=prompt_id, lock=True)
            drafts.check_unchanged(prompt, if_match)
            version = self.reader.pinned(connection, prompt_id, commit_hash)
            draft = replace(self.reader.content_of(connection, prompt, version), commit_hash=None)
            committed = drafts.equals(draft, self.reader.newest(connection, prompt))
            values = {**drafts.columns(draft), "committed": committed}
            prompts.change_draft(connection, prompt_id=prompt_id, values=values, now=self.now())
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
