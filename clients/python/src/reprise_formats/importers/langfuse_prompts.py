"""Langfuse's prompts: versions as `GET /api/public/v2/prompts/{name}?version=N` returns them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from reprise_formats.importers.datasets import content_text
from reprise_formats.importers.spans import Unreadable, object_in, required
from reprise_formats.placeholders import keys_in

# Langfuse's own label of the newest version.
_LATEST = "latest"
_VARIABLE = re.compile(r"\{\{[ \t]*([A-Za-z0-9_]{1,64})[ \t]*\}\}")
_PARAMETERS = ("temperature", "max_tokens", "top_p", "seed", "stop", "tools")


@dataclass(frozen=True)
class ImportedVersion:
    """A version of a prompt. `left_out` are the parts of it that a prompt of Reprise does not have."""

    name: str
    number: int
    text: str
    model: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    message: str = ""
    left_out: tuple[str, ...] = ()

    @property
    def placeholders(self) -> list[dict[str, Any]]:
        """The variables of the text, each with an empty value, which Langfuse does not keep."""
        values = [{"name": "default", "content": "", "isDefault": True}]
        return [{"key": key, "values": values} for key in keys_in(self.text)]

    def change(self, *, with_config: bool = True) -> dict[str, Any]:
        """Return the change of a draft that makes it this version."""
        change: dict[str, Any] = {"value": self.text, "placeholders": self.placeholders}
        if with_config:
            change |= {"languageModelConfig": dict(self.config)}
            change |= {"languageModelName": self.model} if self.model else {}
        return change


def convert(record: Mapping[str, Any]) -> ImportedVersion:
    """Return the version of a record. Raises `Unreadable`."""
    name, number = required(record, "name"), record.get("version")
    if isinstance(number, bool) or not isinstance(number, int):
        raise Unreadable("has no version")
    text, left_out = _text(record.get("prompt"))
    config = object_in(record.get("config"))
    labels = record.get("labels")
    return ImportedVersion(
        name,
        number,
        _VARIABLE.sub(r"{{\1}}", text),
        model if isinstance(model := config.get("model"), str) and model else None,
        {key: config[key] for key in _PARAMETERS if config.get(key) is not None},
        tuple(label for label in labels if isinstance(label, str) and label != _LATEST)
        if isinstance(labels, list)
        else (),
        str(record.get("commitMessage") or f"Version {number} of Langfuse")[:500],
        left_out,
    )


def _text(prompt: Any) -> tuple[str, tuple[str, ...]]:
    """Return the text of a prompt, of a chat the system's; and the messages that are left out."""
    if isinstance(prompt, str):
        return prompt, ()
    if not isinstance(prompt, list):
        raise Unreadable("has no prompt")
    messages = [object_in(message) for message in prompt]
    texts = [content_text(message.get("content")) for message in messages if _kind(message) == "system"]
    others = [f"a message of {_kind(message)}" for message in messages if _kind(message) != "system"]
    if not texts and len(messages) == 1:
        return content_text(messages[0].get("content")), ()
    if not texts:
        raise Unreadable("its chat has no message of the system")
    return "\n\n".join(texts), tuple(others)


def _kind(message: Mapping[str, Any]) -> str:
    return str(message.get("role") or message.get("type") or "no role")


def by_name(versions: Iterable[ImportedVersion]) -> dict[str, list[ImportedVersion]]:
    """Return the versions of each prompt, the oldest first, each number once."""
    prompts: dict[str, dict[int, ImportedVersion]] = {}
    for version in versions:
        prompts.setdefault(version.name, {})[version.number] = version
    return {name: [numbered[number] for number in sorted(numbered)] for name, numbered in prompts.items()}
