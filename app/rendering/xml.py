"""A prompt's Markdown as well-formed XML: headings become elements, blank lines and `---` go."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape

from markdown_it import MarkdownIt
from markdown_it.token import Token

from app.rendering.blocks import Line, scan
from app.rendering.names import element_name

_ROOT = "instructions"
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")  # XML 1.0, production 2
_MARKUP = re.compile(r"[\\`*_\[<&]")
# Inline parsing can take time quadratic in the title, whose markup, but for addresses, is separators anyway.
_LONGEST_PARSED_TITLE = 300

_MARKDOWN = MarkdownIt("commonmark")
_MARKDOWN.parseInline("")  # its lists of rules are made at first use, by no more than one thread


def to_xml(text: str) -> str:
    """Convert a text, placeholders filled in, to `<instructions>…</instructions>`.

    The result is well-formed for any text; a character that XML 1.0 forbids becomes U+FFFD. Takes time
    linear in the text.
    """
    lines, labels = scan(_lines(_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)))
    references = {label: {"href": "", "title": ""} for label in labels}
    return "\n".join([f"<{_ROOT}>", *_elements(lines, references), f"</{_ROOT}>"])


def _lines(text: str) -> list[str]:
    """Split at LF and CRLF alone; a carriage return by itself is a character like any other."""
    lines = text.replace("\r\n", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def _elements(lines: Iterable[Line], references: dict[str, dict[str, str]]) -> Iterator[str]:
    open_elements: list[tuple[int, str]] = []
    for line in lines:
        if line.level:
            yield from _close(open_elements, line.level)
            name = element_name(_without_markup(line.title, references))
            open_elements.append((line.level, name))
            yield f"<{name}>"
        elif line.fenced or line.text.strip(" \t") not in ("", "---"):
            yield escape(line.text, quote=False)
    yield from _close(open_elements, level=1)


def _close(open_elements: list[tuple[int, str]], level: int) -> Iterator[str]:
    """Close, innermost first, every open element of this level or a deeper one."""
    while open_elements and open_elements[-1][0] >= level:
        yield f"</{open_elements.pop()[1]}>"


def _without_markup(title: str, references: dict[str, dict[str, str]]) -> str:
    if len(title) > _LONGEST_PARSED_TITLE or not _MARKUP.search(title):
        return title
    tokens: list[Token] = []
    _MARKDOWN.inline.parse(title, _MARKDOWN, {"references": references}, tokens)
    return _plain_text(tokens)


def _plain_text(tokens: Iterable[Token]) -> str:
    """The text of inline tokens: a link's is its text, an image's its description, an HTML tag's is none."""
    return "".join(
        _plain_text(token.children or ()) if token.type == "image" else token.content
        for token in tokens
        if token.type != "html_inline"
    )
