"""The turns of a session: scores are at the step that their span made, and each span has one anchor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from app.models.scores import ScoreRow
from app.services.sessions.service import Session
from app.sessions.types import ShownSpan, Step, Turn
from app.web.presenters.session import in_tree_order, shown_turns
from tests.support.operations import growth_of

TRACE, OTHER_TRACE = bytes(range(16)), bytes(range(1, 17))


def span(number: int) -> ShownSpan:
    return ShownSpan(bytes([number] * 8).hex(), None, "span", "chat", number, number + 1, None, {})


def score(number: int, name: str, trace_id: bytes = TRACE) -> ScoreRow:
    return ScoreRow(b"", None, None, trace_id, bytes([number] * 8), None, 0, name, 1.0, None, None, "otlp")


def test_a_score_is_at_the_last_step_of_its_span_or_at_its_turn() -> None:
    spans = tuple(map(span, (1, 2, 3)))
    steps = (
        Step("tool_call", spans[0].span_id, source="messages"),
        Step("answer", spans[0].span_id, text="Hello"),
        Step("answer", spans[1].span_id, text="Good-bye"),
    )
    turns = (Turn(TRACE.hex(), 1, 4, "Hi", steps, spans=spans), Turn(OTHER_TRACE.hex(), 5, 6, "Hm", (), spans=spans))
    scores = (score(1, "first"), score(2, "second"), score(3, "of no step"), score(1, "other", OTHER_TRACE))

    shown = shown_turns(Session("s", 7, None, turns, scores))

    names = [{place: [one.name for one in found] for place, found in turn.scores.items()} for turn in shown]
    assert names == [{1: ["first"], 2: ["second"], -1: ["of no step"]}, {-1: ["other"]}]


def test_a_turn_of_many_calls_is_read_once_for_the_anchors_of_all_its_entries() -> None:
    def prepare(calls: int) -> Callable[[], object]:
        steps = tuple(Step("tool_call", f"{number:016x}", source="messages") for number in range(calls))
        session = Session("s", 7, None, (Turn(TRACE.hex(), 1, 4, "Hi", steps, spans=()),))
        return partial(_anchors_of_entries, session)

    assert growth_of(prepare, 100) < 2.5


def _anchors_of_entries(session: Session) -> list[str]:
    (turn,) = shown_turns(session)
    return [turn.anchors[index] for index in range(len(turn.entries))]


def tree(*parents: tuple[int, int | None]) -> Turn:
    """Return a turn with spans of these numbers, each with the number of its parent."""
    ids = [(f"{number:016x}", None if parent is None else f"{parent:016x}") for number, parent in parents]
    spans = tuple(replace(span(1), span_id=own, parent_span_id=parent) for own, parent in ids)
    return Turn(TRACE.hex(), 0, 1, None, (), spans=spans)


@pytest.mark.parametrize(
    ("parents", "ordered"),
    [
        ([(2, 1), (1, None), (3, 1), (4, 2)], [1, 2, 4, 3]),
        ([(1, 9), (2, 1), (3, 9)], [1, 2, 3]),
        ([(1, 2), (2, 1), (3, None)], [3, 1, 2]),
    ],
    ids=["a child that starts first", "parents that are elsewhere", "a circle"],
)
def test_spans_come_after_their_parents(parents: list[tuple[int, int | None]], ordered: list[int]) -> None:
    assert [int(shown.span_id, 16) for shown in in_tree_order(tree(*parents))] == ordered


@pytest.mark.slow
def test_twice_the_scores_of_a_turn_need_twice_the_work() -> None:
    def prepare(count: int) -> Callable[[], object]:
        scores = tuple(score(number % 200, f"score {number}") for number in range(count))
        turns = (Turn(TRACE.hex(), 1, 4, "Hi", (), spans=(span(1),)), Turn(TRACE.hex(), 5, 6, "Hm", (), spans=()))
        return partial(shown_turns, Session("s", 7, None, turns, scores))

    assert growth_of(prepare, 300) < 2.5


@pytest.mark.slow
def test_twice_the_turns_of_a_trace_with_scores_need_twice_the_work() -> None:
    def prepare(count: int) -> Callable[[], object]:
        turns = tuple(Turn(TRACE.hex(), n, n + 1, "Hi", (), spans=(of_number(n),)) for n in range(count))
        scores = tuple(replace(score(1, "s"), span_id=n.to_bytes(8, "big")) for n in range(count))
        return partial(shown_turns, Session("s", 7, None, turns, scores))

    assert growth_of(prepare, 100) < 2.5


def of_number(number: int) -> ShownSpan:
    return replace(span(1), span_id=f"{number:016x}")


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["chain", "siblings", "circle"])
def test_ordering_twice_the_spans_needs_twice_the_work(shape: str) -> None:
    def prepare(count: int) -> Callable[[], object]:
        parents = {
            "chain": [(number, number - 1 or None) for number in range(1, count + 1)],
            "siblings": [(number, 1 if number > 1 else None) for number in range(1, count + 1)],
            "circle": [(number, number % count + 1) for number in range(1, count + 1)],
        }
        return partial(in_tree_order, tree(*parents[shape]))

    assert growth_of(prepare, 500) < 2.5
