"""`{{key}}` in a prompt's text, and the one pass that fills it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

_SLOT = re.compile(r"\{\{([A-Za-z0-9_]{1,64})\}\}")


class PlaceholderValue(msgspec.Struct, frozen=True, rename="camel"):
    """One named text that can stand for a placeholder; at most one of a placeholder is its default."""

    name: str
    content: str
    is_default: bool = False


class Placeholder(msgspec.Struct, frozen=True):
    """A key that the prompt's text may hold, with the values a caller can choose from by name."""

    key: str
    values: tuple[PlaceholderValue, ...]
    description: str = ""

    def choose(self, name: str | None) -> PlaceholderValue | None:
        """The value of that name, else the default, else None."""
        named = (value for value in self.values if value.name == name)
        defaults = (value for value in self.values if value.is_default)
        return next(named, None) or next(defaults, None)


@dataclass(frozen=True, slots=True)
class Filled:
    """A text with its placeholders filled in, and what became of the caller's selections.

    `resolved` maps each key that is both in the text and defined to the name of the value used, None
    if it has none, in order of first appearance. `ignored` are the keys sent that were not applied,
    in the order sent. `undefined_keys` are those in the text that nothing defines.
    """

    text: str
    resolved: dict[str, str | None]
    ignored: list[str]
    undefined_keys: list[str]


def keys_in(text: str) -> list[str]:
    """The keys of a text in order of first appearance, each once."""
    return list(dict.fromkeys(_SLOT.findall(text)))


def filled_length(text: str, lengths: Mapping[str, int]) -> int:
    """At most how many characters a text has with values of these lengths, by key, filled in."""
    return len(text) + sum(lengths.get(key, 0) for key in _SLOT.findall(text))


def fill(text: str, definitions: Sequence[Placeholder], selections: Mapping[str, str]) -> Filled:
    """Put the selected values, else the defaults, in place of `{{key}}`; a value's own braces stay literal.

    `selections` maps a key to the name of a value. A key that nothing defines stays as it is.
    """
    defined = {placeholder.key: placeholder for placeholder in definitions}
    keys = keys_in(text)
    chosen = {key: defined[key].choose(selections.get(key)) for key in keys if key in defined}
    contents = {key: value.content if value else "" for key, value in chosen.items()}
    resolved = {key: value.name if value else None for key, value in chosen.items()}
    return Filled(
        text=_SLOT.sub(lambda slot: contents.get(slot[1], slot[0]), text),
        resolved=resolved,
        ignored=[key for key, name in selections.items() if key not in resolved or resolved[key] != name],
        undefined_keys=[key for key in keys if key not in defined],
    )
