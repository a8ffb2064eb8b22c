"""The recording answers tool calls in the tools' place."""

from __future__ import annotations

from collections.abc import Sequence

from app.chat import ToolCall
from app.replay.diff import equal
from app.replay.types import CaseStep, CaseTurn


class Recording:
    """The recorded calls of a session, as one turn of it looks them up; it remembers which are used."""

    def __init__(self, turns: Sequence[CaseTurn], turn: int) -> None:
        self._unused = _calls(turns[turn])
        self._everywhere = [*self._unused, *(step for each in turns for step in _calls(each))]

    def look_up(self, calls: Sequence[ToolCall]) -> list[CaseStep | None]:
        """The recorded call whose outcome answers each of `calls`, which the model made at once.

        Rules 1 to 3 of `replay.md`, in order. Rule 1 goes to all calls before rule 2 goes to any, so that
        calls made side by side get the same results in whatever order they come. None is rule 4.
        """
        equals = [self._take(call, same_arguments=True) for call in calls]
        return [
            step or self._take(call, same_arguments=False) or self._anywhere(call)
            for call, step in zip(calls, equals, strict=True)
        ]

    def _take(self, call: ToolCall, *, same_arguments: bool) -> CaseStep | None:
        for place, step in enumerate(self._unused):
            if step.name == call.name and (not same_arguments or _equal_arguments(step, call)):
                return self._unused.pop(place)
        return None

    def _anywhere(self, call: ToolCall) -> CaseStep | None:
        candidates = (step for step in self._everywhere if step.name == call.name)
        return next((step for step in candidates if _equal_arguments(step, call)), None)


def arguments_of(arguments: object) -> object:
    """A call without arguments is a call with none: `{}`, however it came."""
    return {} if arguments is None or arguments == "" else arguments


def _calls(turn: CaseTurn) -> list[CaseStep]:
    return [step for step in turn.steps if step.kind == "tool_call"]


def _equal_arguments(step: CaseStep, call: ToolCall) -> bool:
    return equal(arguments_of(step.arguments), arguments_of(call.arguments))
