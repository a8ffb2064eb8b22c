"""Makes the messages that a replay sends to the model: recorded turns, and recorded results in the tools' place."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from app.chat import Message, ToolCall, ToolDefinition
from app.replay.diff import arguments_of, equal
from app.replay.types import CaseTurn, CheckedCall

UNAVAILABLE = json.dumps({"error": "tool unavailable"})


class Recording:
    """The recorded calls of a session, as one turn of it looks them up; it remembers which are used."""

    def __init__(self, turns: Sequence[CaseTurn], turn: int) -> None:
        self._unused = _calls(turns[turn])
        self._everywhere = [*self._unused, *(step for each in turns for step in _calls(each))]

    def look_up(self, calls: Sequence[ToolCall]) -> list[CheckedCall | None]:
        """Return the recorded call that answers each of `calls`, which the model made at once; None where none does.

        Follows the rules 1 to 3 of docs/reference/gate.md.
        """
        equals = [self._take(call, same_arguments=True) for call in calls]
        return [
            step or self._take(call, same_arguments=False) or self._anywhere(call)
            for call, step in zip(calls, equals, strict=True)
        ]

    def _take(self, call: ToolCall, *, same_arguments: bool) -> CheckedCall | None:
        for index, step in enumerate(self._unused):
            if step.name == call.name and (not same_arguments or _equal_arguments(step, call)):
                return self._unused.pop(index)
        return None

    def _anywhere(self, call: ToolCall) -> CheckedCall | None:
        candidates = (step for step in self._everywhere if step.name == call.name)
        return next((step for step in candidates if _equal_arguments(step, call)), None)


def recorded_past(turns: Sequence[CaseTurn]) -> tuple[Message, ...]:
    """Return the recorded turns as a conversation, without those whose content was not recorded."""
    return tuple(message for index, turn in enumerate(turns) if turn.user for message in _messages(index, turn))


def result_text(step: CheckedCall | None) -> str:
    """Return a tool's result as the model reads it: the recorded text or JSON, or the recorded error."""
    if step is None:
        return UNAVAILABLE
    if step.error is not None:
        return json.dumps({"error": step.error}, ensure_ascii=False)
    return step.result if isinstance(step.result, str) else json.dumps(step.result, ensure_ascii=False)


def offered_tools(
    recorded: Sequence[str | dict[str, Any]] | None, draft: Sequence[ToolDefinition]
) -> tuple[tuple[ToolDefinition, ...], tuple[str, ...]]:
    """Return the tools to offer, and the recorded names that can't be offered any more.

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


def _messages(index: int, turn: CaseTurn) -> Iterator[Message]:
    yield Message("user", turn.user or "")
    for n, step in enumerate(turn.steps):
        if step.kind == "tool_call":
            call = ToolCall(f"call_{index}_{n}", step.name, step.arguments)
            yield Message("assistant", "", tool_calls=(call,))
            yield Message("tool", result_text(step), tool_call_id=call.id)
        elif step.text:
            yield Message("assistant", step.text)


def _definition(name: str, entry: dict[str, Any]) -> ToolDefinition:
    parameters = entry.get("parameters")
    return ToolDefinition(name, str(entry.get("description") or ""), parameters if isinstance(parameters, dict) else {})


def _calls(turn: CaseTurn) -> list[CheckedCall]:
    return [step for step in turn.steps if step.kind == "tool_call"]


def _equal_arguments(step: CheckedCall, call: ToolCall) -> bool:
    return equal(arguments_of(step.arguments), arguments_of(call.arguments))
