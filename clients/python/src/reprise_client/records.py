"""Prompts as the server answers them, checked so far that rendering them can't fail."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from reprise_formats.placeholders import Rendering
from reprise_formats.splits import position

from reprise_client.errors import ConfigurationError, UnreachableError
from reprise_client.remembered import Renderings
from reprise_client.rendering import render

ELEMENTS_MAX = 4_000_000
"""Commas and opening brackets of an answer: those of 60 MB would hold all threads for 4 s and need 1.4 GB."""
InstructionFormat = Literal["XML", "RAW"]
Fallback = str | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Record:
    """The JSON of a prompt, of which nothing can change what others see: `body` is parsed again for each of them."""

    body: str = field(repr=False)
    prompt_id: int
    name: str
    value: str = field(repr=False)
    instruction_format: InstructionFormat
    definitions: Sequence[Mapping[str, Any]] = field(repr=False)
    version: str | None
    _renderings: Renderings = field(default_factory=Renderings, repr=False, compare=False)

    @classmethod
    def parse(cls, body: str, prompt_id: int) -> Record:
        """Return the record of this prompt; ValueError for a text that is not one."""
        prompt = parse_object(body)
        if prompt.get("id") != prompt_id:
            raise ValueError("another prompt's id")
        value, version, kind = prompt.get("value"), prompt.get("commitHash"), prompt.get("instructionFormat")
        definitions = prompt.get("placeholderDefinitions", [])
        if not isinstance(value, str) or not isinstance(version, str | None) or kind not in ("XML", "RAW"):
            raise ValueError("no value, commitHash or instructionFormat")
        if not isinstance(definitions, list) or not all(map(_is_definition, definitions)):
            raise ValueError("placeholderDefinitions that can't be read")
        return cls(body, prompt_id, str(prompt.get("name", "")), value, kind, definitions, version)

    @classmethod
    def of_fallback(cls, fallback: Fallback, prompt_id: int) -> Record:
        """Return the record of a text, which is used unchanged, or of the JSON of a prompt."""
        raw = {"value": fallback, "instructionFormat": "RAW"} if isinstance(fallback, str) else dict(fallback)
        try:
            return cls.parse(json.dumps({"instructionFormat": "XML", **raw, "id": prompt_id}), prompt_id)
        except (ValueError, TypeError, RecursionError) as problem:
            raise ConfigurationError(f"fallback: neither a text nor the JSON of a prompt ({problem}).") from None

    def json(self) -> dict[str, Any]:
        return parse_object(self.body)

    def render(self, selections: Mapping[str, str]) -> Rendering:
        """Return the rendering, remembered, as a version gives the same each time; callers must not change it."""
        key = tuple(selections.items())
        rendering = self._renderings.get(key)
        if rendering is None:
            rendering = render(self.value, self.instruction_format, self.definitions, selections)
            self._renderings.put(key, rendering)
        return rendering


@dataclass(frozen=True, slots=True)
class PromptVersions:
    """The version that callers get, or the two versions of a label with a split.

    Keys with a position below `share`, from 0 to 1, get the version `split`, and the others get `record`. `etag` is the
    ETag of the answer that `record` comes from, "" without one.
    """

    record: Record
    etag: str = ""
    split: Record | None = None
    share: float = 0.0

    def record_for(self, label: str | None, split_key: str | None) -> Record:
        if self.split is None or not label or not split_key:
            return self.record
        return self.split if position(label, split_key) < self.share else self.record

    def with_hash(self, commit_hash: str) -> Record | None:
        matching = (record for record in (self.record, self.split) if record and record.version == commit_hash)
        return next(matching, None)


def parse_object(text: str | bytes) -> dict[str, Any]:
    """Return a JSON object; ValueError for other texts, however deep they nest, and for too many elements."""
    content = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    if sum(map(content.count, (b",", b"[", b"{"))) > ELEMENTS_MAX:
        raise ValueError("too many elements")
    try:
        parsed = json.loads(text)
    except RecursionError:
        raise ValueError("too deep") from None
    if not isinstance(parsed, dict):
        raise ValueError("no object")
    return parsed


def parse_answer(body: bytes, url: str) -> dict[str, Any]:
    """Return the JSON object of an answer; `UnreachableError` for what another server answers."""
    try:
        return parse_object(body)
    except ValueError:
        raise foreign(url) from None


def foreign(url: str) -> UnreachableError:
    return UnreachableError(f"{url} did not answer as Reprise does: is it the base URL of an instance?")


def _is_definition(item: Any) -> bool:
    if not isinstance(item, dict) or not isinstance(item.get("key"), str):
        return False
    values = item.get("values")
    return isinstance(values, list) and all(map(_is_value, values))


def _is_value(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("name"), str) and isinstance(item.get("content"), str)
