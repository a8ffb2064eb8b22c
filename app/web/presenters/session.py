"""A recorded session as a conversation with scores, and as a timeline of turns and their spans."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Any

from app.errors import NotFound
from app.models.scores import ScoreRow
from app.otlp.normalise import MODEL_CALLS
from app.services.sessions.service import Session
from app.services.sessions.turn_listing import SessionPart
from app.sessions.outlines import TurnOutline
from app.sessions.types import ShownSpan, Step, Turn
from app.values.json_pointer import is_index
from app.web.presenters.session_files import ShownFile, shown_files

DEPTH_MAX = 4
BARS = {**dict.fromkeys(MODEL_CALLS, "chat"), "execute_tool": "tool"}
"""The kinds of bars in the timeline by the operations of spans."""
LOW_SCORE = 0.5
"""For scores below this value the page suggests a test case. False counts as 0, true as 1."""
# Turns in a timeline: a browser needs half a second for 500.
LINES_MAX = 200


@dataclass(frozen=True, slots=True)
class Aside:
    """A text that is not a step: reasoning, text of the model before its tool calls, or an error."""

    title: str
    text: str
    kind: str = "aside"


Entries = list[tuple[Step | Aside, ShownSpan | None]]
Scores = Mapping[int, list[ScoreRow]]


@dataclass(frozen=True)
class ShownTurn:
    """A turn on the page. `number` counts from 1; `scores` are by the index of their step."""

    number: int
    turn: Turn
    entries: Entries
    scores: Scores
    depths: Mapping[str, int]

    @cached_property
    def spans(self) -> list[ShownSpan]:
        return in_tree_order(self.turn)

    @cached_property
    def files(self) -> list[ShownFile]:
        return shown_files(self.turn)

    @cached_property
    def failed_calls(self) -> int:
        """The number of tool calls with an error. Facts of turns count those with a span only."""
        return sum(isinstance(shown, Step) and shown.error is not None for shown, _ in self.entries)

    @cached_property
    def anchors(self) -> dict[int, str]:
        """The ids of spans by the index of their first entry."""
        first: dict[str, int] = {}
        for index, (shown, span) in enumerate(self.entries):
            named = shown.span_id if isinstance(shown, Step) else span.span_id if span else None
            if named is not None:
                first.setdefault(named, index)
        return {index: span_id for span_id, index in first.items()}


def shown_turns(session: Session, start: int = 0) -> list[ShownTurn]:
    """Return the turns of a session, or of a part of a session that begins at the index `start`."""
    # A trace may be several turns. A score of all of it, or of a span of none, is shown at the first one.
    first_turns: dict[str, int] = {}
    turns_of_spans: dict[tuple[str, str], int] = {}
    for index, turn in enumerate(session.turns):
        first_turns.setdefault(turn.trace_id, index)
        for span in turn.spans:
            turns_of_spans.setdefault((turn.trace_id, span.span_id), index)
    by_turn: dict[int | None, list[ScoreRow]] = defaultdict(list)
    for score in session.scores:
        trace_id, span_id = ((id_ or b"").hex() for id_ in (score.trace_id, score.span_id))
        by_turn[turns_of_spans.get((trace_id, span_id), first_turns.get(trace_id))].append(score)
    shown = []
    for index, turn in enumerate(session.turns):
        entries = conversation(turn)
        shown.append(ShownTurn(start + index + 1, turn, entries, _by_place(entries, by_turn[index]), depths(turn)))
    return shown


def _by_place(entries: Entries, scores: Iterable[ScoreRow]) -> Scores:
    """Return the scores by the index of their span's last step; at -1 scores of the turn and of other spans."""
    last = {shown.span_id: index for index, (shown, _) in enumerate(entries) if isinstance(shown, Step)}
    scores_by_place: dict[int, list[ScoreRow]] = defaultdict(list)
    for score in scores:
        scores_by_place[last.get((score.span_id or b"").hex(), -1)].append(score)
    return scores_by_place


def low_scores(session: Session) -> list[str]:
    """Return the names of low scores without repetition."""
    return sorted({score.name for score in session.scores if score.value is not None and score.value < LOW_SCORE})


def conversation(turn: Turn) -> Entries:
    """Return the steps with their spans and, between them, asides, in order."""
    spans = {span.span_id: (index, span) for index, span in enumerate(turn.spans)}
    entries: list[tuple[int, int, Step | Aside, ShownSpan | None]] = [
        (index, rank, aside, span) for index, span in enumerate(turn.spans) for rank, aside in _asides(span)
    ]
    for step in turn.steps:
        index, timed = spans.get(step.span_id, (0, None))
        entries.append((index, 2, step, timed))
    failed_ids = {step.span_id for step in turn.steps if step.error}
    entries += [(spans[span.span_id][0], 3, aside, span) for span, aside in _failures(turn, failed_ids)]
    entries.sort(key=lambda entry: entry[:2])
    return [(shown, span) for _, _, shown, span in entries]


