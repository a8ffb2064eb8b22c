"""Signs that the agent made a mistake in a session, which a test case should then not demand again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from app.models.scores import ScoreRow
from app.services.sessions.service import Session
from app.sessions.types import Turn

LOW_SCORE = 0.5
"""Scores below this value are low. False counts as 0, true as 1."""
SIGNS_MAX = 100
SHOWN_MAX = 200
"""Characters of a recorded error in a message."""


@dataclass(frozen=True, slots=True)
class MistakeSign:
    """A sign of a mistake. `turn` and `step` count from 0; they are None for a sign of the whole session or turn."""

    kind: Literal["error", "low_score", "failed_check"]
    turn: int | None
    step: int | None
    message: str


def mistake_signs(session: Session) -> list[MistakeSign]:
    """Return the first `SIGNS_MAX` signs in the order of the turns, those of the whole session first."""
    signs = [*_scores(session), *(sign for n, turn in enumerate(session.turns) for sign in _errors(n, turn))]
    signs.sort(key=lambda sign: (-1 if sign.turn is None else sign.turn, -1 if sign.step is None else sign.step))
    return signs[:SIGNS_MAX]


def is_low(score: ScoreRow) -> bool:
    """Return True if a score has a value, from 0 to 1, below `LOW_SCORE`."""
    return score.value is not None and score.value < LOW_SCORE


def _scores(session: Session) -> Iterator[MistakeSign]:
    turns = {turn.trace_id: n for n, turn in enumerate(session.turns)}
    steps = {(turn.trace_id, step.span_id): n for turn in session.turns for n, step in enumerate(turn.steps)}
    for score in filter(is_low, session.scores):
        trace_id, span_id = (score.trace_id or b"").hex(), (score.span_id or b"").hex()
        turn, step = turns.get(trace_id), steps.get((trace_id, span_id))
        if score.trace_id is None or turn is not None:
            yield _low(score, turn, step)


def _low(score: ScoreRow, turn: int | None, step: int | None) -> MistakeSign:
    comment = f": {_cut(score.comment)}" if score.comment else ""
    if score.source == "check":
        return MistakeSign("failed_check", turn, step, f"The online check {score.name} failed{comment}")
    value = score.shown_label or f"{score.value:g}"
    return MistakeSign("low_score", turn, step, f"The score {score.name} is {value}{comment}")


def _errors(number: int, turn: Turn) -> Iterator[MistakeSign]:
    known = {step.span_id for step in turn.steps if step.error}
    for n, step in enumerate(turn.steps):
        if step.error:
            yield MistakeSign("error", number, n, f"{step.name} failed: {_cut(step.error)}")
    for span in turn.spans:
        if span.error and span.convention and span.span_id not in known:
            yield MistakeSign("error", number, None, f"{span.name} failed: {_cut(span.error)}")


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_MAX else text[: SHOWN_MAX - 1] + "…"
