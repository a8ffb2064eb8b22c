"""Answers a draft's tool calls from the recording, and pairs them with the recorded calls."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from app.chat import ToolCall
from app.replay.compare import arguments_of, leaves
from app.replay.effects import Tool
from app.replay.findings import AnsweredBy
from app.replay.matching import Matching, lowest_bit
from app.replay.types import CaseStep, CaseTurn, CheckedCall

MOST_COMPARED = 10_000  # pairs of calls in a turn whose arguments differ
# Tells if the check of a recorded call accepts the arguments of a call of the same tool.
Accepts = Callable[[CheckedCall, ToolCall], bool]


@dataclass(frozen=True, slots=True)
class Reply:
    """The recorded call that answers a call, None where none does."""

    step: CheckedCall | None
    answered_by: AnsweredBy


NO_REPLY = Reply(None, "none")


Arguments = tuple[str, frozenset[Any]]  # a tool's name and the leaves of a call's arguments


class RecordedCalls:
    """All recorded calls of a test case: by name, by turn and name, and by arguments."""

    def __init__(self, turns: Sequence[CaseTurn]) -> None:
        self.by_name: dict[str, list[CheckedCall]] = {}
        self.by_turn: dict[tuple[int, str], list[tuple[int, CheckedCall]]] = {}
        self.by_arguments: dict[Arguments, list[tuple[int, int, CheckedCall]]] = {}
        for turn, index, step in ((t, i, step) for t, each in enumerate(turns) for i, step in enumerate(each.steps)):
            if step.kind == "tool_call":
                self.by_name.setdefault(step.name, []).append(step)
                self.by_turn.setdefault((turn, step.name), []).append((index, step))
                self.by_arguments.setdefault(arguments_key(step), []).append((turn, index, step))


def arguments_key(call: CheckedCall | ToolCall) -> Arguments:
    """Return a key that is equal for calls of a tool with equal arguments."""
    return call.name, leaves(arguments_of(call.arguments))


class Recording:
    """The recorded calls as one turn of a test case looks them up; `accepts` compares the arguments of two calls.

    `matching` pairs the calls, counted from 0 in the order in which the model made them, with the turn's steps.
    `accepted[n]` has bit s set where the turn's s-th step accepts the n-th call.
    """

    def __init__(self, recorded: RecordedCalls, steps: Sequence[CaseStep], turn: int, accepts: Accepts) -> None:
        self.accepted: list[int] = []
        self._recorded = recorded
        self._steps = steps
        self._turn = turn
        self._accepts = accepts
        self._given: set[int] = set()
        self._compared = 0
        checked = sum(step.checked << index for index, step in enumerate(steps))
        self.matching = Matching(checked, (1 << len(steps)) - 1 - checked)

    def look_up(self, calls: Sequence[tuple[ToolCall, Tool]], allowed: Sequence[bool]) -> list[Reply]:
        """Return the answers to `calls`, which the model made at once, as docs/reference/gate.md has it.

        Calls with recorded arguments choose first, so that the order of calls made side by side does not matter. A
        call that is not `allowed` gets no answer and pairs with no step.
        """
        equals = [self._equal(call) if may else 0 for (call, _), may in zip(calls, allowed, strict=True)]
        first, replies = len(self.accepted), [NO_REPLY] * len(calls)
        self.accepted += [0] * len(calls)
        for n in sorted(range(len(calls)), key=lambda n: not equals[n]):
            if allowed[n]:
                replies[n] = self._reply(first + n, *calls[n], equals[n])
        return replies

    def nearest(self, name: str) -> CheckedCall | None:
        """Return the next recorded call of the turn with this name that has answered nothing."""
        for index, step in self._of_turn(name):
            if index not in self.matching.owners and index not in self._given:
                self._given.add(index)
                return step
        return None

    def examples(self, name: str) -> list[CheckedCall]:
        """Return all recorded calls of this name."""
        return self._recorded.by_name.get(name, [])

    def _accepts_within(self, step: CheckedCall, call: ToolCall) -> bool:
        """Compare arguments that differ; those beyond the limit are accepted only where they are equal."""
        self._compared += 1
        return self._compared <= MOST_COMPARED and self._accepts(step, call)

    def _reply(self, number: int, call: ToolCall, tool: Tool, equal: int) -> Reply:
        accepted = equal | _bits(
            index
            for index, step in self._of_turn(call.name)
            if not equal >> index & 1 and step.checked and self._accepts_within(step, call)
        )
        self.accepted[number] = accepted
        paired = self.matching.add(number, accepted, equal)
        if paired is None and accepted and (tool.effect == "read" or tool.extra == "allow"):
            paired = lowest_bit(equal or accepted)
        if paired is not None:
            return Reply(self._call(paired), "recording")
        return self._borrowed(call) if tool.effect == "read" else NO_REPLY

    def _borrowed(self, call: ToolCall) -> Reply:
        found = self._recorded.by_arguments.get(arguments_key(call), ())
        return next((Reply(step, "borrowed") for turn, _, step in found if turn != self._turn), NO_REPLY)

    def _equal(self, call: ToolCall) -> int:
        """Return the bits of the turn's steps with equal arguments, which the check of every call accepts."""
        found = self._recorded.by_arguments.get(arguments_key(call), ())
        return _bits(index for turn, index, _ in found if turn == self._turn)

    def _of_turn(self, name: str) -> list[tuple[int, CheckedCall]]:
        return self._recorded.by_turn.get((self._turn, name), [])

    def _call(self, index: int) -> CheckedCall:
        step = self._steps[index]
        assert step.kind == "tool_call"  # noqa: S101 - only calls are paired
        return step


def _bits(indexes: Iterable[int]) -> int:
    return reduce(or_, (1 << index for index in indexes), 0)
