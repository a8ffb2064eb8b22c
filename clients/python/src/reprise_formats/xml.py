"""The elements that a text's headings become, for whatever parser finds the headings and the texts of their titles."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from html import escape

from reprise_formats.xml_names import element_name

FENCED = -1

# About half a second. A prompt of 500,000 characters in ordinary lines has a tenth of it.
STEPS_MAX = 200_000
TOO_MANY_STEPS = f"value: XML has at most {STEPS_MAX} lines, lists and quotes."

_ROOT = "instructions"
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")  # XML 1.0, production 2
# Characters that are looked at in one call into C, during which no other thread runs.
_PIECE = 64 * 1024
_MARKUP = re.compile(r"[\\`*_\[<&]")
# Inline parsing needs time quadratic in a title's brackets. A title beyond this is not parsed: most of its markup are
# characters that `element_name` makes separators, only the addresses of links become words of the name.
_LONGEST_PARSED_TITLE = 300
_MARKS_IN_A_TITLE = 40
MARKS_IN_ALL = 5_000


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, which only LF and CRLF end; characters that XML 1.0 forbids become U+FFFD."""
    return _allowed(text).replace("\r\n", "\n").removesuffix("\n").split("\n")


def _allowed(text: str) -> str:
    pieces = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
    return "".join([_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", piece) for piece in pieces])


def xml_of(lines: Sequence[str], kinds: Sequence[int], without_markup: Callable[[str], str]) -> str:
    """Return the lines in XML, in time linear in them if `without_markup` needs a bounded time for a title.

    `kinds` has for each line 1 to 6 where it is a heading, FENCED in a code fence, else 0.
    """
    return "\n".join([f"<{_ROOT}>", *_elements(lines, kinds, _Titles(without_markup)), f"</{_ROOT}>"])


def _elements(lines: Sequence[str], kinds: Sequence[int], titles: _Titles) -> Iterator[str]:
    open_elements: list[tuple[int, str]] = []
    for line, kind in zip(lines, kinds, strict=True):
        if kind > 0:
            yield from _close(open_elements, kind)
            name = element_name(titles.without_markup(title_of(line, kind)))
            open_elements.append((kind, name))
            yield f"<{name}>"
        elif kind == FENCED or line.strip(" \t") not in ("", "---"):
            yield escape(line, quote=False)
    yield from _close(open_elements, level=1)


def _close(open_elements: list[tuple[int, str]], level: int) -> Iterator[str]:
    """Close, innermost first, every open element of this level or a deeper one."""
    while open_elements and open_elements[-1][0] >= level:
        yield f"</{open_elements.pop()[1]}>"


def title_of(line: str, level: int) -> str:
    """Return a heading's text without its marks and without the optional closing sequence of `#`."""
    text = line.strip(" \t")[level:].strip(" \t")
    unclosed = text.rstrip("#")
    return unclosed.rstrip(" \t") if not unclosed or unclosed[-1] in " \t" else text


class _Titles:
    """Strips the markup of the titles of one text, within a budget of marks."""

    def __init__(self, without_markup: Callable[[str], str]) -> None:
        self._without_markup = without_markup
        self._marks_left = MARKS_IN_ALL

    def without_markup(self, title: str) -> str:
        """Return a title without its markup; one that is too long, or has too many marks, unchanged."""
        if len(title) > _LONGEST_PARSED_TITLE or not self._may_parse(len(_MARKUP.findall(title))):
            return title
        return self._without_markup(title)

    def _may_parse(self, marks: int) -> bool:
        """Return whether a title of so many marks is parsed, and spend them from the budget."""
        if not 0 < marks <= min(_MARKS_IN_A_TITLE, self._marks_left):
            return False
        self._marks_left -= marks
        return True
