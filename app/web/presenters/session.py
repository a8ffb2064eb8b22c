"""A recorded turn as a conversation with its scores, and how its spans are nested."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from app.models.scores import ScoreRow
from app.services.traces.logs import Session
from app.sessions.types import ShownSpan, Step, Turn

DEPTH_MAX = 4


@dataclass(frozen=True, slots=True)
class Aside:
    """A text of the model that is no step: its reasoning, or text beside its tool calls."""

    title: str
    text: str
    kind: str = "aside"


Entries = list[tuple[Step | Aside, ShownSpan | None]]
Scores = Mapping[int, list[ScoreRow]]


def shown_turns(session: Session) -> list[tuple[Turn, Entries, Mapping[str, int], Scores]]:
    """Each turn with its conversation, the depths of its spans, and its scores by their place."""
    by_trace: dict[str, list[ScoreRow]] = defaultdict(list)
    for score in session.scores:
        by_trace[score.trace_id.hex()].append(score)
    found = ((turn, conversation(turn)) for turn in session.turns)
    return [(turn, said, depths(turn), _by_place(said, by_trace[turn.trace_id])) for turn, said in found]


def _by_place(entries: Entries, scores: Iterable[ScoreRow]) -> Scores:
    """The scores by the index of the last step that their span made; at -1 those of spans without a step."""
    last = {shown.span_id: index for index, (shown, _) in enumerate(entries) if isinstance(shown, Step)}
    found: dict[int, list[ScoreRow]] = defaultdict(list)
    for score in scores:
        found[last.get(score.span_id.hex(), -1)].append(score)
    return found


def conversation(turn: Turn) -> Entries:
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
