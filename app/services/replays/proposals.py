"""Test cases of sessions before they are stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.chat import ToolDefinition
from app.errors import Invalid
from app.models.prompts import PromptHead
from app.replay.case_limits import SPANS_MAX, STEPS_MAX, TURNS_MAX, fitting_turns
from app.replay.cases import shown_document
from app.replay.types import TestCase
from app.services.replays.doubts import Doubt
from app.services.sessions import reading
from app.sessions.types import Turn


@dataclass(frozen=True, slots=True)
class CaseProposal:
    """A test case of a session before it is stored; `head` is its prompt's, `tools` the tools of its draft.

    `doubts` are signs that the session went wrong.
    """

    head: PromptHead
    name: str
    case: TestCase
    tools: Sequence[ToolDefinition]
    # The number of turns at the end of the session that the test case leaves out.
    turns_left_out: int = 0
    doubts: Sequence[Doubt] = ()

    @property
    def document(self) -> dict[str, Any]:
        return shown_document(self.case, self.tools)


def chosen_turns(turns: Sequence[Turn], count: int, number: int | None) -> Sequence[Turn]:
    """Return the turns for a test case: all of them if they are within its limits, else the first `number` of them.

    `turns` are the first ones of a session that has `count` turns.
    """
    fitting = fitting_turns(turns)
    if fitting == count:
        return turns
    if number is None or number > fitting:
        choice = f" Set includedTurns to use only the first {fitting} turns, or fewer." if fitting else ""
        raise Invalid(
            f"turns: The session has {count} turns. A test case has at most {TURNS_MAX} turns, {STEPS_MAX} steps in "
            f"all, is read from at most {reading.RECORD_BYTES} bytes, and is made of turns of at most {SPANS_MAX} "
            f"spans in all.{choice}"
        )
    return turns[:number]
