"""Answers a draft's tool calls from the recording, and pairs them with the recorded calls."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from operator import itemgetter, or_

from msgspec import structs

from app.chat import ToolCall
from app.replay.call_arguments import arguments_of
from app.replay.checks import Checker
from app.replay.effects import Tool
from app.replay.failures import reports_failure
from app.replay.fingerprints import fingerprint, similarity, traits
from app.replay.matching import Matching, indexes_of, lowest_bit
from app.replay.result_types import AnsweredBy, ProducedCall
from app.replay.stored_replies import CallReply, Replies
from app.replay.types import CaseStep, CaseTurn, CheckedCall, RemovedCall
from app.values.budget import OverBudget


@dataclass(frozen=True, slots=True)
class Reply:
    """The recorded call that answers a call, None where none does."""

    step: CheckedCall | None
    answered_by: AnsweredBy


_IN_COMMON = 16  # traits that a step compares
NO_REPLY = Reply(None, "none")


Arguments = tuple[str, bytes]  # a tool's name and the fingerprint of a call's arguments


RecordedKeys = dict[tuple[int, int], Arguments]
"""The keys of recorded calls, by their turn and step: a conversation that is played again need not make them again."""


class RecordedCalls:
    """All recorded calls of a test case: by name, by turn and name, and by arguments.

    The `keys` that are known are not made again; the others are added to them.
    """

    def __init__(self, turns: Sequence[CaseTurn], keys: RecordedKeys | None = None) -> None:
        keys = {} if keys is None else keys
        self.by_name: dict[str, list[CheckedCall]] = {}
        self.by_turn: dict[tuple[int, str], list[tuple[int, CheckedCall]]] = {}
        self.by_arguments: dict[Arguments, list[tuple[int, int, CheckedCall]]] = {}
        for turn, index, step in (
            (t, i, step) for t, case_turn in enumerate(turns) for i, step in enumerate(case_turn.steps)
        ):
            if step.kind == "tool_call":
                self.by_name.setdefault(step.name, []).append(step)
                self.by_turn.setdefault((turn, step.name), []).append((index, step))
                key = keys.get((turn, index)) or keys.setdefault((turn, index), arguments_key(step))
                self.by_arguments.setdefault(key, []).append((turn, index, step))


def failed_steps(steps: Sequence[CaseStep]) -> frozenset[int]:
    """Return the calls of a turn that failed: by their error, or by their result if the tool succeeded later on."""
    failed = set()
    succeeded = set()
    for index in reversed(range(len(steps))):
        step = steps[index]
        if step.kind != "tool_call":
            continue
        if step.error is None and not reports_failure(step.result):
            succeeded.add(step.name)
        elif step.error is not None or step.name in succeeded:
            failed.add(index)
    return frozenset(failed)


def optional_steps(
    steps: Sequence[CaseStep], failed: frozenset[int], rules_of: Callable[[CheckedCall], Tool]
) -> dict[int, str]:
    """Return the calls of a turn that a draft may leave out, each with the reason.

    `failed` are the calls that failed, and `rules_of` gives a call's rules.
    """
    optional = dict.fromkeys(failed, "its recorded result is an error")
    seen: set[Arguments] = set()
    for index, step in enumerate(steps):
        if step.kind != "tool_call" or index in optional:
            continue
        key = arguments_key(step)
        if key in seen and rules_of(step).effect == "read":
            optional[index] = "it repeats a read of this turn"
        seen.add(key)
    return optional


def arguments_key(call: CheckedCall | ProducedCall | RemovedCall | ToolCall) -> Arguments:
    """Return a key that is equal for calls of a tool with equal arguments."""
    return call.name, fingerprint(arguments_of(call.arguments))


class Recording:
    """The recorded calls as one turn of a test case looks them up; `checker` compares the arguments of two calls.

    `matching` pairs the calls, counted from 0 in the order in which the model made them, with the turn's steps.
    `accepted[n]` has bit s set where the turn's s-th step accepts the n-th call, or the two are too long to compare.
    Calls that have known `replies` are not compared, and what is found for the others is added to these.
    """

    def __init__(
        self,
        recorded: RecordedCalls,
        steps: Sequence[CaseStep],
        turn: int,
        checker: Checker,
        replies: Replies | None = None,
    ) -> None:
        self.accepted: list[int] = []
        self._recorded = recorded
        self._steps = steps
        self._turn = turn
        self._checker = checker
        self._replies = Replies() if replies is None else replies
        self._equal: dict[Arguments, int] = {}
        self._comparable: dict[str, int] = {}
        self._lenient: dict[str, int] = {}
        self._traits: dict[int, frozenset[bytes]] = {}
        self._unanswered: dict[str, Iterator[tuple[int, CheckedCall]]] = {}
        self.failed = failed_steps(steps)
        calls = (n for n, step in enumerate(steps) if step.kind == "tool_call")
        self._with_result = _bits(n for n in calls if n not in self.failed)
        checked = sum(step.checked << index for index, step in enumerate(steps))
        self.matching = Matching(checked, (1 << len(steps)) - 1 - checked, checker.budget)

    def keys_of(self, calls: Sequence[ToolCall]) -> list[Arguments]:
        """Return the keys of the next calls; those with known replies are not read for it."""
        known = self._replies.next_known(len(calls)) or [None] * len(calls)
        return [
            (call.name, reply.key) if reply and reply.key else arguments_key(call)
            for call, reply in zip(calls, known, strict=True)
        ]

    def look_up(
        self, calls: Sequence[tuple[ToolCall, Tool]], allowed: Sequence[bool], keys: Sequence[Arguments]
    ) -> list[Reply]:
        """Return the answers to `calls`, which the model made at once, as docs/reference/gate.md has it.

        Calls with recorded arguments choose first, so that the order of calls made side by side does not matter. A
        call that is not `allowed` gets no answer and pairs with no step. `keys` are what `keys_of` returns.
        """
        equals = [self._equal_steps(key) if may else 0 for key, may in zip(keys, allowed, strict=True)]
        first, replies = len(self.accepted), [NO_REPLY] * len(calls)
        self.accepted += [0] * len(calls)
        known = self._replies.known_of(len(calls))
        made: list[CallReply | None] = [*known] or [None] * len(calls)
        for n in sorted(range(len(calls)), key=lambda n: not equals[n]):
            (call, tool), reply = calls[n], made[n]
            if not allowed[n]:
                made[n] = reply or CallReply(key=keys[n][1])
                continue
            if reply is None:
                found = self._look_up(first + n, call, tool, equals[n])
                reply = made[n] = structs.replace(found, key=keys[n][1])
            else:
                self._restore(first + n, call, equals[n], reply)
            if reply.paired is not None:
                replies[n] = Reply(self.call(reply.paired), "recording")
            elif tool.effect == "read":
                replies[n] = self._borrowed(keys[n])
        if not known:
            self._replies.new += made
        return replies

    def closest(self, call: ToolCall, taken: int) -> int | None:
        """Return the checked step, with a result, that no call has yet and that is the most like this one.

        `taken` are the bits of further steps that are left out.
        """
        free = self._comparable_steps(call.name) & self._with_result & self.matching.free & ~taken
        return lowest_bit(self._closest(call, free)) if free else None

    def answer(self, number: int, step: int) -> Reply:
        """Answer a call that no step accepts by one that a reader has accepted for it."""
        self.accepted[number] = bit = 1 << step
        self.matching.add(number, bit, bit)
        return Reply(self.call(step), "recording")

    def nearest(self, name: str) -> CheckedCall | None:
        """Return the next recorded call of the turn with this name that has answered nothing."""
        calls = self._unanswered.setdefault(name, iter(self._of_turn(name)))
        return next((step for index, step in calls if index not in self.matching.owners), None)

    def examples(self, name: str) -> list[CheckedCall]:
        """Return all recorded calls of this name."""
        return self._recorded.by_name.get(name, [])

    def _look_up(self, number: int, call: ToolCall, tool: Tool, equal: int) -> CallReply:
        accepted, unsure, undecided = self._accepting(call, equal)
        self.accepted[number] = either = accepted | unsure | undecided
        preferred = equal or self._closest(call, accepted) or self._closest(call, unsure | undecided)
        paired = self.matching.add(number, either, preferred)
        moved = tuple(self.matching.moved.items())
        if paired is None and either and (tool.effect == "read" or tool.extra == "allow"):
            paired = lowest_bit(equal or accepted or unsure | undecided)
        decided = tuple(indexes_of(either & ~equal & ~undecided))
        return CallReply(decided, lowest_bit(undecided) if undecided else None, paired, moved)

    def _restore(self, number: int, call: ToolCall, equal: int, known: CallReply) -> None:
        either = equal | _bits(known.accepted)
        if known.undecided is not None:
            either |= self._comparable_steps(call.name) & ~((1 << known.undecided) - 1)
        self.accepted[number] = either
        self.matching.restore(number, either, dict(known.moved))

    def _accepting(self, call: ToolCall, equal: int) -> tuple[int, int, int]:
        """Return the bits of the turn's steps that accept a call, which include the `equal` ones, and of open ones.

        A call with recorded arguments leaves nothing open. The last bits are those of steps that are open because the
        budget is used up, before any comparison excluded them: a person compares them.
        """
        steps = self._lenient_steps(call.name) if equal else self._comparable_steps(call.name)
        accepted, unsure, waiting = equal, 0, steps & ~equal
        with suppress(OverBudget):
            for index in indexes_of(waiting):
                self._checker.budget.spend(1)
                result = self._checker.compare_call(self.call(index), call)
                accepted |= (result == "passed") << index
                unsure |= (result == "needs_review") << index
                waiting ^= 1 << index
        return (accepted, 0, 0) if equal else (accepted, unsure, waiting)

    def _closest(self, call: ToolCall, steps: int) -> int:
        """Return the bit of the free step, of several, with the most similar arguments."""
        free = steps & self.matching.free
        if free.bit_count() < 2:
            return free
        try:
            call_traits = traits(arguments_of(call.arguments), self._checker.budget)
            likeness = {index: similarity(call_traits, self._traits_of(index)) for index in indexes_of(free)}
        except OverBudget:
            return free
        return 1 << max(likeness, key=lambda index: (likeness[index], -index))

    def _traits_of(self, index: int) -> frozenset[bytes]:
        budget = self._checker.budget
        if index not in self._traits:
            self._traits[index] = traits(arguments_of(self.call(index).arguments), budget)
        budget.spend(1 + len(self._traits[index]) // _IN_COMMON)
        return self._traits[index]

    def _comparable_steps(self, name: str) -> int:
        """Return the bits of the turn's steps with a check that may accept other arguments."""
        if name not in self._comparable:
            self._comparable[name] = _bits(index for index, step in self._of_turn(name) if step.checked)
        return self._comparable[name]

    def _lenient_steps(self, name: str) -> int:
        """Return the bits of the turn's steps with a check that accepts other arguments without a reader."""
        if name not in self._lenient:
            calls = self._of_turn(name)
            self._lenient[name] = _bits(
                index for index, step in calls if step.checked and not self._checker.is_plain(step)
            )
        return self._lenient[name]

    def _borrowed(self, key: Arguments) -> Reply:
        answers = self._recorded.by_arguments.get(key, ())
        first = bisect_left(answers, self._turn, key=itemgetter(0))
        other = bisect_right(answers, self._turn, key=itemgetter(0)) if first == 0 else 0
        return Reply(answers[other][2], "borrowed") if other < len(answers) else NO_REPLY

    def _equal_steps(self, key: Arguments) -> int:
        """Return the bits of the turn's steps with equal arguments, which the check of every call accepts."""
        if key not in self._equal:
            answers = self._recorded.by_arguments.get(key, ())
            begin, end = (bisect(answers, self._turn, key=itemgetter(0)) for bisect in (bisect_left, bisect_right))
            self._equal[key] = _bits(index for _, index, _ in answers[begin:end])
        return self._equal[key]

    def _of_turn(self, name: str) -> list[tuple[int, CheckedCall]]:
        return self._recorded.by_turn.get((self._turn, name), [])

    def call(self, index: int) -> CheckedCall:
        """Return a step of the turn that is a call."""
        step = self._steps[index]
        assert step.kind == "tool_call"  # noqa: S101 - only calls are paired
        return step


def _bits(indexes: Iterable[int]) -> int:
    return reduce(or_, (1 << index for index in indexes), 0)
