"""Making test cases of recorded turns or by hand, reading them, and changing them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from app.errors import Invalid
from app.replay.documents import join, load
from app.replay.types import (
    AnswerCheck,
    AssertionType,
    CaseSettings,
    CaseStep,
    CaseTurn,
    Check,
    CheckedAnswer,
    CheckedCall,
    TestCase,
)
from app.sessions.types import Step, Turn

_ANSWER_BY_ASSERTION: dict[AssertionType, AnswerCheck] = {"STRICT": "strict", "AI": "ai", "MANUAL": "manual"}


class StepChange(msgspec.Struct, forbid_unknown_fields=True):
    """The fields of `check` replace those of a step; turns and their steps count from 0."""

    turn: int
    step: int
    check: dict[str, Any]


class CaseChanges(CaseSettings, frozen=True, kw_only=True):
    steps: tuple[StepChange, ...] = ()


def default_check(assertion: AssertionType) -> Check:
    """Return the check of a step that nobody has changed, by the assertion type of its prompt."""
    return Check(answer=_ANSWER_BY_ASSERTION[assertion])


def load_case(raw: object, path: str = "") -> TestCase:
    """Read a stored or imported test case. Raises `Invalid`, naming the field, for what can't be replayed."""
    case = load(raw, TestCase, path)
    for index, turn in enumerate(case.turns):
        for n, tool in enumerate(turn.offered_tools or ()):
            if isinstance(tool, dict) and not isinstance(tool.get("name"), str):
                raise Invalid(f"{join(path, 'turns')}.{index}.offeredTools.{n}.name: must be a string")
    _require_playable(case, path, "turns")
    return case


def case_from_turns(turns: Sequence[Turn], assertion: AssertionType) -> TestCase:
    """Copy recorded turns, with every step checked as `assertion` has it.

    A replayed turn ends with the model's first answer, so of several recorded ones only the last is enabled.
    """
    check = default_check(assertion)
    return TestCase(turns=tuple(_copy(turn, check) for turn in turns))


def case_by_hand(
    question: str, expected_answer: str, assertion: AssertionType, placeholders: Mapping[str, str] | None = None
) -> TestCase:
    """Make one turn with one question and one expected answer. Raises `Invalid` for an empty question."""
    if not question.strip():
        raise Invalid("question: must not be empty")
    step = CheckedAnswer(text=expected_answer, check=default_check(assertion))
    selections = None if placeholders is None else dict(placeholders)
    return TestCase(turns=(CaseTurn(user=question, steps=(step,), placeholders=selections),))


def accept_step(case: TestCase, turn: int, step: int, actual: Any) -> TestCase:
    """Return the case which expects of a step what a replay produced: `{name, arguments}`, or a text.

    An answer is then compared with that text, unless the check says how else. Raises `Invalid` when the case has
    another step there.
    """
    try:
        recorded = case.turns[turn].steps[step]
    except IndexError:
        recorded = None
    if isinstance(recorded, CheckedCall) and isinstance(actual, dict) and recorded.name == actual["name"]:
        return _with_step(case, turn, step, replace(recorded, arguments=actual["arguments"]))
    if isinstance(recorded, CheckedAnswer) and isinstance(actual, str):
        answer = "strict" if recorded.check.answer in ("contains", "regex") else recorded.check.answer
        check = replace(recorded.check, answer=answer, value=None)
        return _with_step(case, turn, step, replace(recorded, text=actual, check=check))
    raise Invalid("step: the test case has changed since this replay")


def change_case(case: TestCase, changes: Mapping[str, Any]) -> TestCase:
    """Return the case with the fields that `changes`, the JSON of `CaseChanges`, names replaced.

    A check replaces only the fields it names. Naming an `assertionType` first sets how all answers are checked.
    Raises `Invalid` with the field's path, also when the result would check nothing.
    """
    given = load(changes, CaseChanges)
    named = [field.name for field in msgspec.structs.fields(CaseSettings) if field.encode_name in changes]
    case = replace(case, **{name: getattr(given, name) for name in named})
    if given.assertion_type:
        case = _with_default_answers(case, default_check(given.assertion_type))
    for index, change in enumerate(given.steps):
        case = _with_change(case, change, f"steps.{index}")
    _require_playable(case, "", "steps")
    return case


def merge_check(check: Check, changes: Mapping[str, Any], path: str) -> Check:
    """Return the check with the fields that `changes`, JSON at `path`, names replaced. Raises `Invalid`."""
    return load({**msgspec.to_builtins(check), **changes}, Check, path)


def _require_playable(case: TestCase, path: str, steps: str) -> None:
    """A test that checks nothing can't fail: an included turn has to check a step."""
    if case.included_turns is not None and not 1 <= case.included_turns <= len(case.turns):
        raise Invalid(f"{join(path, 'includedTurns')}: must be a whole number from 1 to {len(case.turns)}")
    if not any(step.checked for turn in case.played for step in turn.steps):
        raise Invalid(f"{join(path, steps)}: at least one step of the included turns must be checked")


def _copy(turn: Turn, check: Check) -> CaseTurn:
    last = max((index for index, step in enumerate(turn.steps) if step.kind == "answer"), default=-1)
    return CaseTurn(
        user=turn.user,
        steps=tuple(
            _copy_step(step, replace(check, enabled=step.kind == "tool_call" or index == last))
            for index, step in enumerate(turn.steps)
        ),
        placeholders=turn.placeholders,
        offered_tools=turn.offered_tools,
        prompt_version=turn.prompt_version,
        trace_id=turn.trace_id,
    )


def _copy_step(step: Step, check: Check) -> CaseStep:
    if step.kind == "answer":
        return CheckedAnswer(span_id=step.span_id, text=step.text, check=check)
    return CheckedCall(
        span_id=step.span_id,
        name=step.name,
        arguments=step.arguments,
        result=step.result,
        error=step.error,
        check=check,
    )


def _with_change(case: TestCase, change: StepChange, path: str) -> TestCase:
    _require_index(change.turn, case.turns, f"{path}.turn")
    steps = case.turns[change.turn].steps
    _require_index(change.step, steps, f"{path}.step")
    step = steps[change.step]
    check = merge_check(step.check, change.check, f"{path}.check")
    return _with_step(case, change.turn, change.step, replace(step, check=check))


def _require_index(index: int, entries: Sequence[object], path: str) -> None:
    if not 0 <= index < len(entries):
        raise Invalid(f"{path}: there are {len(entries)}, counted from 0")


def _with_step(case: TestCase, turn: int, n: int, step: CaseStep) -> TestCase:
    before = case.turns[turn]
    changed = replace(before, steps=(*before.steps[:n], step, *before.steps[n + 1 :]))
    return replace(case, turns=(*case.turns[:turn], changed, *case.turns[turn + 1 :]))


def _with_default_answers(case: TestCase, default: Check) -> TestCase:
    def reset(step: CaseStep) -> CaseStep:
        return replace(step, check=replace(step.check, answer=default.answer, value=None))

    return replace(case, turns=tuple(replace(turn, steps=tuple(map(reset, turn.steps))) for turn in case.turns))
