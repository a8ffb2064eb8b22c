"""What the model is told in a replay: recorded turns as messages, recorded outcomes as tool results."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from app.chat import Message, ToolCall, ToolDefinition
from app.replay.types import CaseStep, CaseTurn

UNAVAILABLE = json.dumps({"error": "tool unavailable"})


def recorded_past(turns: Sequence[CaseTurn]) -> tuple[Message, ...]:
    """The recorded turns as a conversation; those whose content was not recorded are left out."""
    return tuple(message for place, turn in enumerate(turns) if turn.user for message in _said(place, turn))


def result_text(step: CaseStep | None) -> str:
    """What the model reads as a tool's result: the recorded text or JSON, or the recorded error."""
    if step is None:
        return UNAVAILABLE
    if step.error is not None:
        return json.dumps({"error": step.error}, ensure_ascii=False)
    return step.result if isinstance(step.result, str) else json.dumps(step.result, ensure_ascii=False)


def offered_tools(
    recorded: Sequence[str | dict[str, Any]] | None, draft: Sequence[ToolDefinition]
) -> tuple[tuple[ToolDefinition, ...], tuple[str, ...]]:
    """The tools to offer, and the recorded names that can't be offered any more.

    Recorded names select among the draft's tools, recorded definitions fill in those that the draft lacks,
    nothing recorded offers all of the draft's.
    """
    if recorded is None:
        return tuple(draft), ()
    known = {tool.name: tool for tool in draft}
    offered: dict[str, ToolDefinition] = {}
    gone: dict[str, None] = {}
    for entry in recorded:
        name = entry if isinstance(entry, str) else str(entry.get("name") or "")
        tool = known.get(name) or (_definition(name, entry) if isinstance(entry, dict) and name else None)
        if tool is None:
            gone[name] = None
        else:
            offered.setdefault(name, tool)
    return tuple(offered.values()), tuple(gone)


def _said(place: int, turn: CaseTurn) -> Iterator[Message]:
    yield Message("user", turn.user or "")
    for number, step in enumerate(turn.steps):
        if step.kind == "tool_call":
            call = ToolCall(f"call_{place}_{number}", step.name, step.arguments)
            yield Message("assistant", "", tool_calls=(call,))
            yield Message("tool", result_text(step), tool_call_id=call.id)
        elif step.text:
            yield Message("assistant", step.text)


def _definition(name: str, entry: dict[str, Any]) -> ToolDefinition:
    parameters = entry.get("parameters")
    return ToolDefinition(name, str(entry.get("description") or ""), parameters if isinstance(parameters, dict) else {})
