"""Test cases of sessions before they are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.chat import ToolDefinition
from app.errors import Invalid
from app.models.prompts import PromptHead
from app.replay.case_limits import STEPS_MAX, TURNS_MAX, fitting_turns
from app.replay.cases import shown_document
from app.replay.types import TestCase
from app.sessions.types import Turn


@dataclass(frozen=True, slots=True)
class Proposal:
    """A test case of a session before it is made; `head` is its prompt's, `tools` the tools of its draft."""

    head: PromptHead
    name: str
    case: TestCase
    tools: Sequence[ToolDefinition]
    # The last turns of the session that the test case does not have.
    turns_left_out: int = 0

    @property
    def document(self) -> dict[str, Any]:
        return shown_document(self.case, self.tools)


def chosen_turns(turns: Sequence[Turn], number: int | None) -> Sequence[Turn]:
    """Return the turns for a test case: all if they are within its limits, else the first `number` of them."""
    fitting = fitting_turns(turns)
    if fitting == len(turns):
        return turns
    if number is None or number > fitting:
        steps = sum(len(turn.steps) for turn in turns)
        raise Invalid(
            f"turns: The session has {len(turns)} turns with {steps} steps. A test case has at most {TURNS_MAX} turns, "
            f"and {STEPS_MAX} steps in all; includedTurns makes it of the first {fitting} turns, or of fewer."
        )
    return turns[:number]
