"""Answers a draft's tool calls from the recording, and pairs them with the recorded calls."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import itemgetter, or_
from typing import Protocol

from app.chat import ToolCall
from app.replay.compare import arguments_of
from app.replay.effects import Tool
from app.replay.findings import AnsweredBy
from app.replay.fingerprints import fingerprint
from app.replay.matching import Matching, lowest_bit
from app.replay.types import CaseStep, CaseTurn, CheckedCall, RemovedCall
from app.values.budget import OverBudget, WorkBudget


class ArgumentsChecker(Protocol):
    """As `app.replay.checks.Checker` does it."""

    @property
    def budget(self) -> WorkBudget:
        """The budget of the replay's comparisons."""

    def is_plain(self, step: CheckedCall) -> bool:
        """Return True if the check of a recorded call accepts equal arguments only."""

    def accepts(self, step: CheckedCall, call: ToolCall) -> bool:
        """Return True if the check of a recorded call accepts a call of the same tool. Raises `OverBudget`."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The recorded call that answers a call, None where none does."""

    step: CheckedCall | None
    answered_by: AnsweredBy


NO_REPLY = Reply(None, "none")


Arguments = tuple[str, bytes]  # a tool's name and the fingerprint of a call's arguments


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


def arguments_key(call: CheckedCall | RemovedCall | ToolCall) -> Arguments:
    """Return a key that is equal for calls of a tool with equal arguments."""
    return call.name, fingerprint(arguments_of(call.arguments))


class Recording:
    """The recorded calls as one turn of a test case looks them up; `checker` compares the arguments of two calls.

    `matching` pairs the calls, counted from 0 in the order in which the model made them, with the turn's steps.
    `accepted[n]` has bit s set where the turn's s-th step accepts the n-th call, or the two are too long to compare.
    """

    def __init__(
        self, recorded: RecordedCalls, steps: Sequence[CaseStep], turn: int, checker: ArgumentsChecker
    ) -> None:
        self.accepted: list[int] = []
        self._recorded = recorded
        self._steps = steps
        self._turn = turn
        self._checker = checker
        self._equal: dict[Arguments, int] = {}
        self._comparable: dict[str, int] = {}
        self._unanswered: dict[str, Iterator[tuple[int, CheckedCall]]] = {}
        checked = sum(step.checked << index for index, step in enumerate(steps))
        self.matching = Matching(checked, (1 << len(steps)) - 1 - checked, checker.budget)

    def look_up(self, calls: Sequence[tuple[ToolCall, Tool]], allowed: Sequence[bool]) -> list[Reply]:
        """Return the answers to `calls`, which the model made at once, as docs/reference/gate.md has it.

        Calls with recorded arguments choose first, so that the order of calls made side by side does not matter. A
        call that is not `allowed` gets no answer and pairs with no step.
        """
        keys = [arguments_key(call) for call, _ in calls]
        equals = [self._equal_steps(key) if may else 0 for key, may in zip(keys, allowed, strict=True)]
        first, replies = len(self.accepted), [NO_REPLY] * len(calls)
        self.accepted += [0] * len(calls)
        for n in sorted(range(len(calls)), key=lambda n: not equals[n]):
            if allowed[n]:
                replies[n] = self._reply(first + n, *calls[n], equals[n], keys[n])
        return replies

    def nearest(self, name: str) -> CheckedCall | None:
        """Return the next recorded call of the turn with this name that has answered nothing."""
        calls = self._unanswered.setdefault(name, iter(self._of_turn(name)))
        return next((step for index, step in calls if index not in self.matching.owners), None)

    def examples(self, name: str) -> list[CheckedCall]:
        """Return all recorded calls of this name."""
        return self._recorded.by_name.get(name, [])

    def _reply(self, number: int, call: ToolCall, tool: Tool, equal: int, key: Arguments) -> Reply:
        accepted = self.accepted[number] = self._accepting(call, equal)
        paired = self.matching.add(number, accepted, equal)
        if paired is None and accepted and (tool.effect == "read" or tool.extra == "allow"):
            paired = lowest_bit(equal or accepted)
        if paired is not None:
            return Reply(self._call(paired), "recording")
        return self._borrowed(key) if tool.effect == "read" else NO_REPLY

    def _accepting(self, call: ToolCall, equal: int) -> int:
        """Return the bits of the turn's steps that accept a call, which include the `equal` ones.

        If the budget is used up, these are all steps that no comparison has excluded: a person compares them.
        """
        accepted, waiting = equal, self._comparable_steps(call.name) & ~equal
        try:
            while waiting:
                self._checker.budget.spend(1)
                index = lowest_bit(waiting)
                accepted |= self._checker.accepts(self._call(index), call) << index
                waiting ^= 1 << index
        except OverBudget:
            return accepted | waiting
        return accepted

    def _comparable_steps(self, name: str) -> int:
        """Return the bits of the turn's steps with a check that may accept other arguments."""
        if name not in self._comparable:
            calls = self._of_turn(name)
            self._comparable[name] = _bits(
                index for index, step in calls if step.checked and not self._checker.is_plain(step)
            )
        return self._comparable[name]

    def _borrowed(self, key: Arguments) -> Reply:
        found = self._recorded.by_arguments.get(key, ())
        own = bisect_left(found, self._turn, key=itemgetter(0))
        other = bisect_right(found, self._turn, key=itemgetter(0)) if own == 0 else 0
        return Reply(found[other][2], "borrowed") if other < len(found) else NO_REPLY

    def _equal_steps(self, key: Arguments) -> int:
        """Return the bits of the turn's steps with equal arguments, which the check of every call accepts."""
        if key not in self._equal:
            found = self._recorded.by_arguments.get(key, ())
            begin, end = (bisect(found, self._turn, key=itemgetter(0)) for bisect in (bisect_left, bisect_right))
            self._equal[key] = _bits(index for _, index, _ in found[begin:end])
        return self._equal[key]

    def _of_turn(self, name: str) -> list[tuple[int, CheckedCall]]:
        return self._recorded.by_turn.get((self._turn, name), [])

    def _call(self, index: int) -> CheckedCall:
        step = self._steps[index]
        assert step.kind == "tool_call"  # noqa: S101 - only calls are paired
        return step


def _bits(indexes: Iterable[int]) -> int:
    return reduce(or_, (1 << index for index in indexes), 0)
