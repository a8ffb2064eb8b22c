"""The instruction that a model receives: a prompt's text, each `{{key}}` filled, its Markdown converted to XML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal

import msgspec
from markdown_it import MarkdownIt
from markdown_it.token import Token
from reprise_formats.placeholders import PLACEHOLDER, Rendering, choose, fill
from reprise_formats.xml import STEPS_MAX, TOO_MANY_STEPS, lines_of, xml_of

from app.errors import Invalid
from app.rendering.blocks import link_labels, scan
from app.values.budget import OverBudget, WorkBudget

InstructionFormat = Literal["XML", "RAW"]


class PlaceholderValue(msgspec.Struct, frozen=True, rename="camel"):
    """One named text for a placeholder; at most one of a placeholder is its default."""

    name: str
    content: str
    is_default: bool = False


class Placeholder(msgspec.Struct, frozen=True):
    """A key that the prompt's text may hold, with the values a caller can choose from by name."""

    key: str
    values: tuple[PlaceholderValue, ...]
    description: str = ""

    def choose(self, name: str | None) -> PlaceholderValue | None:
        """Return the value of that name, else the default, else None."""
        return choose(self.values, name)


def render(
    text: str,
    instruction_format: InstructionFormat,
    definitions: Sequence[Placeholder],
    selections: Mapping[str, str],
) -> Rendering:
    """Render a prompt's text; `selections` maps a placeholder's key to the name of one of its values."""
    filled = fill(text, definitions, selections)
    return replace(filled, instruction=to_xml(filled.instruction)) if instruction_format == "XML" else filled


def filled_length(text: str, lengths: Mapping[str, int]) -> int:
    """Return the most characters of a text filled with values of these lengths, by key."""
    return len(text) + sum(lengths.get(key, 0) for key in PLACEHOLDER.findall(text))


_MARKDOWN = MarkdownIt("commonmark")
_MARKDOWN.parseInline("")  # its lists of rules are made at first use, by no more than one thread


def to_xml(text: str) -> str:
    """Convert a text, placeholders filled in, to `<instructions>…</instructions>`.

    The result is well-formed for any text; a character that XML 1.0 forbids becomes U+FFFD. The time is linear in the
    text. Raises `Invalid` for a text of more lines and blocks than `STEPS_MAX`.
    """
    lines = lines_of(text)
    allowed = "\n".join(lines)
    try:
        kinds = scan(allowed, WorkBudget(STEPS_MAX))
    except OverBudget:
        raise Invalid(TOO_MANY_STEPS) from None
    return xml_of(lines, kinds, _Titles(allowed).without_markup)


class _Titles:
    """Strips the markup of the titles of one text, which may refer to the links that the text defines."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _environment(self) -> dict[str, Any]:
        return {"references": {label: {"href": "", "title": ""} for label in link_labels(self._text)}}

    def without_markup(self, title: str) -> str:
        tokens: list[Token] = []
        _MARKDOWN.inline.parse(title, _MARKDOWN, self._environment, tokens)
        return _plain_text(tokens)


def _plain_text(tokens: Iterable[Token]) -> str:
    """Return the text of inline tokens: a link's is its text, an image's its description, an HTML tag's is none."""
    return "".join(
        _plain_text(token.children or ()) if token.type == "image" else token.content
        for token in tokens
        if token.type != "html_inline"
    )
