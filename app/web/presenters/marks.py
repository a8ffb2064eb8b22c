"""Marks the words of a search in the texts of pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.errors import Invalid
from app.search.query import Query, parse
from app.services.search.service import Hit

QUERY_MAX = 200
# The labels of texts in which a search can have hits.
HIT_KINDS = {
    "user": "User",
    "arguments": "Arguments of a tool",
    "result": "Result of a tool",
    "error": "Error of a tool",
    "answer": "Answer",
    "reasoning": "Reasoning",
    "aside": "Text with tool calls",
    "question": "Question",
}


@dataclass(frozen=True, slots=True)
class Marks:
    """The words of a query to mark; empty for an empty query."""

    query: Query | None = None

    def pieces(self, text: str) -> list[tuple[str, bool]]:
        """Return the pieces of a text as (piece, whether it is marked)."""
        return list(pieces(text, self.query.places_in(text) if self.query else ()))

    def finds(self, text: str) -> bool:
        return self.query is not None and bool(self.query.places_in(text))


def marks_of(q: str) -> Marks:
    """Return the marks of a query's text; empty if the text is not a valid query."""
    try:
        return Marks(parse(q[:QUERY_MAX]))
    except Invalid:
        return Marks()


def pieces(text: str, places: Sequence[tuple[int, int]]) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a text at these places and between them, as (piece, whether it is at a place)."""
    at = 0
    for start, end in places:
        if at < start:
            yield text[at:start], False
        yield text[start:end], True
        at = end
    if at < len(text):
        yield text[at:], False


def place_of(hit: Hit) -> str:
    """Return the id of the hit's element on the page of its session."""
    return f"turn-{hit.turn}-{'user' if hit.span_id is None else 'span-' + hit.span_id}"
