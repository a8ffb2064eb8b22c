"""Test cases of sessions before they are stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from app.chat import ToolDefinition
from app.errors import Invalid
from app.models.prompts import PromptHead
from app.otlp.masking import MASK
from app.replay.case_limits import SPANS_MAX, STEPS_MAX, TURNS_MAX, fitting_turns
from app.replay.case_types import Fidelity, Missing, TestCase
from app.replay.cases import shown_document
from app.replay.fidelity import MISSING_MAX
from app.services.replays.mistake_signs import MistakeSign
from app.services.sessions import reading
from app.sessions.types import Turn

OTHER_INSTRUCTION = "the recorded instruction is not what the version that the spans name renders"
VERSIONS_MAX, RENDERED_MAX = 20, 1_000_000
"""Renderings that are compared with the recorded instructions of a session, and their characters, but for the last."""
Rendered = Callable[[str, Mapping[str, str]], str | None]
"""Renders a version with selected values; None for an unknown version."""


@dataclass(frozen=True, slots=True)
class CaseProposal:
    """A test case of a session before it is stored; `head` is its prompt's, `tools` the tools of its draft.

    `doubts` are signs that the session went wrong. `part_of` is the id of a later session that contains this one.
    """

    head: PromptHead
    name: str
    case: TestCase
    tools: Sequence[ToolDefinition]
    # The number of turns at the end of the session that the test case leaves out.
    turns_left_out: int = 0
    doubts: Sequence[MistakeSign] = ()
    part_of: str | None = None

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


def with_instruction_gaps(case: TestCase, turns: Sequence[Turn], rendered: Rendered) -> TestCase:
    """Return the case with a gap for each turn with another recorded instruction than its version renders.

    The version is the one that the spans of the turn name; `rendered` renders it.
    """
    known: dict[tuple[str, str], str | None] = {}
    left = RENDERED_MAX
    gaps = list(case.fidelity.missing if case.fidelity else ())
    for number, turn in enumerate(turns):
        if turn.prompt_version is None or turn.instruction is None or MASK in turn.instruction:
            continue
        key = turn.prompt_version, repr(sorted((turn.placeholders or {}).items()))
        if key not in known:
            has_room = len(known) < VERSIONS_MAX and left > 0
            instruction = rendered(turn.prompt_version, turn.placeholders or {}) if has_room else None
            left -= len(instruction or "")
            known[key] = None if instruction is None else _plain(instruction)
        if known[key] not in (None, _plain(turn.instruction)):
            gaps.append(Missing(kind="instruction", turn=number, message=OTHER_INSTRUCTION))
    return replace(case, fidelity=Fidelity(missing=tuple(gaps[:MISSING_MAX])) if gaps else UNSET)


def _plain(text: str) -> str:
    """Return the words of a text."""
    return " ".join(text.split())
