"""Texts and JSON values for pages: JSON with folds, rendered Markdown, long texts truncated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from markupsafe import Markup

from app.values.json import json_container
from app.values.storable import storable_text
from app.web.filters import indented
from app.web.presenters.markdown import to_html
from app.web.presenters.marks import Marks

# The shown characters of a text within a page, and on a separate page.
AT_ONCE, WHOLE = 2_000, 250_000
# A text is also truncated after as many lines as it would have with lines of this length. JSON has many short lines.
LINE, JSON_LINE = 40, 12
# JSON values with this many lines can be folded. Values with more lines are folded at first.
FOLD_LINES, FOLDED_LINES, FOLD_DEPTH = 5, 40, 8

Kind = Literal["text", "markdown", "json"]
Piece = tuple[Literal["text", "open", "folded", "close"], str]


@dataclass(frozen=True, slots=True)
class Block:
    """A text or JSON value. `source` is the shown part of its `length` characters."""

    kind: Kind
    source: str
    length: int

    @property
    def cut(self) -> bool:
        return len(self.source) < self.length

    def marked(self, marks: Marks) -> Block:
        """Return the block as text instead of Markdown if its source, not what is cut off, has words to mark."""
        return replace(self, kind="text") if self.kind == "markdown" and marks.finds(self.source) else self

    @property
    def html(self) -> Markup:
        """The source rendered as Markdown."""
        return to_html(self.source)

    @property
    def pieces(self) -> list[Piece]:
        """The pieces of the source between the beginnings and ends of folds; joined they are the source."""
        return list(folds(self.source))


def block(value: Any, limit: int = AT_ONCE, *, markdown: bool = False, parse: bool = False) -> Block:
    """Truncate a text or JSON value after about `limit` characters. With `parse`, a text that is JSON is parsed."""
    parsed = json_container(value) if parse and isinstance(value, str) else None
    shown = value if parsed is None else parsed
    is_text = isinstance(shown, str)
    whole = storable_text(shown if is_text else indented(shown))
    kind: Kind = "json" if not is_text else "markdown" if markdown else "text"
    return Block(kind, excerpt(whole, limit, limit // (LINE if is_text else JSON_LINE)), len(whole))


def excerpt(text: str, limit: int, lines_max: int) -> str:
    """Return the beginning of a text, up to a blank, if it has more than `limit` characters or `lines_max` lines."""
    lines = text.split("\n", lines_max)
    if len(text) <= limit and len(lines) <= lines_max:
        return text
    start = "\n".join(lines[:lines_max])[:limit]
    blank = max(start.rfind(" ", limit - limit // 8), start.rfind("\n", limit - limit // 8))
    return start[:blank] if blank > 0 and len(start) == limit else start


def folds(pretty: str) -> Iterator[Piece]:
    """Cut indented JSON into pieces. An `open` or `folded` piece and a `close` piece enclose values of many lines.

    The JSON may be truncated anywhere.
    """
    lines = pretty.split("\n")
    opened, closed = _folds_of(lines)
    plain: list[str] = []
    for index, line in enumerate(lines):
        ended = line if index == len(lines) - 1 else line + "\n"
        size = opened.get(index)
        if size is None and index not in closed:
            plain.append(ended)
            continue
        yield "text", "".join(plain)
        plain = [ended]
        if size is None:
            yield "close", ""
        else:
            yield ("folded" if size > FOLDED_LINES else "open"), plain.pop()
    yield "text", "".join(plain)


def _folds_of(lines: Sequence[str]) -> tuple[Mapping[int, int], set[int]]:
    """Return the number of lines in each fold by the index of its first line, and the lines before which folds end."""
    opened: dict[int, int] = {}
    closed: set[int] = set()
    waiting: list[int] = []
    for index, line in enumerate(lines):
        if line.endswith(("{", "[")):
            waiting.append(index)
        elif waiting and line.lstrip(" ").startswith(("}", "]")):
            start = waiting.pop()
            if waiting and len(waiting) <= FOLD_DEPTH and index - start > FOLD_LINES:
                opened[start] = index - start - 1
                closed.add(index)
    return opened, closed
