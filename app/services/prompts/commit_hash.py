"""The hash that identifies a prompt's version, and through its parent the whole history before it."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson

from app.services.prompts.content import PromptContent, placeholders_json


def commit_hash(content: PromptContent, *, parent: str | None) -> str:
    """Return the SHA-256, as 64 hex digits, of the canonical JSON: sorted keys, no spaces, UTF-8.

    It covers the parent's hash and all content but the prompt's name and id; placeholders are sorted by key.
    """
    placeholders = sorted(content.placeholders, key=lambda placeholder: placeholder.key)
    canonical: dict[str, Any] = {
        "parent": parent,
        "value": content.value,
        "model": {"vendor": content.model.vendor, "name": content.model.name},
        "languageModelConfig": content.config,
        "instructionFormat": content.instruction_format,
        "placeholders": placeholders_json(tuple(placeholders)),
    }
    if content.fallback:
        # Versions without a fallback model keep the hash that they had before there were such models.
        canonical["fallbackModel"] = {"vendor": content.fallback.vendor, "name": content.fallback.name}
    return hashlib.sha256(orjson.dumps(canonical, option=orjson.OPT_SORT_KEYS)).hexdigest()


def content_hash(content: PromptContent) -> str:
    """Return the commit hash without a parent, which identifies the content wherever it stands in the history."""
    return commit_hash(content, parent=None)
