"""A recorded turn as a conversation, and how its spans are nested."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from app.sessions.types import ShownSpan, Step, Turn

DEPTH_MAX = 4


@dataclass(frozen=True, slots=True)
class Aside:
    """A text of the model that is no step: its reasoning, or text beside its tool calls."""

    title: str
    text: str
    kind: str = "aside"


def conversation(turn: Turn) -> list[tuple[Step | Aside, ShownSpan | None]]:
    """The steps with their spans, and between them what the model wrote besides, in the order of the spans."""
    spans = {span.span_id: (index, span) for index, span in enumerate(turn.spans)}
    entries: list[tuple[int, int, Step | Aside, ShownSpan | None]] = [
        (index, rank, aside, None) for index, span in enumerate(turn.spans) for rank, aside in _asides(span)
    ]
    for step in turn.steps:
        index, timed = spans.get(step.span_id, (0, None))
        entries.append((index, 2, step, timed))
    entries.sort(key=lambda entry: entry[:2])
    return [(shown, span) for _, _, shown, span in entries]


def _asides(span: ShownSpan) -> Iterator[tuple[int, Aside]]:
    if span.reasoning:
        yield 0, Aside("Reasoning", span.reasoning)
    if span.text_beside_tools:
        yield 1, Aside("Beside the tool calls", span.text_beside_tools)


def depths(turn: Turn) -> dict[str, int]:
    """The number of its ancestors in the turn for each span, by its id; at most `DEPTH_MAX`."""
    parents = {span.span_id: span.parent_span_id or "" for span in turn.spans}

    def depth(span_id: str) -> int:
        found, parent = 0, parents[span_id]
        while parent in parents and found < DEPTH_MAX:
            found, parent = found + 1, parents[parent]
        return found

    return {span_id: depth(span_id) for span_id in parents}
