"""Making test cases of recorded turns or by hand, and changing them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.errors import Invalid
from app.replay import reading
from app.replay.checks import default_check, merge_check
from app.replay.codec import SETTINGS, load_settings, require_a_check
from app.replay.types import AssertionType, CaseStep, CaseTurn, Check, TestCase
from app.sessions.types import Step, Turn

CHANGES = SETTINGS | {"steps"}


def case_from_turns(turns: Sequence[Turn], assertion: AssertionType) -> TestCase:
    """A copy of recorded turns with every step checked the way `assertion` has it.

    A replayed turn ends with the model's first answer, so of several recorded ones only the last is enabled.
    """
    check = default_check(assertion)
    return TestCase(tuple(_copy(turn, check) for turn in turns))


def case_by_hand(
    question: str, expected_answer: str, assertion: AssertionType, placeholders: Mapping[str, str] | None = None
) -> TestCase:
    """One turn with one question and one expected answer; raises `Invalid` for an empty question."""
    if not question.strip():
        raise Invalid("question: must not be empty")
    step = CaseStep("answer", text=expected_answer, check=default_check(assertion))
    return TestCase((CaseTurn(question, (step,), None if placeholders is None else dict(placeholders)),))


def accept_step(case: TestCase, turn: int, step: int, actual: Any) -> TestCase:
    """The case with what a replay produced, `{name, arguments}` or a text, as what is expected of a step from now on.

    An answer is then held against that text, unless the check says how else. Raises `Invalid` when the case has
    another step at that place.
    """
    try:
        known = case.turns[turn].steps[step]
    except IndexError:
        known = None
    called = isinstance(actual, dict)
    if known is None or (known.kind == "tool_call") != called or (called and known.name != actual["name"]):
        raise Invalid("step: the test case has changed since this replay")
    if called:
        accepted = replace(known, arguments=actual["arguments"])
    else:
        answer = "strict" if known.check.answer in ("contains", "regex") else known.check.answer
        accepted = replace(known, text=actual, check=replace(known.check, answer=answer, value=None))
    return _with_step(case, turn, step, accepted)


def change_case(case: TestCase, changes: Mapping[str, Any]) -> TestCase:
    """The case with the keys of `changes` (camelCase JSON) replaced.

    `steps` is `[{turn, step, check}]`, counted from 0; a check replaces only the keys it names. Naming an
    `assertionType` first sets how all answers are checked anew. Raises `Invalid` with the field's path,
    also when the result would check nothing.
    """
    given = reading.fields(changes, "", CHANGES)
    settings = load_settings({key: given[key] for key in given.keys() & SETTINGS}, len(case.turns))
    case = replace(case, **settings)
    if settings.get("assertion_type"):
        case = _with_default_answers(case, default_check(settings["assertion_type"]))
    for place, exception in enumerate(reading.items(given.get("steps", ()), "steps", _exception)):
        case = _with_exception(case, exception, f"steps.{place}")
    require_a_check(case, "steps")
    return case


def _copy(turn: Turn, check: Check) -> CaseTurn:
    last = max((place for place, step in enumerate(turn.steps) if step.kind == "answer"), default=-1)
    return CaseTurn(
        user=turn.user,
        steps=tuple(
            _copy_step(step, replace(check, enabled=step.kind == "tool_call" or place == last))
            for place, step in enumerate(turn.steps)
        ),
        placeholders=turn.placeholders,
        offered_tools=turn.offered_tools,
        prompt_version=turn.prompt_version,
        trace_id=turn.trace_id,
    )


def _copy_step(step: Step, check: Check) -> CaseStep:
    return CaseStep(step.kind, step.name, step.arguments, step.result, step.error, step.text, step.span_id, check)


def _exception(raw: object, path: str) -> dict[str, Any]:
    names = {"turn", "step", "check"}
    return reading.fields(raw, path, names, names)


def _with_exception(case: TestCase, exception: Mapping[str, Any], path: str) -> TestCase:
    at = reading.index(exception["turn"], f"{path}.turn", len(case.turns))
    turn = case.turns[at]
    n = reading.index(exception["step"], f"{path}.step", len(turn.steps))
    step = replace(turn.steps[n], check=merge_check(turn.steps[n].check, exception["check"], f"{path}.check"))
    return _with_step(case, at, n, step)


def _with_step(case: TestCase, at: int, n: int, step: CaseStep) -> TestCase:
    turn = case.turns[at]
    turn = replace(turn, steps=(*turn.steps[:n], step, *turn.steps[n + 1 :]))
    return replace(case, turns=(*case.turns[:at], turn, *case.turns[at + 1 :]))


def _with_default_answers(case: TestCase, default: Check) -> TestCase:
    def anew(step: CaseStep) -> CaseStep:
        return replace(step, check=replace(step.check, answer=default.answer, value=None))

    return replace(case, turns=tuple(replace(turn, steps=tuple(map(anew, turn.steps))) for turn in case.turns))
