"""All texts of a turn, one by one, for the search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from app.sessions.spans import TurnSpan
from app.sessions.steps import reasoning, text_with_calls
from app.sessions.types import Step

Kind = Literal["user", "arguments", "result", "error", "answer", "reasoning", "aside"]
TEXT_MAX, TURN_MAX = 200_000, 1_000_000
"""Characters of a text, and of a turn, that are read."""
TEXT_MIN = 64
"""Characters that a text counts as at least."""


class TurnText(NamedTuple):
    """A text of a turn. `span_id` is that of its step, None for the user's text; an `aside` comes with tool calls.

    `part` is the index of the turn that has it, among the turns of a conversation in one trace.
    """

    kind: Kind
    span_id: str | None
    text: str
    part: int = 0


@dataclass(frozen=True, slots=True)
class LoneTurn:
    """A turn that is built without its session, only for its texts.

    A conversation in one trace has several turns: `users` has the text of each one, and `part_of` the indexes of those
    turns by the ids of their spans.
    """

    users: tuple[str | None, ...]
    steps: tuple[Step, ...]
    spans: Sequence[TurnSpan]
    part_of: Mapping[str, int] = field(default_factory=dict)


def texts_in(turn: LoneTurn) -> Iterator[TurnText]:
    """Yield the texts of a turn until `TURN_MAX` characters are reached."""
    left = TURN_MAX
    for whole in _all(turn):
        if left <= 0:
            return
        text = whole.text[: min(left, TEXT_MAX)]
        left -= max(len(text), TEXT_MIN)
        part = turn.part_of.get(whole.span_id, 0) if whole.span_id else whole.part
        yield whole._replace(text=text, part=part)


def _all(turn: LoneTurn) -> Iterator[TurnText]:
    for part, user in enumerate(turn.users):
        if user:
            yield TurnText("user", None, user, part)
    for step in turn.steps:
        yield from _of_step(step)
    for span in turn.spans:
        if thought := reasoning(span.outputs):
            yield TurnText("reasoning", span.span_id, thought)
        if aside := text_with_calls(span.outputs):
            yield TurnText("aside", span.span_id, aside)


def _of_step(step: Step) -> Iterator[TurnText]:
    if step.kind == "answer":
        yield TurnText("answer", step.span_id, step.text)
        return
    yield TurnText("arguments", step.span_id, _text(step.arguments))
    if step.error:
        yield TurnText("error", step.span_id, step.error)
    else:
        yield TurnText("result", step.span_id, _text(step.result))


def _text(value: Any) -> str:
    """Return the names and values of a JSON value as lines, cut where a text is cut."""
    lines, waiting, length = [], [value], 0
    while waiting and length < TEXT_MAX:
        part = waiting.pop()
        if isinstance(part, dict):
            waiting += [inner for pair in reversed(part.items()) for inner in reversed(pair)]
        elif isinstance(part, list):
            waiting += reversed(part)
        elif part is not None:
            lines.append(str(part))
            length += len(lines[-1]) + 1
    return "\n".join(lines)
