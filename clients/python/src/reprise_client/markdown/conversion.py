"""The conversion of a prompt's Markdown to XML as the server makes it, without its parsers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from reprise_formats.xml import STEPS_MAX, TOO_MANY_STEPS, lines_of, xml_of

from reprise_client.errors import InvalidRequestError
from reprise_client.markdown.blocks import TooManyBlocks, scan
from reprise_client.markdown.inline import without_markup
from reprise_client.markdown.inline_links import normalized_label

_MARKS_ALONE = re.compile(r"([ \t>]*)(=+|-+|`{3,}|~{3,})([ \t]*)")
_LAST_MARKS = ("=", "-", "`", "~", " ", "\t")


def to_xml(text: str) -> str:
    """Convert a text, placeholders filled in, to `<instructions>…</instructions>`.

    The result is well-formed for any text; a character that XML 1.0 forbids becomes U+FFFD. Only LF and CRLF end a
    line. Needs time linear in the text; raises `InvalidRequestError` for one of more lines and blocks than `STEPS_MAX`.
    """
    lines = lines_of(text)
    try:
        structure = scan([_without_underline(line) for line in lines], STEPS_MAX)
    except TooManyBlocks:
        raise InvalidRequestError(TOO_MANY_STEPS, status=400) from None
    return xml_of(lines, structure.kinds, _Titles(structure.labels).without_markup)


class _Titles:
    def __init__(self, labels: Sequence[str]) -> None:
        self._labels = labels

    @cached_property
    def _references(self) -> frozenset[str]:
        return frozenset(map(normalized_label, self._labels))

    def without_markup(self, title: str) -> str:
        return without_markup(title, self._references)


def _without_underline(line: str) -> str:
    """Return the line for the scanner, rewritten where the server's parser reads it in another way.

    A carriage return within a line is an ordinary character. A line of only `=` or `-` underlines no heading: it stays
    text, an item of a list or a thematic break.
    """
    line = line.replace("\r", "x")
    match = _MARKS_ALONE.fullmatch(line) if line[-1:] in _LAST_MARKS else None
    return _rewritten(*match.groups()) if match else line


def _rewritten(indent: str, marks: str, blanks: str) -> str:
    """Return a line of marks as one that the scanner reads as the same block, and never as an underline."""
    if marks[0] in "`~":
        return indent + marks + " " * len(blanks)
    if marks[0] == "=" or len(marks) == 2:
        return indent + "x" * len(marks) + blanks
    return indent + ("+" if marks == "-" else "*" * len(marks)) + blanks
