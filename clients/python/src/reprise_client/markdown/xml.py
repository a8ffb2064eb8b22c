"""The conversion of a prompt's Markdown to XML: each heading becomes an element."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from html import escape

from reprise_client.errors import InvalidRequestError
from reprise_client.markdown.blocks import FENCED, TooManyBlocks, scan
from reprise_client.markdown.inline import without_markup
from reprise_client.markdown.links import normalized_label
from reprise_client.markdown.names import element_name

# All of these are the server's: a text beyond them is converted, or refused, as it is there.
STEPS_MAX = 200_000
_LONGEST_PARSED_TITLE = 300
_MARKS_IN_A_TITLE = 40
_MARKS_IN_ALL = 5_000

_ROOT = "instructions"
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")  # XML 1.0, production 2
_MARKUP = re.compile(r"[\\`*_\[<&]")
_MARKS_ALONE = re.compile(r"([ \t>]*)(=+|-+|`{3,}|~{3,})([ \t]*)")
_LAST_MARKS = ("=", "-", "`", "~", " ", "\t")


def to_xml(text: str) -> str:
    """Convert a text, placeholders filled in, to `<instructions>…</instructions>`.

    The result is well-formed for any text; a character that XML 1.0 forbids becomes U+FFFD. Only LF and CRLF end a
    line. Takes time linear in the text; raises `InvalidRequestError` for one of more lines and blocks than `STEPS_MAX`.
    """
    lines = _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text).replace("\r\n", "\n").removesuffix("\n").split("\n")
    try:
        structure = scan([_without_underline(line) for line in lines], STEPS_MAX)
    except TooManyBlocks:
        raise InvalidRequestError(
            f"value: XML takes at most {STEPS_MAX} lines, lists and quotes.", status=400
        ) from None
    titles = _Titles(structure.labels)
    return "\n".join([f"<{_ROOT}>", *_elements(lines, structure.kinds, titles), f"</{_ROOT}>"])


def _without_underline(line: str) -> str:
    """The line as the scanner reads it, to which a carriage return by itself is a character like any other.

    A line of marks underlines nothing: it is text, an item of a list or a thematic break, as it would be alone.
    """
    line = line.replace("\r", "x")
    found = _MARKS_ALONE.fullmatch(line) if line[-1:] in _LAST_MARKS else None
    return _rewritten(*found.groups()) if found else line


def _rewritten(indent: str, marks: str, blanks: str) -> str:
    if marks[0] in "`~":
        return indent + marks + " " * len(blanks)
    if marks[0] == "=" or len(marks) == 2:
        return indent + "x" * len(marks) + blanks
    return indent + ("+" if marks == "-" else "*" * len(marks)) + blanks


def _elements(lines: Sequence[str], kinds: Sequence[int], titles: _Titles) -> Iterator[str]:
    open_elements: list[tuple[int, str]] = []
    for line, kind in zip(lines, kinds, strict=True):
        if kind > 0:
            yield from _close(open_elements, kind)
            name = element_name(titles.without_markup(_title(line, kind)))
            open_elements.append((kind, name))
            yield f"<{name}>"
        elif kind == FENCED or line.strip(" \t") not in ("", "---"):
            yield escape(line, quote=False)
    yield from _close(open_elements, level=1)


def _close(open_elements: list[tuple[int, str]], level: int) -> Iterator[str]:
    """Close, innermost first, every open element of this level or a deeper one."""
    while open_elements and open_elements[-1][0] >= level:
        yield f"</{open_elements.pop()[1]}>"


def _title(line: str, level: int) -> str:
    """A heading's text without its marks and without the optional closing sequence of `#`."""
    text = line.strip(" \t")[level:].strip(" \t")
    unclosed = text.rstrip("#")
    return unclosed.rstrip(" \t") if not unclosed or unclosed[-1] in " \t" else text


class _Titles:
    """Strips the markup of the titles of one text, within a budget of marks."""

    def __init__(self, labels: Sequence[str]) -> None:
        self._labels = labels
        self._marks_left = _MARKS_IN_ALL

    @cached_property
    def _references(self) -> frozenset[str]:
        return frozenset(map(normalized_label, self._labels))

    def without_markup(self, title: str) -> str:
        """A title that is too long, or has too many marks, is taken as it stands."""
        if len(title) > _LONGEST_PARSED_TITLE or not self._parsed(len(_MARKUP.findall(title))):
            return title
        return without_markup(title, self._references)

    def _parsed(self, marks: int) -> bool:
        """Return whether a title of so many marks is parsed, and take them from the budget."""
        if not 0 < marks <= min(_MARKS_IN_A_TITLE, self._marks_left):
            return False
        self._marks_left -= marks
        return True
