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
from app.replay.case_types import CaseStep, CaseTurn, CheckedCall, RemovedCall
from app.replay.checks import Checker
from app.replay.effects import Tool
from app.replay.failures import reports_failure
from app.replay.fingerprints import fingerprint, similarity, traits
from app.replay.matching import Matching, indexes_of, lowest_bit
from app.replay.result_types import AnsweredBy, ProducedCall
from app.replay.stored_replies import StoredReplies, StoredReply
from app.replay.tool_names import is_thought
from app.values.budget import OverBudget


@dataclass(frozen=True, slots=True)
class Reply:
    """The recorded call that answers a call, None where none does."""

    step: CheckedCall | None
    answered_by: AnsweredBy


_IN_COMMON = 16  # traits that a step compares
NO_REPLY = Reply(None, "none")


CallKey = tuple[str, bytes]
"""The name of a tool and the fingerprint of a call's arguments: equal for calls with equal arguments."""


RecordedKeys = dict[tuple[int, int], CallKey]
"""The keys of recorded calls by (turn, step). A conversation that is played again reuses them."""


class RecordedCalls:
    """All recorded calls of a test case: by name, by turn and name, and by arguments.

    `keys` has the keys of calls that were read before; the keys of the other calls are added to it.
    """

    def __init__(self, turns: Sequence[CaseTurn], keys: RecordedKeys | None = None) -> None:
        keys = {} if keys is None else keys
        self.by_name: dict[str, list[CheckedCall]] = {}
        self.by_turn: dict[tuple[int, str], list[tuple[int, CheckedCall]]] = {}
        self.by_arguments: dict[CallKey, list[tuple[int, int, CheckedCall]]] = {}
        for turn, index, step in (
            (t, i, step) for t, case_turn in enumerate(turns) for i, step in enumerate(case_turn.steps)
        ):
            if step.kind == "tool_call":
                self.by_name.setdefault(step.name, []).append(step)
                self.by_turn.setdefault((turn, step.name), []).append((index, step))
                key = keys.get((turn, index)) or keys.setdefault((turn, index), arguments_key(step))
                self.by_arguments.setdefault(key, []).append((turn, index, step))


def failed_steps(steps: Sequence[CaseStep]) -> frozenset[int]:
    """Return the indexes of a turn's failed calls.

    A call failed if it has an error, or if its result reports a failure and a later call of the tool succeeded.
    """
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
    seen: set[CallKey] = set()
    for index, step in enumerate(steps):
        if step.kind != "tool_call" or index in optional:
            continue
        key = arguments_key(step)
        if (key in seen or is_thought(step.name)) and rules_of(step).effect == "read":
            optional[index] = "it repeats a read of this turn" if key in seen else "it is a thought of the model"
        seen.add(key)
    return optional


def arguments_key(call: CheckedCall | ProducedCall | RemovedCall | ToolCall) -> CallKey:
    """Return a key that is equal for calls of a tool with equal arguments."""
    return call.name, fingerprint(arguments_of(call.arguments))


