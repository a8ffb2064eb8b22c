"""The turns in the form of a long test case: those with all of their fields, and those that are folded."""

from __future__ import annotations

from app.replay.types import CaseStep, CaseTurn, TestCase
from app.web.filters import pretty
from app.web.forms import Form

# Characters of the turns that a page shows at first; the fields of a step count as so many.
SHOWN_MAX, STEP = 60_000, 1_500


def shown_turns(case: TestCase) -> int:
    """Return the number of turns, from the first, that the page shows unfolded."""
    room = SHOWN_MAX
    for index, turn in enumerate(case.turns):
        room -= _size(turn)
        if room < 0:
            return index
    return len(case.turns)


def opened_turns(form: Form, requested: int | None) -> set[int]:
    """Return the numbers, from 1, of the folded turns to show whole: those of a form, and the `requested` one."""
    named = [text for text in (*form.texts("opened"), *form.texts("open")) if text.isdecimal() and len(text) < 6]
    return {int(text) for text in named} | ({requested} if requested else set())


def _size(turn: CaseTurn) -> int:
    return len(turn.user or "") + sum(STEP + _step_size(step) for step in turn.steps)


def _step_size(step: CaseStep) -> int:
    if step.kind == "answer":
        return len(step.text)
    return len(pretty(step.arguments)) + len(step.error or pretty(step.result))