def _asides(span: ShownSpan) -> Iterator[tuple[int, Aside]]:
    if span.reasoning:
        yield 0, Aside("Reasoning", span.reasoning)
    if span.text_with_calls:
        yield 1, Aside("Text with the tool calls", span.text_with_calls)


def _failures(turn: Turn, failed_ids: set[str]) -> Iterator[tuple[ShownSpan, Aside]]:
    """Yield errors of spans not in `failed_ids`. Errors that only repeat the error of an inner call are left out."""
    failed = [span for span in turn.spans if span.error]
    calls = [span for span in failed if span.operation in BARS]
    # "failed" is the error of a span that reports none.
    errors_of_calls = {span.error for span in calls} | ({"failed"} if calls else set())
    call_ids = {span.span_id for span in calls}
    for span in failed:
        if span.span_id in failed_ids or (span.span_id not in call_ids and span.error in errors_of_calls):
            continue
        title = "The model's call failed" if span.operation in MODEL_CALLS else f"{span.name} failed"
        yield span, Aside(title, span.error or "", "error")


def depths(turn: Turn) -> dict[str, int]:
    """Return the number of each span's ancestors in the turn by span id; at most `DEPTH_MAX`."""
    parents = {span.span_id: span.parent_span_id or "" for span in turn.spans}

    def depth_of(span_id: str) -> int:
        depth, parent = 0, parents[span_id]
        while parent in parents and depth < DEPTH_MAX:
            depth, parent = depth + 1, parents[parent]
        return depth

    return {span_id: depth_of(span_id) for span_id in parents}


def in_tree_order(turn: Turn) -> list[ShownSpan]:
    """Return the spans so that each comes after its parent and before what follows its parent.

    Siblings stay in their order. Spans that name each other as parents come last.
    """
    ids = {span.span_id for span in turn.spans}
    children: dict[str, list[ShownSpan]] = defaultdict(list)
    for span in turn.spans:
        children[span.parent_span_id if span.parent_span_id in ids else ""].append(span)
    ordered: list[ShownSpan] = []
    waiting = children.pop("", [])[::-1]
    while waiting:
        span = waiting.pop()
        ordered.append(span)
        waiting += reversed(children.pop(span.span_id, []))
    return ordered + [span for rest in children.values() for span in rest]


def next_errors(part: SessionPart) -> dict[int, int | None]:
    """Return the number of each turn with errors around a part, and that of the next one; None after the last."""
    failed = [number for number, facts in part.by_number.items() if facts.errors]
    return dict(zip_longest(failed, failed[1:]))


def users_of(session: Session) -> list[str]:
    """Return the ids of the users that the turns name, without repetition."""
    return list(dict.fromkeys(turn.user_id for turn in session.turns if turn.user_id))


def text_of(turn: Turn, name: str) -> Any:
    """Return the text or JSON value with this name on a session's page. Raises `NotFound` if the turn lacks it.

    The name is "user", "question", "instruction", "earlier-" with the index of an earlier message, or the index of an
    entry in the conversation and a field, such as "3-arguments".
    """
    texts = {"user": turn.user, "question": turn.question, "instruction": turn.instruction}
    if (text := texts.get(name)) is not None:
        return text
    index, _, field = name.partition("-")
    if index == "earlier" and is_index(field) and int(field) < len(turn.earlier):
        return turn.earlier[int(field)].text
    entries = conversation(turn)
    if field in ("text", "arguments", "result", "error") and is_index(index):
        shown = next((shown for shown, _ in entries[int(index) : int(index) + 1]), None)
        if (value := getattr(shown, field, None)) is not None:
            return value
    raise NotFound("The turn has no such text.")


@dataclass(frozen=True, slots=True)
class Line:
    """A turn in the timeline of its session. `opening` is None if it repeats the opening of the first turn."""

    number: int
    facts: TurnOutline
    opening: str | None


@dataclass(frozen=True, slots=True)
class Timeline:
    """At most `LINES_MAX` turns of a session around a part of it. `longest_ns` is the longest duration."""

    lines: tuple[Line, ...]
    longest_ns: int


def timeline(part: SessionPart) -> Timeline:
    """Return the turns around the first one of a part, which is in their middle if there are enough on both sides."""
    by_number = part.by_number
    index = bisect_right(list(by_number), part.start)
    first = max(0, min(index - LINES_MAX // 2, len(by_number) - LINES_MAX))
    shown = list(by_number.items())[first : first + LINES_MAX]
    lines = tuple(Line(number, facts, _own_opening(part, facts, number)) for number, facts in shown)
    return Timeline(lines, max((facts.end_ns - facts.start_ns for _, facts in shown), default=0))


def _own_opening(part: SessionPart, facts: TurnOutline, number: int) -> str | None:
    """Return the text that opened a turn, or None. Most libraries repeat the first turn's opening in later turns."""
    opening = facts.preview
    return opening if number == 1 or opening != part.summary.preview else None
