"""Finds the values with which a prompt's text renders to a recorded instruction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from html import unescape

from reprise_formats.placeholders import PLACEHOLDER

from app.errors import Invalid
from app.rendering.render import InstructionFormat, Placeholder, to_xml
from app.values.budget import CHARACTERS_PER_STEP, UNLIMITED, WorkBudget

NamedValues = Mapping[str, Mapping[str, str]]
"""The names of values by their contents, by the key of their placeholder."""


class Template:
    """A prompt's text, which is read once for all the instructions that it is compared with.

    `keys` are those of its placeholders with values. Raises `OverBudget`: a character of XML is a step.
    """

    def __init__(
        self, text: str, instruction_format: InstructionFormat, keys: Collection[str], budget: WorkBudget = UNLIMITED
    ) -> None:
        self._budget, self._is_xml = budget, instruction_format == "XML"
        budget.spend(len(text) if self._is_xml else 1 + len(text) // CHARACTERS_PER_STEP)
        self._literals, self._keys = list[str](), list[str]()
        with suppress(Invalid):  # a text that can't be converted to XML renders to no instruction
            rendered = to_xml(text) if self._is_xml else text
            self._literals, self._keys = _split(_plain(rendered), keys)
        budget.spend(len(self._literals))
        self._least = sum(map(len, self._literals))

    def values(self, instruction: str) -> dict[str, str] | None:
        """Return the text that the instruction has in place of each of the keys; None if the text renders to another.

        White space around the whole is ignored. Each value ends where the text after its placeholder first follows.
        Raises `OverBudget`.
        """
        self._budget.read(instruction)
        plain, literals = _plain(instruction), self._literals
        if not literals or len(plain) < self._least:
            return None
        if not self._keys:
            return {} if plain == literals[0] else None
        if not (plain.startswith(literals[0]) and plain.endswith(literals[-1])):
            return None
        self._budget.spend(len(literals))
        values = _between(plain, literals, self._keys)
        if values is not None and self._is_xml:
            return {key: _unescaped(value) for key, value in values.items()}
        return values


def _unescaped(value: str) -> str:
    """Return a value with characters in place of references; unchanged if one has more digits than Python reads."""
    try:
        return unescape(value)
    except ValueError:
        return value


def names_by_content(placeholders: Iterable[Placeholder]) -> NamedValues:
    """Return the names of the values of placeholders; of values with the same content, that of the first."""
    return {
        placeholder.key: {value.content: value.name for value in reversed(placeholder.values)}
        for placeholder in placeholders
    }


def names_of(values: Mapping[str, str], named: NamedValues) -> dict[str, str]:
    """Return the names of values by the keys of their placeholders; a value that has no name is left out."""
    return {key: named[key][content] for key, content in values.items() if content in named.get(key, {})}


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


def _split(text: str, keys: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the literal texts around the placeholders with `keys`, and the keys of these placeholders.

    A placeholder with another key is a part of the literal text around it.
    """
    pieces = PLACEHOLDER.split(text)
    literals, literal, named = list[str](), [pieces[0]], list[str]()
    for key, after in zip(pieces[1::2], pieces[2::2], strict=True):
        if key in keys:
            named.append(key)
            literals.append("".join(literal))
            literal = [after]
        else:
            literal += (f"{{{{{key}}}}}", after)
    literals.append("".join(literal))
    return literals, named


def _between(instruction: str, literals: list[str], keys: list[str]) -> dict[str, str] | None:
    """Return the values that are between the literals; None if these do not follow each other, or a value differs."""
    last = len(instruction) - len(literals[-1])
    at = len(literals[0])
    values: dict[str, str] = {}
    for key, literal in zip(keys, [*literals[1:-1], None], strict=True):
        end = last if literal is None else instruction.find(literal, at, last)
        if end < 0 or values.setdefault(key, instruction[at:end]) != instruction[at:end]:
            return None
        at = end + len(literal or "")
    return values
