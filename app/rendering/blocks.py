"""CommonMark's block structure, line by line, in time linear in the text: which lines are top-level ATX
headings and which belong to a code fence. Setext headings are off.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

from markdown_it.common.utils import normalizeReference
from markdown_it.rules_block.html_block import HTML_SEQUENCES

from app.meter import Meter

_BLANKS = re.compile(r"[ \t]*")
_HASHES = re.compile(r"(#{1,6})(?=[ \t]|\Z)")
_FENCE = re.compile(r"`{3,}(?=[^`]*\Z)|~{3,}")
_LIST_MARKER = re.compile(r"([-+*]|[0-9]{1,9}[.)])(?=[ \t]|\Z)")
_DEFINITION = re.compile(r"\[((?:[^\[\]\\]|\\.){1,999})\]:[ \t]*\S")

_QUOTE = 0  # among the open containers; a list item is there as its content's indent, which is 2 or more
_CODE_INDENT = 4
_OPENERS = frozenset("#`~-_+*<>0123456789")  # what all but text and indented code begins with


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the text. `level` is 1 to 6 where it is a top-level heading of that `title`, else 0."""

    text: str
    level: int = 0
    title: str = ""
    fenced: bool = False


@dataclass(frozen=True, slots=True)
class _Paragraph:
    only_definitions: bool


@dataclass(frozen=True, slots=True)
class _Fence:
    closing: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class _Html:
    closing: re.Pattern[str]


