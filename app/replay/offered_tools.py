"""Chooses the tools that a replayed turn offers to the model."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from app.chat import ToolDefinition
from app.replay.case_types import CaseTurn
from app.replay.derived_tools import is_derived
from app.replay.effects import description_of, parameters_of, recorded_definitions
from app.replay.ports import DraftPort


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools of a turn, and the recorded names that can't be offered any more."""

    tools: tuple[ToolDefinition, ...]
    gone: tuple[str, ...] = ()


def offered_tools(turn: CaseTurn, draft: DraftPort) -> Offer:
    """Return the tools of the draft. A tool of the recorded version that the agent did not offer then is left out.

    If the prompt never defined tools, the agent's code defines them. Then the recorded definitions are offered, without
    the tools that the model's vendor ran.
    """
    hosted = {step.name for step in turn.steps if step.kind == "tool_call" and step.hosted}
    definitions = recorded_definitions(turn.offered_tools or ())
    recorded = {name: entry for name, entry in definitions.items() if name not in hosted}
    if draft.agent_owns_tools:
        known = [
            ToolDefinition(name, description_of(entry), parameters_of(entry))
            for name, entry in recorded.items()
            if entry
        ]
        return Offer(tuple(known), tuple(name for name, entry in recorded.items() if not entry))
    defined = {tool.name for tool in draft.tools}
    gone = tuple(name for name in recorded if name not in defined)
    if turn.offered_tools is None:
        return Offer(tuple(draft.tools), gone)
    used = {step.name for step in turn.steps if step.kind == "tool_call"}
    left_out = draft.version_tools(turn.prompt_version) - recorded.keys() - used
    return Offer(tuple(tool for tool in draft.tools if tool.name not in left_out), gone)


def offered_from(turns: Iterable[CaseTurn]) -> Literal["recording", "calls"] | None:
    """Return what the definitions of recorded tools come from: calls if all of them are derived; None without any."""
    entries = recorded_definitions(entry for turn in turns for entry in turn.offered_tools or ())
    definitions = [entry for entry in entries.values() if entry]
    if not definitions:
        return None
    return "calls" if all(map(is_derived, definitions)) else "recording"
