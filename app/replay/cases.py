"""Making test cases of recorded turns or by hand, reading them, and changing them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from app.chat import ToolDefinition
from app.errors import Invalid
from app.replay.documents import dump, join, load
from app.replay.effects import tools_of
from app.replay.free_text import SeenResults, free_paths
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
    ToolRules,
)
from app.sessions.types import Step, Turn

# By the assertion type of the prompt; a recorded answer is worded anew at every run, one by hand is meant as it is.
_RECORDED: dict[AssertionType, AnswerCheck] = {"STRICT": "meaning", "AI": "ai", "MANUAL": "manual"}
_BY_HAND: dict[AssertionType, AnswerCheck] = {**_RECORDED, "STRICT": "strict"}


class StepChange(msgspec.Struct, forbid_unknown_fields=True):
    """The fields of `check` replace those of a step; turns and their steps count from 0."""

    turn: int
    step: int
    check: dict[str, Any]


class CaseChanges(CaseSettings, frozen=True, kw_only=True):
    steps: tuple[StepChange, ...] = ()
    tools: dict[str, dict[str, Any] | None] = msgspec.field(default_factory=dict)


def load_case(raw: object, path: str = "") -> TestCase:
    """Read a stored or imported test case. Raises `Invalid`, naming the field, for what can't be replayed."""
    if isinstance(raw, Mapping) and isinstance(raw.get("tools"), Mapping):
        for name, rules in raw["tools"].items():
            load(rules, ToolRules, f"{join(path, 'tools')}.{name}")
    case = load(raw, TestCase, path)
    for index, turn in enumerate(case.turns):
        for n, tool in enumerate(turn.offered_tools or ()):
            if isinstance(tool, dict) and not isinstance(tool.get("name"), str):
                raise Invalid(f"{join(path, 'turns')}.{index}.offeredTools.{n}.name: must be a string")
    _require_playable(case, path, "turns")
    return case


def case_from_turns(
    turns: Sequence[Turn], assertion: AssertionType, defined: Sequence[ToolDefinition] = ()
) -> TestCase:
    """Copy recorded turns, with every step checked as `assertion` has it, and propose which arguments are free text.

    A replayed turn ends with the model's first answer, so of several recorded ones only the last is enabled.
    `defined` are the tools of the prompt.
    """
    check = Check(answer=_RECORDED[assertion])
    case = TestCase(turns=tuple(_copy(turn, check) for turn in turns))
    return replace(case, tools=_free_text(case, defined))


def case_by_hand(
    question: str, expected_answer: str, assertion: AssertionType, placeholders: Mapping[str, str] | None = None
) -> TestCase:
    """Make one turn with one question and one expected answer. Raises `Invalid` for an empty question."""
    if not question.strip():
        raise Invalid("question: must not be empty")
    step = CheckedAnswer(text=expected_answer, check=Check(answer=_BY_HAND[assertion]))
    selections = None if placeholders is None else dict(placeholders)
    return TestCase(turns=(CaseTurn(user=question, steps=(step,), placeholders=selections),))


def is_acceptable(verdict: Mapping[str, Any]) -> bool:
    """Return True if the verdict, the JSON of a `StepVerdict`, says what the draft did: a call never made counts."""
    never_called = verdict["kind"] == "tool_call" and verdict["result"] == "failed"
    return verdict["actual"] is not None or never_called


def accept_step(case: TestCase, turn: int, step: int, actual: Any) -> TestCase:
    """Return the case which expects of a step what a replay produced: `{name, arguments}`, a text, or None.

    An answer is then compared with that text, unless the check says how else; a call that was never made is then not
    checked. Raises `Invalid` when the case has another step there, and when it would check nothing.
    """
    try:
        recorded = case.turns[turn].steps[step]
    except IndexError:
        recorded = None
    if isinstance(recorded, CheckedCall) and actual is None:
        unchecked = replace(recorded, check=replace(recorded.check, enabled=False))
        case = _with_step(case, turn, step, unchecked)
        _require_playable(case, "", "step")
        return case
    if isinstance(recorded, CheckedCall) and isinstance(actual, dict) and recorded.name == actual["name"]:
        return _with_step(case, turn, step, replace(recorded, arguments=actual["arguments"]))
    if isinstance(recorded, CheckedAnswer) and isinstance(actual, str):
        answer = "strict" if recorded.check.answer in ("contains", "regex") else recorded.check.answer
        check = replace(recorded.check, answer=answer, value=None)
        return _with_step(case, turn, step, replace(recorded, text=actual, check=check))
    raise Invalid("step: the test case has changed since this replay")


def acceptable_steps(case: TestCase, result: Mapping[str, Any]) -> list[tuple[int, int, Any]]:
    """Return (turn, step, verdict) of the failed steps that accepting, one after the other, would change the case by.

    `result` is the JSON of a `ReplayResult`, or empty. Steps that the case has no more are left out.
    """
    found = []
    for turn, played in enumerate(result.get("turns", ())):
        for step, verdict in enumerate(played["steps"]):
            accepted = _accepted(case, turn, step, verdict)
            if accepted != case:
                found.append((turn, step, verdict))
            case = accepted
    return found