class _Cursor:
    """A place in a line: `column` counts from 0 with tabs expanded, `pos` is at the next character that is
    neither space nor tab. An indent is consumed by moving `column` alone.
    """

    __slots__ = ("_tails", "column", "pos", "pos_column", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.pos = self.pos_column = self.column = 0
        self._tails: dict[str, int] = {}
        if text[:1] in (" ", "\t"):
            self.advance(0)

    @property
    def indent(self) -> int:
        return self.pos_column - self.column

    @property
    def blank(self) -> bool:
        return self.pos == len(self.text)

    @property
    def char(self) -> str:
        return self.text[self.pos : self.pos + 1]

    @property
    def rest(self) -> str:
        return self.text[self.pos :]

    def advance(self, length: int) -> None:
        """Consume the indent, `length` characters after it, and find the next indent."""
        start = self.pos + length
        self.column = self.pos_column = self.pos_column + length
        self.pos = _BLANKS.match(self.text, start).end()  # type: ignore[union-attr]
        for blank in self.text[start : self.pos]:
            self.pos_column += 4 - self.pos_column % 4 if blank == "\t" else 1

    def at_thematic_break(self) -> bool:
        marker = self.char
        if marker not in "-_*":
            return False
        if marker not in self._tails:  # once a line, or a line of `- - - x` would be read again at each dash
            self._tails[marker] = len(self.text.rstrip(marker + " \t"))
        return self.pos >= self._tails[marker] and self.text.count(marker, self.pos) >= 3


class _Scanner:
    """The open blocks after the lines read so far: containers from the outside in, and one leaf."""

    def __init__(self, meter: Meter) -> None:
        self.labels: set[str] = set()
        self._meter = meter
        self._containers: list[int] = []
        self._quotes: list[int] = []  # where _QUOTE stands in the containers, ascending
        self._empty_item = False  # the innermost container is a list item with nothing in it yet
        self._leaf: _Paragraph | _Fence | _Html | None = None

    def read(self, text: str) -> Line:
        cursor = _Cursor(text)
        matched = self._match_containers(cursor)
        self._meter.spend(1 + min(matched, len(text)))  # a blank line continues lists without a look at them
        if matched == len(self._containers):
            if isinstance(self._leaf, _Fence):
                return self._continue_fence(cursor, self._leaf)
            if isinstance(self._leaf, _Html):
                return self._continue_html(cursor, self._leaf)
        return self._open_blocks(cursor, matched)

    def _match_containers(self, cursor: _Cursor) -> int:
        """How many of the open containers this line continues; their prefixes are consumed."""
        was_empty, self._empty_item = self._empty_item, False
        for index, container in enumerate(self._containers):
            if cursor.blank:
                return self._match_blank(index, was_empty)
            if container == _QUOTE:
                if not _at_quote(cursor):
                    return index
                _consume_quote(cursor)
            elif cursor.indent >= container:
                cursor.column += container
            else:
                return index
        return len(self._containers)

    def _match_blank(self, index: int, was_empty: bool) -> int:
        """A blank line continues all list items up to the next quote, but not an item that is still empty."""
        following = bisect_left(self._quotes, index)
        if following < len(self._quotes):
            return self._quotes[following]
        return len(self._containers) - was_empty

    def _continue_fence(self, cursor: _Cursor, fence: _Fence) -> Line:
        if cursor.indent < _CODE_INDENT and fence.closing.match(cursor.text, cursor.pos):
            self._leaf = None
        return Line(cursor.text, fenced=True)

    def _continue_html(self, cursor: _Cursor, html: _Html) -> Line:
        if html.closing.search(cursor.rest):
            self._leaf = None
        return Line(cursor.text)

    def _open_blocks(self, cursor: _Cursor, matched: int) -> Line:
        while cursor.char in _OPENERS and cursor.indent < _CODE_INDENT:
            self._meter.spend(1)
            interrupts = isinstance(self._leaf, _Paragraph) and matched == len(self._containers)
            if _at_quote(cursor):
                self._close(matched)
                self._quotes.append(len(self._containers))
                self._containers.append(_QUOTE)
                _consume_quote(cursor)
            elif (line := self._open_leaf(cursor, matched)) is not None:
                return line
            elif (marker := _list_marker(cursor, interrupts)) is not None:
                self._close(matched)
                self._containers.append(_consume_list_marker(cursor, len(marker)))
                self._empty_item = cursor.blank
            else:
                break
            matched = len(self._containers)
        return self._add_text(cursor, matched)

    def _open_leaf(self, cursor: _Cursor, matched: int) -> Line | None:
        """Open what is neither container nor paragraph, if that begins here."""
        text, pos = cursor.text, cursor.pos
        if hashes := _HASHES.match(text, pos):
            self._close(matched)
            return Line(text) if self._containers else Line(text, len(hashes[1]), _title(text[hashes.end() :]))
        if fence := _FENCE.match(text, pos):
            self._close(matched)
            self._leaf = _Fence(re.compile(rf"{fence[0][0]}{{{len(fence[0])},}}[ \t]*\Z"))
            return Line(text, fenced=True)
        if cursor.at_thematic_break():
            self._close(matched)
            return Line(text)
        return self._open_html(cursor, matched) if cursor.char == "<" else None

    def _open_html(self, cursor: _Cursor, matched: int) -> Line | None:
        rest = cursor.rest
        for opening, closing, may_interrupt in HTML_SEQUENCES:
            if opening.search(rest) and (may_interrupt or not isinstance(self._leaf, _Paragraph)):
                self._close(matched)
                self._leaf = None if closing.search(rest) else _Html(closing)
                return Line(cursor.text)
        return None

    def _add_text(self, cursor: _Cursor, matched: int) -> Line:
        if cursor.blank:
            self._close(matched)
        elif isinstance(self._leaf, _Paragraph):
            if self._leaf.only_definitions:
                self._leaf = self._paragraph(cursor)
        else:
            self._close(matched)
            self._leaf = self._paragraph(cursor) if cursor.indent < _CODE_INDENT else None
        return Line(cursor.text)

    def _paragraph(self, cursor: _Cursor) -> _Paragraph:
        """A paragraph that was nothing but link reference definitions before this line."""
        definition = _DEFINITION.match(cursor.text, cursor.pos)
        if definition:
            self.labels.add(normalizeReference(definition[1]))
        return _Paragraph(only_definitions=definition is not None)

    def _close(self, matched: int) -> None:
        """Close the leaf and all containers but the first `matched`."""
        del self._containers[matched:]
        del self._quotes[bisect_left(self._quotes, matched) :]
        self._leaf = None


def scan(lines: Iterable[str], meter: Meter | None = None) -> tuple[list[Line], set[str]]:
    """Each line with its place in the block structure, and the normalized labels of the link references.

    Follows CommonMark 0.31. `lines` come without their line ends. Each line, each container that one continues and
    each block that one opens is a step of `meter`, which raises `TooMuch`.
    """
    scanner = _Scanner(meter or Meter())
    return [scanner.read(line) for line in lines], scanner.labels


def _title(text: str) -> str:
    """A heading's text without the optional closing sequence of `#`."""
    text = text.strip(" \t")
    unclosed = text.rstrip("#")
    return unclosed.rstrip(" \t") if not unclosed or unclosed[-1] in " \t" else text


def _at_quote(cursor: _Cursor) -> bool:
    return cursor.indent < _CODE_INDENT and cursor.char == ">"


def _consume_quote(cursor: _Cursor) -> None:
    cursor.advance(1)
    cursor.column += min(cursor.indent, 1)


def _list_marker(cursor: _Cursor, interrupts_paragraph: bool) -> str | None:
    marker = _LIST_MARKER.match(cursor.text, cursor.pos)
    if marker is None:
        return None
    if interrupts_paragraph:
        is_empty = not cursor.text[marker.end() :].strip(" \t")
        starts_at_one = not marker[1][:-1] or int(marker[1][:-1]) == 1
        if is_empty or not starts_at_one:
            return None
    return marker[1]


def _consume_list_marker(cursor: _Cursor, length: int) -> int:
    """Step over a list marker; answers the indent that lines need to belong to the item."""
    before = cursor.indent
    cursor.advance(length)
    # Five or more columns are one, and an indented code block; an item may also begin with a blank line.
    padding = 1 if cursor.blank or cursor.indent > _CODE_INDENT else cursor.indent
    cursor.column += min(padding, cursor.indent)
    return before + length + padding
