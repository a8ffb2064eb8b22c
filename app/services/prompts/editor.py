"""Prompts created, changed in their draft, archived."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from app.db import Database
from app.errors import NotFound
from app.models import audit_log, prompts
from app.models.audit_log import SYSTEM, Action, Actor
from app.models.language_models import LanguageModel
from app.models.prompts import PromptHead
from app.redis_store.epochs import Epochs
from app.rendering.render import render
from app.services.language_models.service import ModelService
from app.services.prompts import drafts
from app.services.prompts.changes import Author, DraftChange, NewPrompt, checked
from app.services.prompts.content import PromptContent
from app.services.prompts.reader import PromptReader
from app.services.prompts.service import PromptView, RenderedPrompt
from app.timestamps import Now


class PromptEditor:
    def __init__(
        self, *, database: Database, now: Now, models: ModelService, reader: PromptReader, epochs: Epochs
    ) -> None:
        self._database = database
        self._now = now
        self._models = models
        self._reader = reader
        self._epochs = epochs

    def create(
        self,
        *,
        project_id: int,
        organization_id: int,
        new: NewPrompt,
        author: Author | None = None,
        actor: Actor = SYSTEM,
    ) -> PromptContent:
        """The prompt with its placeholders and, unless it is to stay a draft, its first version; or nothing at all."""
        with self._database.read() as connection:
            model = self._models.named(connection, organization_id=organization_id, name=new.model_name)
            fallback = self._fallback(connection, organization_id, new.fallback_name)
        content = checked(_content(new, model, fallback))
        now = self._now()
        values = {
            **drafts.columns(content),
            "project_id": project_id,
            "name": content.name,
            "instruction_format": content.instruction_format,
            "assertion_value": "",
        }
        with self._database.write() as connection:
            created = replace(content, prompt_id=prompts.add_prompt(connection, values=values, now=now))
            self._note(connection, project_id, actor, Action.PROMPT_CREATED, content.name)
            if not new.commit:
                return created
            return drafts.add_version(
                connection, created, parent=None, message="Initial commit", author=author, now=now
            )

    def change(
        self,
        *,
        project_id: int,
        prompt_id: int,
        change: DraftChange,
        if_match: Collection[str] | None = None,
        actor: Actor = SYSTEM,
    ) -> PromptView:
        """Edit the draft; `StaleDraft` when none of the ETags in `if_match` is the draft's."""

        def work(connection: Connection) -> PromptView:
            prompt, old = self._reader.read_draft(connection, project_id=project_id, prompt_id=prompt_id, lock=True)
            drafts.check_unchanged(prompt, if_match)
            new = checked(self._changed(connection, prompt.organization_id, old, change))
            values = {
                **drafts.columns(new),
                **_assertion(change),
                "name": new.name,
                "committed": drafts.equals(new, self._reader.newest(connection, prompt)),
            }
            prompts.change_draft(connection, prompt_id=prompt_id, values=values, now=self._now())
            if changed := _differences(prompt, old, new, change):
                self._note(connection, project_id, actor, Action.PROMPT_CHANGED, new.name, changed=", ".join(changed))
            return PromptView(self._reader.head(connection, project_id=project_id, prompt_id=prompt_id), new)

        view = self._database.retrying(work)
        self._epochs.end(project_id)
        return view

    def preview(
        self, *, project_id: int, prompt_id: int, change: DraftChange, selections: Mapping[str, str]
    ) -> RenderedPrompt:
        """The draft as it would be and render after the change, which is not made."""
        with self._database.read() as connection:
            prompt, old = self._reader.read_draft(connection, project_id=project_id, prompt_id=prompt_id)
            new = checked(self._changed(connection, prompt.organization_id, old, change))
        return RenderedPrompt(new, render(new.value, new.instruction_format, new.placeholders, selections))

    def archive(self, *, project_id: int, prompt_id: int, actor: Actor = SYSTEM) -> None:
        """The prompt is gone for all but the spans that still arrive for it."""
        with self._database.write() as connection:
            head = self._reader.head(connection, project_id=project_id, prompt_id=prompt_id)
            if not prompts.archive_prompt(connection, project_id=project_id, prompt_id=prompt_id, now=self._now()):
                raise NotFound("There is no such prompt.")
            self._note(connection, project_id, actor, Action.PROMPT_ARCHIVED, head.name)
        self._epochs.end(project_id)

    def _note(
        self, connection: Connection, project_id: int, actor: Actor, action: Action, name: str, **details: str
    ) -> None:
        audit_log.note(connection, self._now(), actor, action, name, project_id=project_id, details=details)

    def _changed(
        self, connection: Connection, organization_id: int, old: PromptContent, change: DraftChange
    ) -> PromptContent:
        asked = {name: getattr(change, name) for name in ("name", "value", "config", "placeholders")}
        new = replace(old, **{name: value for name, value in asked.items() if value is not None})
        if change.model_name is not None:
            model = self._models.named(connection, organization_id=organization_id, name=change.model_name)
            new = replace(new, model=model)
        if change.fallback_name is not None:
            new = replace(new, fallback=self._fallback(connection, organization_id, change.fallback_name))
        return new

    def _fallback(self, connection: Connection, organization_id: int, name: str | None) -> LanguageModel | None:
        """None for no name."""
        if not name:
            return None
        return self._models.named(connection, organization_id=organization_id, name=name, field="fallbackModelName")


def _content(new: NewPrompt, model: LanguageModel, fallback: LanguageModel | None) -> PromptContent:
    return PromptContent(
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


def _assertion(change: DraftChange) -> dict[str, Any]:
    asked = {name: getattr(change, name) for name in ("assertion_type", "assertion_value")}
    return {name: value for name, value in asked.items() if value is not None}


def _differences(head: PromptHead, old: PromptContent, new: PromptContent, change: DraftChange) -> list[str]:
    """What the change makes different, in the words of the editor."""
    before, after = _parts(old), _parts(new)
    checks = any(getattr(head, name) != value for name, value in _assertion(change).items())
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
