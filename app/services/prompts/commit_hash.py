"""The hash that identifies a prompt's version, and through its parent the whole history before it."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson

from app.services.prompts.content import PromptContent, placeholders_json


def commit_hash(content: PromptContent, *, parent: str | None) -> str:
    """SHA-256, as 64 hex digits, of the canonical JSON (sorted keys, no spaces, UTF-8) of decisions.md §4."""
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
        # Only then: versions without one keep the hash that they have always had.
        canonical["fallbackModel"] = {"vendor": content.fallback.vendor, "name": content.fallback.name}
    return hashlib.sha256(orjson.dumps(canonical, option=orjson.OPT_SORT_KEYS)).hexdigest()


def content_hash(content: PromptContent) -> str:
    """What identifies the content alone, wherever in the history it stands: its commit hash without a parent."""
    return commit_hash(content, parent=None)