def _accepted(case: TestCase, turn: int, step: int, verdict: Mapping[str, Any]) -> TestCase:
    """Return the case after the failed step was accepted; as it is, if that can't be."""
    if verdict["result"] != "failed" or not is_acceptable(verdict):
        return case
    try:
        return accept_step(case, turn, step, verdict["actual"])
    except Invalid:
        return case


def change_case(case: TestCase, changes: Mapping[str, Any]) -> TestCase:
    """Return the case with the fields that `changes`, the JSON of `CaseChanges`, names replaced.

    A check replaces only the fields it names. Naming an `assertionType` first sets how all answers are checked.
    The rules of a tool likewise; None puts a rule, or all of a tool's, back to the default. Raises `Invalid` with the
    field's path, also when the result would check nothing.
    """
    given = load(changes, CaseChanges)
    named = [field.name for field in msgspec.structs.fields(CaseSettings) if field.encode_name in changes]
    case = replace(case, **{name: getattr(given, name) for name in named})
    if given.assertion_type:
        recorded = any(turn.trace_id for turn in case.turns)
        case = _with_default_answers(case, (_RECORDED if recorded else _BY_HAND)[given.assertion_type])
    case = replace(case, tools=_changed_rules(case.tools, given.tools))
    for index, change in enumerate(given.steps):
        case = _with_change(case, change, f"steps.{index}")
    _require_playable(case, "", "steps")
    return case


def merge_check(check: Check, changes: Mapping[str, Any], path: str) -> Check:
    """Return the check with the fields that `changes`, JSON at `path`, names replaced. Raises `Invalid`."""
    return load({**msgspec.to_builtins(check), **changes}, Check, path)


def shown_document(case: TestCase, tools: Sequence[ToolDefinition]) -> dict[str, Any]:
    """Return the JSON of a test case with the rules of all its tools; `tools` are those of the prompt's draft."""
    rules = {name: msgspec.to_builtins(tool) for name, tool in tools_of(case, tools).items()}
    for each in rules.values():
        del each["name"], each["schema"]
    return dump(case) | {"tools": rules}


def needs_judge(case: TestCase) -> bool:
    """Return True if a model surely has to judge or to play a tool in a replay of the case."""
    matchers = [rules.arguments for rules in case.tools.values()]
    simulated = case.on_missing == "simulate" or any(each.on_missing == "simulate" for each in case.tools.values())
    for step in (step for turn in case.played for step in turn.steps if step.checked):
        if step.kind == "answer" and step.check.answer == "ai":
            return True
        if step.kind == "tool_call" and isinstance(step.check.arguments, dict):
            matchers.append(step.check.arguments)
    judged = any(isinstance(each, dict) and each.get("match") == "ai" for every in matchers for each in every.values())
    return case.judge == "always" or simulated or judged


def _require_playable(case: TestCase, path: str, steps: str) -> None:
    """Raise `Invalid` unless an included turn checks a step: a test that checks nothing can't fail."""
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
        batch=step.batch,
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


def _with_default_answers(case: TestCase, default: AnswerCheck) -> TestCase:
    def reset(step: CaseStep) -> CaseStep:
        return replace(step, check=replace(step.check, answer=default, value=None))

    return replace(case, turns=tuple(replace(turn, steps=tuple(map(reset, turn.steps))) for turn in case.turns))


def _changed_rules(
    rules: Mapping[str, ToolRules], changes: Mapping[str, dict[str, Any] | None]
) -> dict[str, ToolRules]:
    """Return the rules of tools with the changed ones; tools without any rule are left out."""
    changed = {name: _merged(name, rules.get(name, ToolRules()), change or {}) for name, change in changes.items()}
    given = {**rules, **{name: changed[name] if change else ToolRules() for name, change in changes.items()}}
    return {name: each for name, each in given.items() if each != ToolRules()}


def _merged(name: str, rules: ToolRules, change: Mapping[str, Any]) -> ToolRules:
    """Return the rules with those that `change` names; the `effectFrom` of an answer may be sent back unread."""
    merged = {**msgspec.to_builtins(rules), **change}
    return load(
        {key: value for key, value in merged.items() if value is not None and key != "effectFrom"},
        ToolRules,
        f"tools.{name}",
    )


def _free_text(case: TestCase, defined: Sequence[ToolDefinition]) -> dict[str, ToolRules]:
    """Return rules for the tools that have arguments of free text: matchers for these."""
    tools = tools_of(case, defined)
    found: dict[str, dict[str, Any]] = {}
    results = SeenResults()
    for turn in case.turns:
        for step in turn.steps:
            if step.kind == "tool_call":
                tool = tools[step.name]
                free = free_paths(
                    step.arguments, tool.schema, is_read=tool.effect == "read", user=turn.user or "", results=results
                )
                found.setdefault(step.name, {}).update(free)
                results.add(step.result)
    return {name: ToolRules(arguments=free) for name, free in found.items() if free}
