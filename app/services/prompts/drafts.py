"""Creates and changes drafts: checks their content, and writes it to the draft and the history.

Callers lock the prompt's row, so that concurrent changes are applied one after the other.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection

from app.errors import Invalid, StaleDraft
from app.models import audit_log, prompt_versions, prompts
from app.models.audit_log import Action, Actor
from app.models.language_models import LanguageModel
from app.models.prompts import PromptHead
from app.models.queries import insert_row, update_rows
from app.rendering.render import InstructionFormat, Placeholder
from app.services.language_models.service import ModelService
from app.services.prompts.content import (
    PromptContent,
    Version,
    check_ranges,
    commit_hash,
    content_hash,
    placeholders_json,
    without_defaults,
)

AssertionType = Literal["STRICT", "AI", "MANUAL"]
# Characters of a prompt with filled placeholders. Without a limit 70,000 slots with a value of 1 MB would be 70 GB.
# A text of this length, as JSON or XML in UTF-8 with escapes, fits into a MEDIUMTEXT and a packet.
FILLED_MAX = 2_000_000


@dataclass(frozen=True, slots=True)
class NewPrompt:
    """A prompt to create; without `commit` it remains a draft. `config` has only the keys that were sent.

    `model_name` None means the organization's default model. `fallback_name` is called when that model fails.
    """

    name: str
    value: str
    model_name: str | None = None
    fallback_name: str | None = None
    config: dict[str, Any] = field(default_factory=dict)
    instruction_format: InstructionFormat = "XML"
    placeholders: tuple[Placeholder, ...] = ()
    commit: bool = True


@dataclass(frozen=True, slots=True)
class DraftChange:
    """New values of a draft; None keeps the old value, and a `fallback_name` of "" removes the fallback model.

    A config, or placeholders, replace the old ones completely.
    """

    name: str | None = None
    value: str | None = None
    model_name: str | None = None
    fallback_name: str | None = None
    config: dict[str, Any] | None = None
    placeholders: tuple[Placeholder, ...] | None = None
    assertion_type: AssertionType | None = None
    assertion_value: str | None = None


def changed(
    connection: Connection, models: ModelService, organization_id: int, old: PromptContent, change: DraftChange
) -> PromptContent:
    """Return the checked content after the change; raises `Invalid` for content that can't be stored."""
    new = replace(old, **given(change, "name", "value", "config", "placeholders"))
    if change.model_name is not None:
        model = models.named(connection, organization_id=organization_id, name=change.model_name)
        new = replace(new, model=model)
    if change.fallback_name is not None:
        new = replace(new, fallback=named_fallback(connection, models, organization_id, change.fallback_name))
    return checked(new)


def named_fallback(
    connection: Connection, models: ModelService, organization_id: int, name: str | None
) -> LanguageModel | None:
    """Return the fallback model of that name; None and "" mean none."""
    if not name:
        return None
    return models.named(connection, organization_id=organization_id, name=name, field="fallbackModelName")


def given(change: DraftChange, *names: str) -> dict[str, Any]:
    """Return the values of these names that are not None."""
    values = {name: getattr(change, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def checked(content: PromptContent) -> PromptContent:
    """Return the content for storage; raises `Invalid` if its model or the limits don't allow it."""
    check_ranges(content.config, content.model)
    if content.fallback:
        if content.fallback.id == content.model.id:
            raise Invalid("fallbackModelName: Must be another model than the prompt's own.")
        check_ranges(content.config, content.fallback)
    check_length(content.filled_length)
    return replace(content, config=without_defaults(content.config, content.model))


def check_length(length: int) -> None:
    """Raise `Invalid` if a text with values for its placeholders exceeds `FILLED_MAX` characters."""
    if length > FILLED_MAX:
        raise Invalid(f"placeholders: Filled in, the text can be {length} characters long; the limit is {FILLED_MAX}.")


def etag(head: PromptHead) -> str:
    """Return the draft's ETag without its quotes: the number of its changes."""
    return str(head.revision)


def check_unchanged(head: PromptHead, if_match: Collection[str] | None) -> None:
    """Raise `StaleDraft` if the caller read another draft; None skips the check, "*" matches any draft."""
    if if_match is not None and "*" not in if_match and etag(head) not in if_match:
        raise StaleDraft("The draft has changed since you read it: read it again and repeat the change.")


def columns(content: PromptContent) -> dict[str, Any]:
    """Return the values of the columns that drafts and versions share."""
    return {
        "value": content.value,
        "language_model_id": content.model.id,
        "fallback_model_id": content.fallback.id if content.fallback else None,
        "config": content.config,
        "placeholders": placeholders_json(content.placeholders),
    }


def equals(content: PromptContent, version: Version | None) -> bool:
    """Return whether the content equals the version, so that there is nothing to commit."""
    return version is not None and commit_hash(content, parent=version.row.parent_hash) == version.row.commit_hash


def add_prompt(
    connection: Connection, project_id: int, content: PromptContent, *, actor: Actor, now: datetime
) -> PromptContent:
    """Store a new prompt with its draft and an entry in the audit log; return the content with the prompt's id."""
    values = columns(content) | {
        "project_id": project_id,
        "name": content.name,
        "instruction_format": content.instruction_format,
        "assertion_value": "",
        "changed_by": actor.name,
    }
    prompt_id = insert_row(connection, prompts.prompts, created_at=now, updated_at=now, **values)
    audit_log.note(connection, now, actor, Action.PROMPT_CREATED, content.name, project_id=project_id)
    return replace(content, prompt_id=prompt_id)


def add_version(
    connection: Connection, content: PromptContent, *, parent: str | None, message: str, actor: Actor, now: datetime
) -> PromptContent:
    """Write the content as the prompt's newest version and return it with its hash; only users are authors."""
    is_user = actor.kind == "user"
    committed = replace(content, commit_hash=commit_hash(content, parent=parent))
    values = {
        **columns(content),
        "prompt_id": content.prompt_id,
        "commit_hash": committed.commit_hash,
        "parent_hash": parent,
        "content_hash": content_hash(content),
        "message": message,
        "author_id": actor.id if is_user else None,
        "author_name": actor.name if is_user else None,
    }
    version_id = insert_row(connection, prompt_versions.prompt_versions, created_at=now, **values)
    # The draft now equals the version; its revision does not change.
    newest = {"newest_version_id": version_id, "committed": True, "updated_at": now}
    update_rows(connection, prompts.prompts, {"id": content.prompt_id}, **newest)
    return committed
