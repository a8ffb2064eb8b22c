"""The turns in the form of a long test case: steps with all their fields, and folded steps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from app.replay.case_types import CaseStep, CaseTurn, TestCase
from app.web.filters import pretty
from app.web.forms import Form

# The characters of turns that a page shows at first. The fields of a step count as this many characters.
SHOWN_MAX, STEP = 60_000, 1_500
# Steps that open together, chunks that can be open together, and folded steps that have a tick.
CHUNK, WHOLE_MAX, TICKS_MAX = 100, 5, 5_000
_NAME = re.compile(r"\d{1,5}(\.\d{1,5})?", re.ASCII)


def shown_turns(case: TestCase) -> int:
    """Return how many of the first turns the page shows unfolded."""
    room = SHOWN_MAX
    for index, turn in enumerate(case.turns):
        room -= _size(turn)
        if room < 0:
            return index
    return len(case.turns)


@dataclass(frozen=True, slots=True)
class ShownChunk:
    """The steps of a turn from index `start` to before `end`: whole, as ticks, or hidden. `name` opens them."""

    start: int
    end: int
    name: str
    shown: Literal["whole", "ticks", "none"]


def only_shown(form: Form, requested: int | None, case: TestCase) -> int | None:
    """Return the number of the only turn that the page shows, counted from 1; None for all turns.

    `requested` is the number in the address. A form that was sent from such a page has the number, too.
    """
    sent = form.text("only")
    number = int(sent) if _NAME.fullmatch(sent) and sent.isdigit() else requested
    return number if number and 1 <= number <= len(case.turns) else None


def opened_chunks(form: Form, requested: int | None) -> list[str]:
    """Return the names of the chunks to show whole: the form's, and the first of the `requested` turn."""
    named = (text for text in (*form.texts("opened"), *form.texts("open")) if _NAME.fullmatch(text))
    return list(dict.fromkeys([*([str(requested)] if requested else []), *named]))[: WHOLE_MAX + 1]


def shown_chunks(case: TestCase, unfolded: int, opened: Sequence[str]) -> list[list[ShownChunk]]:
    """Return the chunks of each turn. Each of the first `unfolded` turns is one chunk, shown whole.

    At most `WHOLE_MAX` of the opened chunks are shown whole, and at most `TICKS_MAX` steps as ticks.
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
