"""The turns in the form of a long test case: steps with all of their fields, and steps that are folded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from app.replay.types import CaseStep, CaseTurn, TestCase
from app.web.filters import pretty
from app.web.forms import Form

# Characters of the turns that a page shows at first; the fields of a step count as so many.
SHOWN_MAX, STEP = 60_000, 1_500
# Steps that are opened at once, chunks that are open at once, and steps that have a tick while they are folded.
CHUNK, WHOLE_MAX, TICKS_MAX = 100, 5, 5_000
_NAME = re.compile(r"\d{1,5}(\.\d{1,5})?", re.ASCII)


def shown_turns(case: TestCase) -> int:
    """Return the number of turns, from the first, that the page shows unfolded."""
    room = SHOWN_MAX
    for index, turn in enumerate(case.turns):
        room -= _size(turn)
        if room < 0:
            return index
    return len(case.turns)


@dataclass(frozen=True, slots=True)
class ShownChunk:
    """Steps of a turn from index `start` up to `end`: whole, as ticks only, or not at all. `name` opens them."""

    start: int
    end: int
    name: str
    shown: Literal["whole", "ticks", "none"]


def opened_chunks(form: Form, requested: int | None) -> list[str]:
    """Return the names of the chunks to show whole: those of a form, and the first one of the `requested` turn."""
    named = (text for text in (*form.texts("opened"), *form.texts("open")) if _NAME.fullmatch(text))
    return list(dict.fromkeys([*([str(requested)] if requested else []), *named]))[: WHOLE_MAX + 1]


def shown_chunks(case: TestCase, unfolded: int, opened: Sequence[str]) -> list[list[ShownChunk]]:
    """Return the chunks of each turn; the first `unfolded` turns are one, shown whole.

    At most `WHOLE_MAX` of the opened ones are shown whole, and ticks of at most `TICKS_MAX` steps.
    """
    whole, ticks = set(opened[:WHOLE_MAX]), 0
    turns = []
    for number, turn in enumerate(case.turns, 1):
        if number <= unfolded:
            turns.append([ShownChunk(0, len(turn.steps), str(number), "whole")])
            continue
        chunks = []
        for start in range(0, max(1, len(turn.steps)), CHUNK):
            name, end = f"{number}.{start // CHUNK}" if start else str(number), min(start + CHUNK, len(turn.steps))
            ticks += end - start
            chunks.append(
                ShownChunk(start, end, name, "whole" if name in whole else "ticks" if ticks <= TICKS_MAX else "none")
            )
        turns.append(chunks)
    return turns


def _size(turn: CaseTurn) -> int:
    return len(turn.user or "") + sum(STEP + _step_size(step) for step in turn.steps)


def _step_size(step: CaseStep) -> int:
    if step.kind == "answer":
        return len(step.text)
    return len(pretty(step.arguments)) + len(step.error or pretty(step.result))