class Recording:
    """Answers the draft's calls of one turn from the recorded calls; `checker` compares the arguments of two calls.

    Calls have numbers from 0, in the order in which the model made them. Sets of the turn's steps are integers, in
    which bit `s` is the step at index `s`.

    `matching` pairs the numbers of calls with steps. `accepted[n]` is the set of the steps that accept call `n`, or
    that are too long to be compared with it. Calls with a stored reply in `replies` are not compared again; the
    replies to the other calls are added to `replies`.
    """

    def __init__(
        self,
        recorded: RecordedCalls,
        steps: Sequence[CaseStep],
        turn: int,
        checker: Checker,
        replies: StoredReplies | None = None,
    ) -> None:
        self.accepted: list[int] = []
        self._recorded = recorded
        self._steps = steps
        self._turn = turn
        self._checker = checker
        self._replies = StoredReplies() if replies is None else replies
        self._equal: dict[CallKey, int] = {}
        self._comparable: dict[str, int] = {}
        self._lenient: dict[str, int] = {}
        self._traits: dict[int, frozenset[bytes]] = {}
        self._unanswered: dict[str, Iterator[tuple[int, CheckedCall]]] = {}
        self.failed = failed_steps(steps)
        calls = (n for n, step in enumerate(steps) if step.kind == "tool_call")
        self._with_result = _bits(n for n in calls if n not in self.failed)
        checked = sum(step.checked << index for index, step in enumerate(steps))
        self.matching = Matching(checked, (1 << len(steps)) - 1 - checked, checker.budget)

    def keys_of(self, calls: Sequence[ToolCall]) -> list[CallKey]:
        """Return the keys of the next calls. The arguments of a call with a stored reply are not read."""
        stored = self._replies.upcoming(len(calls)) or [None] * len(calls)
        return [
            (call.name, reply.key) if reply and reply.key else arguments_key(call)
            for call, reply in zip(calls, stored, strict=True)
        ]

    def answer_calls(
        self, calls: Sequence[tuple[ToolCall, Tool]], allowed: Sequence[bool], keys: Sequence[CallKey]
    ) -> list[Reply]:
        """Return the replies to `calls`, which one message of the model has, by the rules of docs/reference/gate.md.

        Calls with recorded arguments choose their steps first, so that the order within the message does not matter. A
        call that is not `allowed` gets `NO_REPLY` and pairs with no step. `keys` are the result of `keys_of`.
        """
        equals = [self._equal_steps(key) if may else 0 for key, may in zip(keys, allowed, strict=True)]
        first, replies = len(self.accepted), [NO_REPLY] * len(calls)
        self.accepted += [0] * len(calls)
        stored = self._replies.advance(len(calls))
        made: list[StoredReply | None] = [*stored] or [None] * len(calls)
        for n in sorted(range(len(calls)), key=lambda n: not equals[n]):
            (call, tool), reply = calls[n], made[n]
            if not allowed[n]:
                made[n] = reply or StoredReply(key=keys[n][1])
                continue
            if reply is None:
                found = self._compared_reply(first + n, call, tool, equals[n])
                reply = made[n] = structs.replace(found, key=keys[n][1])
            else:
                self._restore(first + n, call, equals[n], reply)
            if reply.paired is not None:
                replies[n] = Reply(self.call(reply.paired), "recording")
            elif tool.effect == "read":
                replies[n] = self._borrowed_reply(keys[n])
        if not stored:
            self._replies.new += made
        return replies

    def most_similar_step(self, call: ToolCall, taken: int) -> int | None:
        """Return the index of the unpaired checked step, with a result, that is most similar to a call; None without.

        Steps in the set `taken` are left out.
        """
        free = self._comparable_steps(call.name) & self._with_result & self.matching.free & ~taken
        return lowest_bit(self._most_similar(call, free)) if free else None

    def answer(self, number: int, step: int) -> Reply:
        """Answer call `number` with the result of a step that a judge has accepted for it."""
        self.accepted[number] = bit = 1 << step
        self.matching.add(number, bit, bit)
        return Reply(self.call(step), "recording")

    def next_unused_call(self, name: str) -> CheckedCall | None:
        """Return the next recorded call of the turn with this name that has answered no call of the draft."""
        calls = self._unanswered.setdefault(name, iter(self._of_turn(name)))
        return next((step for index, step in calls if index not in self.matching.owners), None)

    def examples(self, name: str) -> list[CheckedCall]:
        """Return all recorded calls of this name."""
        return self._recorded.by_name.get(name, [])

    def _compared_reply(self, number: int, call: ToolCall, tool: Tool, equal: int) -> StoredReply:
        accepted, unsure, undecided = self._accepting_steps(call, equal)
        self.accepted[number] = either = accepted | unsure | undecided
        preferred = equal or self._most_similar(call, accepted) or self._most_similar(call, unsure | undecided)
        paired = self.matching.add(number, either, preferred)
        moved = tuple(self.matching.moved.items())
        if paired is None and either and (tool.effect == "read" or tool.extra == "allow"):
            paired = lowest_bit(equal or accepted or unsure | undecided)
        decided = tuple(indexes_of(either & ~equal & ~undecided))
        return StoredReply(decided, lowest_bit(undecided) if undecided else None, paired, moved)

    def _restore(self, number: int, call: ToolCall, equal: int, known: StoredReply) -> None:
        either = equal | _bits(known.accepted)
        if known.undecided is not None:
            either |= self._comparable_steps(call.name) & ~((1 << known.undecided) - 1)
        self.accepted[number] = either
        self.matching.restore(number, either, dict(known.moved))

    def _accepting_steps(self, call: ToolCall, equal: int) -> tuple[int, int, int]:
        """Return three sets of the turn's steps: the accepting, the possibly accepting, and the uncompared steps.

        The first set includes the `equal` ones. With recorded arguments, the other two are empty. Steps are not
        compared when the budget is used up: a person has to compare them.
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

    def _most_similar(self, call: ToolCall, steps: int) -> int:
        """Return the set with only the unpaired step that has the most similar arguments; empty without one."""
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
        """Return the set of the turn's calls of this tool with a check that may accept other arguments."""
        if name not in self._comparable:
            self._comparable[name] = _bits(index for index, step in self._of_turn(name) if step.checked)
        return self._comparable[name]

    def _lenient_steps(self, name: str) -> int:
        """Return the set of the turn's calls of this tool with a check that accepts other arguments without a judge."""
        if name not in self._lenient:
            calls = self._of_turn(name)
            self._lenient[name] = _bits(
                index for index, step in calls if step.checked and not self._checker.is_plain(step)
            )
        return self._lenient[name]

    def _borrowed_reply(self, key: CallKey) -> Reply:
        answers = self._recorded.by_arguments.get(key, ())
        first = bisect_left(answers, self._turn, key=itemgetter(0))
        other = bisect_right(answers, self._turn, key=itemgetter(0)) if first == 0 else 0
        return Reply(answers[other][2], "borrowed") if other < len(answers) else NO_REPLY

    def _equal_steps(self, key: CallKey) -> int:
        """Return the set of the turn's steps with equal arguments, which every check accepts."""
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
