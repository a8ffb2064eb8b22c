"""Finds the values with which a prompt's text renders to a recorded instruction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from html import unescape

from reprise_formats.placeholders import PLACEHOLDER

from app.errors import Invalid
from app.rendering.render import InstructionFormat, Placeholder, to_xml


def values_in(
    instruction: str, text: str, instruction_format: InstructionFormat, keys: Collection[str]
) -> dict[str, str] | None:
    """Return the text that the instruction has in place of each of the keys; None if the text renders to another one.

    White space around the whole is ignored. Each value ends where the text after its placeholder first follows.
    """
    try:
        rendered = to_xml(text) if instruction_format == "XML" else text
    except Invalid:
        return None
    values = _values(_plain(instruction), _plain(rendered), keys)
    if values is not None and instruction_format == "XML":
        return {key: unescape(value) for key, value in values.items()}
    return values


def names_of(values: Mapping[str, str], placeholders: Iterable[Placeholder]) -> dict[str, str]:
    """Return the names of values by the keys of their placeholders; a value that has no name is left out."""
    names: dict[str, str] = {}
    for placeholder in placeholders:
        content = values.get(placeholder.key)
        name = next((value.name for value in placeholder.values if value.content == content), None)
        if name is not None:
            names[placeholder.key] = name
    return names


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


def _values(instruction: str, text: str, keys: Collection[str]) -> dict[str, str] | None:
    """Return the values of `keys`; a placeholder with another key is a part of the literal text around it."""
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
    if not named:
        return {} if instruction == text else None
    return _between(instruction, literals, named)


def _between(instruction: str, literals: list[str], keys: list[str]) -> dict[str, str] | None:
    """Return the values that are between the literals; None if these do not follow each other, or a value differs."""
    last = len(instruction) - len(literals[-1])
    at = len(literals[0])
    if not instruction.startswith(literals[0]) or at > last or not instruction.endswith(literals[-1]):
        return None
    values: dict[str, str] = {}
    for key, literal in zip(keys, [*literals[1:-1], None], strict=True):
        end = last if literal is None else instruction.find(literal, at, last)
        if end < 0 or values.setdefault(key, instruction[at:end]) != instruction[at:end]:
            return None
        at = end + len(literal or "")
    return values
