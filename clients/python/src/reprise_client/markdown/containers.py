"""Containers of blocks, quotes and lists, and what a line must begin with to belong to one."""

from __future__ import annotations

from dataclasses import dataclass

from reprise_client.markdown.cursor import Cursor
from reprise_client.markdown.starts import ThematicBreaks, item_mark


@dataclass
class Quote:
    """A block quote; each of its lines begins with `>`."""


@dataclass
class Item:
    """A list's item; what belongs to it is indented by so many columns."""

    indent: int


@dataclass
class List:
    """A list of items with the same mark; `tight` while no blank line is between them."""

    mark: str
    tight: bool = True


Container = Quote | Item | List


def continues(container: Container, cursor: Cursor) -> bool:
    """Skip the container's marker or indentation; returns whether the line has it. A list itself has none."""
    if isinstance(container, Quote):
        cursor.skip(3)
        return cursor.skip_quote_mark()
    return isinstance(container, List) or cursor.skip(container.indent) == container.indent or cursor.at_end


@dataclass
class Mark:
    """The mark of an item: its character, and by how much the item's further lines are indented."""

    mark: str
    indent: int


def item_at(cursor: Cursor, indent: int, breaks: ThematicBreaks) -> Mark | None:
    """Skip the mark of an item that is indented by so many columns, and the blanks after the mark."""
    mark = item_mark(cursor.line, cursor.at)
    if not mark or breaks.are_at(cursor.at):
        return None
    cursor.at += len(mark)
    cursor.skip(1)
    indent += len(mark) + 1
    saved = cursor.save()
    if cursor.at_blanks_alone or (blanks := cursor.skip(4)) == 4:
        cursor.restore(saved)
        blanks = 0
    return Mark(mark[-1], indent + blanks)
