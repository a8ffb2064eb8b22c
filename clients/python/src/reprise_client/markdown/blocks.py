"""The block structure of a text: its top-level ATX headings, its code fences, its link reference definitions.

It is that of the parser pulldown-cmark, which the server uses, down to where that parser departs from CommonMark.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from reprise_formats.xml import FENCED

from reprise_client.markdown import starts
from reprise_client.markdown.containers import Container, Item, List, Quote, continues, item_at
from reprise_client.markdown.cursor import Cursor
from reprise_client.markdown.link_definitions import labels_in


class TooManyBlocks(Exception):
    """The text has more lines, list items and quotes than may be looked at."""


@dataclass
class Structure:
    """`kinds` has for each line 1 to 6 where it is a top-level heading, FENCED in a code fence, else 0.

    `labels` are those of the link reference definitions, as written.
    """

    kinds: list[int]
    labels: list[str] = field(default_factory=list)


def scan(lines: Sequence[str], most: float) -> Structure:
    """Need time linear in the text; raises `TooManyBlocks` for more lines, items and quotes than `most`."""
    scanner = _Scanner(lines, most)
    at = 0
    while at < len(lines):
        at = scanner.block(at)
    return scanner.found


class _Scanner:
    """The containers that are open at a line; `block` reads one block of them."""

    def __init__(self, lines: Sequence[str], most: float) -> None:
        self.found = Structure([0] * len(lines))
        self._lines = lines
        self._most = most
        self._steps = 0
        self._open: list[Container] = []
        self._open_quotes: list[int] = []  # where they are in `_open`
        self._nested = 0  # how many of `_open` are quotes or items
        self._after_empty_item = False
        self._after_blank = False
        self._spend(len(lines))

    def _spend(self, steps: int) -> None:
        self._steps += steps
        if self._steps > self._most:
            raise TooManyBlocks

    def block(self, at: int) -> int:
        """Read the block that begins at this line; returns the line after it."""
        cursor = Cursor(self._lines[at])
        self._close_all_but(self._continued(cursor))
        if self._open_new(cursor):
            return at + 1
        if cursor.at_blanks_alone:
            self._see_blank_line()
            return at + 1
        indent = cursor.skip(4)
        self._finish_list()
        return self._indented_code(at + 1) if indent == 4 else self._leaf(at, indent, cursor.rest)

    def _leaf(self, at: int, indent: int, text: str) -> int:
        if text[0] == "<" and (end := starts.html_end(text)):
            return self._html_until(end, at, text)
        if text[0] == "<" and (starts.is_html_block(text) or starts.is_html_tag(text)):
            return self._html_until_blank(at + 1)
        if starts.is_thematic_break(text):
            return at + 1
        if level := starts.heading_level(text):
            self.found.kinds[at] = 0 if self._nested else level
            return at + 1
        if opening := starts.fence(text):
            return self._fenced_code(at, indent, opening)
        return self._paragraph(at, text)

    # Containers.

    def _continued(self, cursor: Cursor) -> int:
        """Skip the markers and the indentation of open containers; returns how many of them the line continues."""
        for index, container in enumerate(self._open):
            if cursor.at_end:
                return self._next_quote(index)
            before = cursor.save()
            if not continues(container, cursor):
                cursor.restore(before)
                return index
        return len(self._open)

    def _next_quote(self, index: int) -> int:
        """Return the first open quote from this container on: an empty line continues lists, and no quote."""
        quotes = self._open_quotes
        place = bisect_left(quotes, index)
        return quotes[place] if place < len(quotes) else len(self._open)

    def _close_all_but(self, count: int) -> None:
        while len(self._open) > count:
            self._close()

    def _close(self) -> None:
        container = self._open.pop()
        if not isinstance(container, List):
            self._nested -= 1
        elif container.tight:
            self._after_empty_item = False
        if isinstance(container, Quote):
            self._open_quotes.pop()

    def _push(self, container: Quote | Item) -> None:
        self._spend(1)
        if isinstance(container, Quote):
            self._open_quotes.append(len(self._open))
        self._open.append(container)
        self._nested += 1

    def _open_new(self, cursor: Cursor) -> bool:
        """Open the containers of the next markers; returns whether the last is an item with nothing after its mark."""
        breaks = starts.ThematicBreaks(cursor.line)
        while True:
            saved = cursor.save()
            indent = cursor.skip(4)
            if indent == 4:
                cursor.restore(saved)
                return False
            if item := item_at(cursor, indent, breaks):
                self._continue_list(item.mark)
                self._push(Item(item.indent))
                if cursor.at_blanks_alone:
                    self._after_empty_item = True
                    return True
            elif cursor.skip_quote_mark():
                self._finish_list()
                self._push(Quote())
            else:
                cursor.restore(saved)
                return False

    def _see_blank_line(self) -> None:
        top = self._open[-1] if self._open else None
        if isinstance(top, Quote):
            return
        self._after_blank = True
        if isinstance(top, Item) and self._after_empty_item:
            top.indent = 0  # it can hold nothing more, so nothing is indented for it

    def _finish_list(self) -> None:
        """Close the list after its last item: another block begins."""
        self._finish_empty_item()
        if self._open and isinstance(self._open[-1], List):
            self._close()
        if self._after_blank:
            outer = self._open[-2] if len(self._open) > 1 else None
            if isinstance(outer, List):
                outer.tight = False
            self._after_blank = False

    def _finish_empty_item(self) -> None:
        """Close an item that began with two blank lines."""
        if self._after_empty_item and self._after_blank and self._open and isinstance(self._open[-1], Item):
            self._close()
        self._after_empty_item = False

    def _continue_list(self, mark: str) -> None:
        self._finish_empty_item()
        top = self._open[-1] if self._open else None
        if isinstance(top, List) and top.mark == mark:
            top.tight = top.tight and not self._after_blank
        else:
            if top:
                self._finish_list()
            self._open.append(List(mark))
        self._after_blank = False

    # What is in them. Each gets the number of a line and returns that of the line after the block.

    def _continued_in_full(self, at: int) -> Cursor | None:
        """Return the line's cursor after the markers of all open containers; None if it lacks one."""
        cursor = Cursor(self._lines[at])
        return cursor if self._continued(cursor) == len(self._open) else None

    def _indented_code(self, at: int) -> int:
        self._after_blank = False
        while at < len(self._lines) and (cursor := self._continued_in_full(at)):
            if cursor.skip(4) < 4 and not cursor.at_end:
                break
            self._after_blank = cursor.at_blanks_alone
            at += 1
        return at

    def _fenced_code(self, first: int, indent: int, opening: str) -> int:
        at, closed = first + 1, False
        while at < len(self._lines) and not closed and (cursor := self._continued_in_full(at)):
            cursor.skip(indent)
            closed = cursor.skip(4 - indent) < 4 - indent and starts.is_closing_fence(cursor.rest, opening)
            at += 1
        self.found.kinds[first:at] = [FENCED] * (at - first)
        return at

    def _html_until(self, end: str, at: int, text: str) -> int:
        at += 1
        while at < len(self._lines) and (cursor := self._continued_in_full(at)) and end not in text:
            text = cursor.rest
            at += 1
        return at

    def _html_until_blank(self, at: int) -> int:
        while at < len(self._lines) and (cursor := self._continued_in_full(at)) and not cursor.at_blanks_alone:
            at += 1
        return at

    def _paragraph(self, at: int, text: str) -> int:
        lines = [text]
        at += 1
        while at < len(self._lines) and (more := self._continuation(self._lines[at])):
            lines.append(more)
            at += 1
        if text[0] == "[":
            self.found.labels.extend(labels_in("\n".join(lines)))
        return at

    def _continuation(self, line: str) -> str:
        """Return the text that a line adds to the paragraph before it; "" if it does not continue the paragraph."""
        cursor = Cursor(line)
        lazily = self._continued(cursor) < len(self._open)
        if cursor.skip(4) < 4 and starts.interrupts_a_paragraph(cursor.rest, lazily=lazily):
            return ""
        return cursor.rest.strip(" \t")
