"""A prompt's Markdown as well-formed XML: headings become elements, blank lines and `---` go."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from app.errors import Invalid
from app.meter import Meter, TooMuch
from app.rendering.blocks import Line, link_labels, scan
from app.rendering.names import element_name

_ROOT = "instructions"
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")  # XML 1.0, production 2
_MARKUP = re.compile(r"[\\`*_\[<&]")
# Inline parsing takes time quadratic in a title's brackets. What is beyond this is taken as it stands, in which
# markup, but for addresses, is separators anyway.
_LONGEST_PARSED_TITLE = 300
_MARKS_IN_A_TITLE = 40
_MARKS_IN_ALL = 5_000
# About half a second. A prompt of 500,000 characters in ordinary lines has a tenth of it.
STEPS_MAX = 200_000

_MARKDOWN = MarkdownIt("commonmark")
_MARKDOWN.parseInline("")  # its lists of rules are made at first use, by no more than one thread


def to_xml(text: str) -> str:
    """Convert a text, placeholders filled in, to `<instructions>…</instructions>`.

    The result is well-formed for any text; a character that XML 1.0 forbids becomes U+FFFD. Takes time
    linear in the text; raises `Invalid` for one of more lines and blocks than `STEPS_MAX`.
    """
    # Only LF and CRLF end a line; a carriage return by itself is a character like any other.
    allowed = _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text).replace("\r\n", "\n").removesuffix("\n")
    try:
        lines = scan(allowed, Meter(STEPS_MAX))
    except TooMuch:
        raise Invalid(f"value: XML takes at most {STEPS_MAX} lines, lists and quotes.") from None
    return "\n".join([f"<{_ROOT}>", *_elements(lines, _Titles(allowed)), f"</{_ROOT}>"])


class _Titles:
    """Strips the markup of the titles of one text, within a budget of marks."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._marks_left = _MARKS_IN_ALL

    @cached_property
    def _environment(self) -> dict[str, Any]:
        return {"references": {label: {"href": "", "title": ""} for label in link_labels(self._text)}}

    def without_markup(self, title: str) -> str:
        if len(title) > _LONGEST_PARSED_TITLE or not self._parsed(len(_MARKUP.findall(title))):
            return title
        tokens: list[Token] = []
        _MARKDOWN.inline.parse(title, _MARKDOWN, self._environment, tokens)
        return _plain_text(tokens)

    def _parsed(self, marks: int) -> bool:
        """Return whether a title of so many marks is parsed, and take them from the budget."""
        if not 0 < marks <= min(_MARKS_IN_A_TITLE, self._marks_left):
            return False
        self._marks_left -= marks
        return True


def _elements(lines: Iterable[Line], titles: _Titles) -> Iterator[str]:
    open_elements: list[tuple[int, str]] = []
    for line in lines:
        if line.level:
            yield from _close(open_elements, line.level)
            name = element_name(titles.without_markup(line.title))
            open_elements.append((line.level, name))
            yield f"<{name}>"
        elif line.fenced or line.text.strip(" \t") not in ("", "---"):
            yield escape(line.text, quote=False)
    yield from _close(open_elements, level=1)


def _close(open_elements: list[tuple[int, str]], level: int) -> Iterator[str]:
    """Close, innermost first, every open element of this level or a deeper one."""
    while open_elements and open_elements[-1][0] >= level:
        yield f"</{open_elements.pop()[1]}>"


def _plain_text(tokens: Iterable[Token]) -> str:
    """The text of inline tokens: a link's is its text, an image's its description, an HTML tag's is none."""
    return "".join(
        _plain_text(token.children or ()) if token.type == "image" else token.content
        for token in tokens
        if token.type != "html_inline"
    )
