"""Faults on purpose: recorded calls that fail in a replay, and what a draft must do then (docs/reference/gate.md)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from app.errors import Invalid
from app.replay.case_types import CaseStep, CaseTurn, CheckedAnswer, CheckedCall, TestCase
from app.replay.comparison import Assertion
from app.replay.documents import join
from app.replay.effects import Tool
from app.replay.fault_types import FAULTS_MAX, Fault, FaultKind
from app.replay.recording import CallKey, arguments_key
from app.replay.result_types import ViolationKind

CALLS_BEYOND = 3  # calls that a turn with a fault may have beyond the recorded ones

_MESSAGES: dict[FaultKind, str] = {
    "timeout": "The tool did not answer in time.",
    "error": "The tool failed with an internal error.",
    "refused": "The tool refused this call.",
    "garbage": "<html><head><title>Bad Gateway</title></head><body>Bad Gateway</bo",
}
_HAPPENED: dict[FaultKind, str] = {
    "timeout": "did not answer in time, so that it is unknown whether the call had an effect",
    "error": "failed with an error",
    "refused": "refused the call",
    "empty": "returned nothing",
    "garbage": "returned text that can't be read",
}
_ANSWER = (
    "On purpose, these calls of the turn failed: {failed}. The recorded answer was given when they succeeded, so it is "
    "no measure. The answer must not claim or imply that a failed call succeeded, or state what only its result could "
    "show. It passes if it explains what was not possible, asks, or offers another way."
)
_WRITE = (
    "On purpose, these calls of the turn failed before this call: {failed}. This call passes if it is right although "
    "they failed. It fails if it needs what they should have done, or claims that they succeeded."
)
_AFTER = "{name} was called after another call had failed, and no model may judge whether that is right"


@dataclass(frozen=True, slots=True)
class TurnFaults:
    """The faults of one turn. `asserted` are assertions about recorded writes that come after a fault, by step.

    `optional` are the calls after a fault, which a draft need not make, each with the reason.
    """

    steps: frozenset[int] = frozenset()
    optional: Mapping[int, str] = field(default_factory=dict)
    asserted: Mapping[int, Assertion] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FaultedCase:
    """A test case with the results that its faults give to calls; `turns` are the turns with a fault, by number."""

    case: TestCase
    turns: Mapping[int, TurnFaults] = field(default_factory=dict)


@dataclass(slots=True)
class FaultGuard:
    """Watches the calls of a turn: what a draft must not do once one has `failed`, perhaps in a turn before."""

    faults: TurnFaults
    steps: Sequence[CaseStep]
    failed: set[CallKey]
    calls: Counter[CallKey] = field(default_factory=Counter)
    _recorded: Counter[CallKey] = field(init=False)

    def __post_init__(self) -> None:
        self._recorded = Counter(arguments_key(step) for step in self.steps if step.kind == "tool_call")

    @property
    def most_calls(self) -> int:
        return CALLS_BEYOND + sum(step.kind == "tool_call" and not step.hosted for step in self.steps)

    def optional(self, recorded: Mapping[int, str]) -> dict[int, str]:
        """Return the steps that may be left out, each with the reason.

        These are the `recorded` turn's, except a call that is to fail, and the calls after a fault.
        """
        return {**{n: why for n, why in recorded.items() if n not in self.faults.steps}, **self.faults.optional}

    def fails(self, step: CheckedCall | None) -> bool:
        """Return True if a recorded call is one that fails on purpose."""
        return any(self.steps[index] is step for index in self.faults.steps)

    def note_failure(self, key: CallKey) -> None:
        """Remember that a call of the draft has failed on purpose."""
        self.failed.add(key)

    def rules_for(self, key: CallKey, tool: Tool) -> tuple[Tool, ViolationKind | None]:
        """Return the rules for a call, and the rule that forbids it.

        After a fault no write may come that the recording lacks. The same call may come again if that is idempotent.
        """
        self.calls[key] += 1
        if not self.failed or tool.effect == "read":
            return tool, None
        if key not in self.failed or self.calls[key] <= self._recorded[key]:
            return replace(tool, extra="fail"), None
        return (replace(tool, extra="allow"), None) if tool.idempotent else (tool, "repeated_write")


def with_faults(case: TestCase, faults: Sequence[Fault]) -> FaultedCase:
    """Return the case with the faults. It ends with the last turn that has one: what follows was about a success.

    Raises `Invalid`, with the path of the field, for a fault that fits no call.
    """
    by_turn: defaultdict[int, dict[int, Fault]] = defaultdict(dict)
    for (turn, step), fault in _places(case, faults, "faults").items():
        by_turn[turn][step] = fault
    if not by_turn:
        return FaultedCase(case)
    turns, changed = list(case.turns), dict[int, TurnFaults]()
    # A recorded history shows that the calls of earlier turns succeeded, so only a replayed one has their failures.
    failed = _Failed()
    for number in range(min(by_turn), max(by_turn) + 1):
        before = failed if case.history == "replayed" else _Failed()
        if before.calls or number in by_turn:
            of_turn = by_turn.get(number, {})
            failed = before.with_calls(of_turn)
            from_start = bool(before.calls)
            turns[number], changed[number] = _faulted(case.turns[number], of_turn, failed, from_start=from_start)
    return FaultedCase(replace(case, turns=tuple(turns), included_turns=max(by_turn) + 1), changed)


def require_faults(case: TestCase, faults: Sequence[Fault], path: str) -> None:
    """Raise `Invalid`, with the path of the field, for a fault that fits no call of the turns that are played."""
    _places(case, faults, path)


def require_variants(case: TestCase, path: str) -> None:
    """Raise `Invalid` for variants with the same name, or with faults that fit no call."""
    names = set[str]()
    for index, variant in enumerate(case.variants or ()):
        place = join(path, f"variants.{index}")
        if variant.name in names:
            raise Invalid(f"{place}.name: another variant has this name")
        names.add(variant.name)
        require_faults(case, variant.faults, f"{place}.faults")


def _places(case: TestCase, faults: Sequence[Fault], path: str) -> dict[tuple[int, int], Fault]:
    """Return the faults by the turn and the step that fail."""
    if len(faults) > FAULTS_MAX:
        raise Invalid(f"{path}: at most {FAULTS_MAX}")
    calls: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for turn, played in enumerate(case.played_turns):
        for n, step in enumerate(played.steps):
            if step.kind == "tool_call" and not step.hosted:
                calls[step.name].append((turn, n))
    places: dict[tuple[int, int], Fault] = {}
    for index, fault in enumerate(faults):
        recorded = calls.get(fault.tool, [])
        if not recorded:
            raise Invalid(f"{path}.{index}.tool: the turns that are played have no call of {fault.tool}")
        if fault.call >= len(recorded):
            raise Invalid(f"{path}.{index}.call: there are {len(recorded)}, counted from 0")
        if recorded[fault.call] in places:
            raise Invalid(f"{path}.{index}.call: another fault is for this call")
        places[recorded[fault.call]] = fault
    return places


class _Failed:
    """The calls that have failed, as sentences, and the assertions about what follows, which turns share."""

    def __init__(self, calls: Sequence[str] = ()) -> None:
        self.calls = calls
        failed = "; ".join(calls)
        self.answer, self.write = _ANSWER.format(failed=failed), _WRITE.format(failed=failed)

    def with_calls(self, faults: Mapping[int, Fault]) -> _Failed:
        """Return all failed calls after those of a turn."""
        if not faults:
            return self
        return _Failed([*self.calls, *(f"{fault.tool} {_HAPPENED[fault.kind]}" for _, fault in sorted(faults.items()))])


def _faulted(
    turn: CaseTurn, faults: Mapping[int, Fault], failed: _Failed, *, from_start: bool
) -> tuple[CaseTurn, TurnFaults]:
    """Return a turn with its faults; `failed` are all failed calls, `from_start` if some failed in turns before.

    Calls that the recorded model made in the same message as the first that fails do not come after it.
    """
    steps = list(turn.steps)
    for index, fault in faults.items():
        steps[index] = _failing(turn.steps[index], fault)
    first = -1 if from_start else min(faults)
    batch = "" if from_start else _batch(turn.steps[first])
    calls = {
        n: step.name
        for n, step in enumerate(turn.steps)
        if step.kind == "tool_call" and n > first and (not batch or step.batch != batch)
    }
    _judge_last_answer(steps, failed.answer)
    asserted = {n: Assertion(failed.write, _AFTER.format(name=name)) for n, name in calls.items() if n not in faults}
    optional = dict.fromkeys(calls, "it comes after a call that failed on purpose")
    return replace(turn, steps=tuple(steps)), TurnFaults(frozenset(faults), optional, asserted)


def _batch(step: CaseStep) -> str:
    return step.batch if step.kind == "tool_call" else ""


def _failing(step: CaseStep, fault: Fault) -> CheckedCall:
    """Return a recorded call with the result that the fault gives it; a draft has to make it."""
    assert step.kind == "tool_call"  # noqa: S101 - only calls have faults
    result: Any = None
    error: str | None = fault.message or _MESSAGES.get(fault.kind)
    if fault.kind == "empty":
        result, error = _emptied(step.result), None
    elif fault.kind == "garbage":
        result, error = error, None
    return replace(step, result=result, error=error, check=replace(step.check, enabled=True))


def _emptied(result: Any) -> Any:
    """Return an empty value of the type of a recorded result."""
    return type(result)() if isinstance(result, str | list | dict) else None


def _judge_last_answer(steps: list[CaseStep], assertion: str) -> None:
    """Let a judge compare the last answer with an assertion. A turn without an answer gets one for that."""
    answers = [index for index, step in enumerate(steps) if step.kind == "answer"]
    if not answers:
        answers = [len(steps)]
        steps.append(CheckedAnswer())
    for index in answers:
        step = steps[index]
        is_last = index == answers[-1]
        check = replace(step.check, enabled=is_last, answer="ai", value=assertion)
        steps[index] = replace(step, check=check)


def described(fault: Fault) -> str:
    """Return what a fault does, as messages show it."""
    return f"call {fault.call + 1} of {fault.tool}: {fault.kind}"
