"""Writes a prompt's content: into its draft, and from there into its history.

Callers hold the prompt's row locked, so that of two changes at once one comes after the other.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from app.errors import StaleDraft
from app.models import prompt_versions, prompts
from app.models.audit_log import Actor
from app.models.prompts import PromptHead
from app.services.prompts.commit_hash import commit_hash, content_hash
from app.services.prompts.content import PromptContent, Version, placeholders_json


def etag(head: PromptHead) -> str:
    """Return the draft's ETag without its quotes: the number of its changes."""
    return str(head.revision)


def check_unchanged(head: PromptHead, if_match: Collection[str] | None) -> None:
    """Raise `StaleDraft` if the caller read another draft; None skips the check, and "*" matches any draft."""
    if if_match is not None and "*" not in if_match and etag(head) not in if_match:
        raise StaleDraft("The draft has changed since you read it: read it again and repeat the change.")


def columns(content: PromptContent) -> dict[str, Any]:
    """Return the values of the columns that drafts and versions have in common."""
    return {
        "value": content.value,
        "language_model_id": content.model.id,
        "fallback_model_id": content.fallback.id if content.fallback else None,
        "config": content.config,
        "placeholders": placeholders_json(content.placeholders),
    }


def equals(content: PromptContent, version: Version | None) -> bool:
    """Tell if the content is the version's, so that there is nothing to commit."""
    return version is not None and commit_hash(content, parent=version.row.parent_hash) == version.row.commit_hash


def add_version(
    connection: Connection, content: PromptContent, *, parent: str | None, message: str, actor: Actor, now: datetime
) -> PromptContent:
    """Write the content as the prompt's newest version, whose author is a user; return it with its hash."""
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
    version_id = prompt_versions.add_version(connection, values=values, now=now)
    prompts.note_commit(connection, prompt_id=content.prompt_id, version_id=version_id, now=now)
    return committed
