"""Corrects a recording: what the agent should have done instead of what it did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from app.errors import Invalid
from app.replay.case_types import (
    AnswerCheck,
    CaseStep,
    CaseTurn,
    Check,
    CheckedAnswer,
    CheckedCall,
    RemovedCall,
    TestCase,
)

CORRECTIONS_MAX = 1_000

Place = tuple[int, int]
"""A turn and a step of it, counted from 0."""


class NewStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call with the result that the draft gets, or an answer with only a text."""

    name: str | UnsetType = UNSET
    arguments: Any = UNSET
    result: Any = UNSET
    text: str | UnsetType = UNSET


class Correction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change of a recorded step, an added one, or another message of the user.

    Numbers count the steps as they are before all corrections.

    A step is added `after` a step, or before the first one if that is -1. A call with corrected arguments keeps its
    result unless there is a `result`, too.
    """

    turn: int
    step: int | UnsetType = UNSET
    remove: bool | UnsetType = UNSET
    arguments: Any = UNSET
    result: Any = UNSET
    text: str | UnsetType = UNSET
    after: int | UnsetType = UNSET
    add: NewStep | UnsetType = UNSET
    user: str | UnsetType = UNSET


def corrected(case: TestCase, corrections: Sequence[Correction], looked_at: Set[Place]) -> TestCase:
    """Return the case with the corrections.

    Steps after the first corrected step are consequences of a mistake: they are no longer checked, unless a person
    wrote them or has `looked_at` them. Another message of the user is no mistake, and leaves the checks. Raises
    `Invalid` for a correction that fits no step.
    """
    by_turn: dict[int, list[tuple[str, Correction]]] = {}
    messages: dict[int, str] = {}
    for index, correction in enumerate(corrections):
        path = f"corrections.{index}"
        _require(0 <= correction.turn < len(case.turns), f"{path}.turn", f"there are {len(case.turns)}, counted from 0")
        if correction.user is UNSET:
            by_turn.setdefault(correction.turn, []).append((path, correction))
            continue
        _require(correction.turn not in messages, f"{path}.user", "is corrected twice")
        messages[correction.turn] = _new_message(path, correction, correction.user)
    check = _check_of_answers(case)
    turns, mistaken = [], False
    for number, turn in enumerate(case.turns):
        if number in messages:
            turn = replace(turn, user=messages[number])
        editor = _TurnEditor(number, turn, by_turn.get(number, ()), check)
        turns.append(editor.corrected(looked_at, mistaken=mistaken))
        mistaken = mistaken or number in by_turn
    return replace(case, turns=tuple(turns), basis="corrected")


def turns_to_play(case: TestCase, corrections: Sequence[Correction]) -> int | None:
    """Return the number of turns until the last one that is corrected or checked; None for all.

    With only other messages of the user, the test case plays as many turns as before.
    """
    if all(correction.user is not UNSET for correction in corrections):
        return case.included_turns
    checked = (n for n, turn in enumerate(case.turns) if any(step.checked for step in turn.steps))
    count = 1 + max([*checked, *(correction.turn for correction in corrections)])
    return None if count == len(case.turns) else count


def _check_of_answers(case: TestCase) -> AnswerCheck:
    """Return the way in which the case compares its answers."""
    answers = (step.check.answer for turn in case.turns for step in turn.steps if step.kind == "answer")
    return next((check for check in answers if check in ("ai", "manual", "strict")), "meaning")


class _TurnEditor:
    """Corrects one turn; `corrections` have their paths."""

    def __init__(
        self, number: int, turn: CaseTurn, corrections: Sequence[tuple[str, Correction]], answers: AnswerCheck
    ) -> None:
        self._number = number
        self._turn = turn
        self._answers = answers
        self._changes: dict[int, Correction] = {}
        self._added: dict[int, list[CaseStep]] = {}
        for path, correction in corrections:
            if correction.add is UNSET:
                self._keep_change(path, correction)
            else:
                self._keep_added(path, correction, correction.add)

    def corrected(self, looked_at: Set[Place], *, mistaken: bool) -> CaseTurn:
        """Return the turn; `mistaken` if a turn before it has been corrected."""
        steps = [*self._added.get(-1, ())]
        removed = [*(self._turn.removed or ())]
        mistaken = mistaken or bool(steps)
        for index, step in enumerate(self._turn.steps):
            change = self._changes.get(index)
            if change is None:
                steps.append(_off(step) if mistaken and (self._number, index) not in looked_at else step)
            elif change.remove:
                removed += _removed(step)
            else:
                steps.append(self._changed(step, change))
            steps += self._added.get(index, ())
            mistaken = mistaken or change is not None or index in self._added
        return replace(self._turn, steps=tuple(steps), removed=tuple(removed) or UNSET)

    def _keep_change(self, path: str, correction: Correction) -> None:
        steps = self._turn.steps
        _require(correction.after is UNSET, f"{path}.after", "is only for a step that is added")
        _require(correction.step is not UNSET, f"{path}.step", "is required")
        known = correction.step is not UNSET and 0 <= correction.step < len(steps)
        _require(known, f"{path}.step", f"there are {len(steps)}, counted from 0")
        assert correction.step is not UNSET  # noqa: S101 - checked above
        _require(correction.step not in self._changes, f"{path}.step", "is corrected twice")
        _require_change(path, correction, steps[correction.step])
        self._changes[correction.step] = correction

    def _keep_added(self, path: str, correction: Correction, added: NewStep) -> None:
        others = ("step", "remove", "arguments", "result", "text")
        extra = next((name for name in others if getattr(correction, name) is not UNSET), None)
        _require(extra is None, f"{path}.{extra}", "is not for a step that is added")
        last = len(self._turn.steps) - 1
        after = correction.after
        _require(after is not UNSET and -1 <= after <= last, f"{path}.after", f"must be a step, -1 to {last}")
        assert after is not UNSET  # noqa: S101 - checked above
        self._added.setdefault(after, []).append(_new_step(f"{path}.add", added, self._answers))

    def _changed(self, step: CaseStep, change: Correction) -> CaseStep:
        check = replace(step.check, enabled=True)
        if step.kind == "answer":
            answer = "meaning" if check.answer in ("contains", "regex", "json_subset", "ignore") else check.answer
            text = replace(step, text=change.text, corrected=True)
            return replace(text, check=replace(check, answer=answer, value=None))
        given: dict[str, Any] = {"check": check, "corrected": True}
        if change.arguments is not UNSET:
            given["arguments"] = change.arguments
        if change.result is not UNSET:
            given |= {"result": change.result, "error": None}
        return replace(step, **given)


def _new_message(path: str, correction: Correction, user: str) -> str:
    others = ("step", "remove", "arguments", "result", "text", "after", "add")
    _require(all(getattr(correction, name) is UNSET for name in others), path, "must have only the user's message")
    _require(bool(user.strip()), f"{path}.user", "must not be empty")
    return user


def _require_change(path: str, correction: Correction, step: CaseStep) -> None:
    """Raise `Invalid` unless the correction does one thing that the step can have."""
    call = correction.arguments is not UNSET or correction.result is not UNSET
    things = (bool(correction.remove), call, correction.text is not UNSET)
    _require(sum(things) == 1, path, "must have either remove, arguments, text or add")
    if step.kind == "answer":
        field = "arguments" if correction.arguments is not UNSET else "result"
        _require(not call, f"{path}.{field}", "the step is an answer")
    else:
        _require(correction.text is UNSET, f"{path}.text", "the step is a call")
    _require(correction.text is UNSET or bool(correction.text.strip()), f"{path}.text", "must not be empty")


def _new_step(path: str, added: NewStep, answers: AnswerCheck) -> CaseStep:
    is_call = added.name is not UNSET
    _require(is_call != (added.text is not UNSET), path, "must have either a name, for a call, or a text")
    if not is_call:
        _require(added.arguments is UNSET and added.result is UNSET, path, "an answer has only a text")
        _require(bool(added.text and added.text.strip()), f"{path}.text", "must not be empty")
        return CheckedAnswer(text=added.text or "", check=Check(answer=answers), corrected=True)
    _require(bool(added.name), f"{path}.name", "must not be empty")
    arguments = {} if added.arguments is UNSET else added.arguments
    result = None if added.result is UNSET else added.result
    return CheckedCall(name=added.name or "", arguments=arguments, result=result, corrected=True)


def _off(step: CaseStep) -> CaseStep:
    return step if step.corrected else replace(step, check=replace(step.check, enabled=False))


def _removed(step: CaseStep) -> Iterator[RemovedCall]:
    if step.kind == "tool_call":
        yield RemovedCall(name=step.name, arguments=step.arguments)


def _require(holds: bool, path: str, problem: str) -> None:
    if not holds:
        raise Invalid(f"{path}: {problem}")
