"""Reads the spans of a batch for the conventions within a budget of JSON elements.

JSON with many tiny members needs a hundred times as much time and memory as a text of the same length.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from app.otlp.normalise import SpanView
from app.otlp.span import Span
from app.sessions.spans import view_of
from app.values.budget import WorkBudget
from app.values.json import count_marks

SHORT_MAX = 1000
"""The longest text, in characters, that is read of a span beyond the budget."""


def view_within(span: Span, budget: WorkBudget) -> SpanView:
    """Return the span as the conventions (`app/otlp/normalise`) read it, and spend its elements from the budget.

    A span with more elements than the budget has left is returned with its short attributes only.
    """
    elements = count_marks(bytes(span.raw))
    if elements > budget.limit - budget.spent:
        return SpanView(span.name, span.scope, _ShortAttributes(span.attributes))
    budget.spend(elements)
    return view_of(span)


class _ShortAttributes(Mapping[str, Any]):
    """The attributes of a span, with None for long texts, and for lists and objects."""

    def __init__(self, attributes: Mapping[str, Any]) -> None:
        self._attributes = attributes

    def __getitem__(self, key: str) -> Any:
        value = self._attributes[key]
        return None if isinstance(value, list | dict) or (isinstance(value, str) and len(value) > SHORT_MAX) else value

    def __iter__(self) -> Iterator[str]:
        return iter(self._attributes)

    def __len__(self) -> int:
        return len(self._attributes)
