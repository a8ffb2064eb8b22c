"""Placeholders: `{{key}}` in a prompt's text, and the values that replace it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

PLACEHOLDER = re.compile(r"\{\{([A-Za-z0-9_]{1,64})\}\}")


class NamedText(Protocol):
    """A named text that can replace a placeholder; at most one of a placeholder is its default."""

    @property
    def name(self) -> str: ...
    @property
    def content(self) -> str: ...
    @property
    def is_default(self) -> bool: ...


_Value = TypeVar("_Value", bound=NamedText)


class Definition(Protocol):
    """A key that a text may hold, with the values that a caller chooses from by name."""

    @property
    def key(self) -> str: ...
    @property
    def values(self) -> Sequence[NamedText]: ...


@dataclass(frozen=True, slots=True)
class Rendering:
    """An instruction, and what became of the caller's selections.

    `resolved` maps each key that is both in the text and defined to the name of the value used, None if it has none,
    in order of first appearance. `ignored` are the keys sent that were not applied, in the order sent.
    `undefined` are the keys in the text that nothing defines.
    """

    instruction: str
    resolved: dict[str, str | None]
    ignored: list[str]
    undefined: list[str]


def keys_in(text: str) -> list[str]:
    """Return the keys of a text in order of first appearance, each once."""
    return list(dict.fromkeys(PLACEHOLDER.findall(text)))


def choose(values: Iterable[_Value], name: str | None) -> _Value | None:
    """Return the value of that name, else the default, else None."""
    default = None
    for value in values:
        if value.name == name:
            return value
        if value.is_default and default is None:
            default = value
    return default


def fill(text: str, definitions: Iterable[Definition], selections: Mapping[str, str]) -> Rendering:
    """Put the selected values, else the defaults, in place of `{{key}}`; a value's own braces stay literal.

    `selections` maps a key to the name of a value. A key that nothing defines is not changed.
    """
    defined = {definition.key: definition for definition in definitions}
    keys = keys_in(text)
    chosen = {key: choose(defined[key].values, selections.get(key)) for key in keys if key in defined}
    contents = {key: value.content if value else "" for key, value in chosen.items()}
    resolved = {key: value.name if value else None for key, value in chosen.items()}
    return Rendering(
        instruction=PLACEHOLDER.sub(lambda match: contents.get(match[1], match[0]), text),
        resolved=resolved,
        ignored=[key for key, name in selections.items() if key not in resolved or resolved[key] != name],
        undefined=[key for key in keys if key not in defined],
    )
