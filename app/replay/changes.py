"""Changes what a test case checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from app.errors import Invalid
from app.replay.cases import BY_HAND, RECORDED, require_playable
from app.replay.documents import load
from app.replay.edited_steps import EditedSteps
from app.replay.types import AnswerCheck, CaseSettings, CaseStep, Check, TestCase, ToolRules


class StepChange(msgspec.Struct, forbid_unknown_fields=True):
    """The fields of `check` replace those of a step; turns and their steps count from 0."""

    turn: int
    step: int
    check: dict[str, Any]


class CaseChanges(CaseSettings, frozen=True, kw_only=True):
    steps: tuple[StepChange, ...] = ()
    tools: dict[str, dict[str, Any] | None] = msgspec.field(default_factory=dict)


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
        case = _with_default_answers(case, (RECORDED if recorded else BY_HAND)[given.assertion_type])
    case = replace(case, tools=_changed_rules(case.tools, given.tools))
    if given.steps:
        case = _with_changed_steps(case, given.steps)
    require_playable(case, "", "steps")
    return case


def merge_check(check: Check, changes: Mapping[str, Any], path: str) -> Check:
    """Return the check with the fields that `changes`, JSON at `path`, names replaced. Raises `Invalid`."""
    return load({**msgspec.to_builtins(check), **changes}, Check, path)


def _with_changed_steps(case: TestCase, changes: Iterable[StepChange]) -> TestCase:
    steps = EditedSteps(case)
    for index, change in enumerate(changes):
        path = f"steps.{index}"
        _require_index(change.turn, case.turns, f"{path}.turn")
        _require_index(change.step, case.turns[change.turn].steps, f"{path}.step")
        step = steps.get(change.turn, change.step)
        assert step is not None  # noqa: S101 - both indexes were checked
        check = merge_check(step.check, change.check, f"{path}.check")
        steps.put(change.turn, change.step, replace(step, check=check))
    return steps.case()


def _require_index(index: int, entries: Sequence[object], path: str) -> None:
    if not 0 <= index < len(entries):
        raise Invalid(f"{path}: there are {len(entries)}, counted from 0")


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
    return {name: tool for name, tool in given.items() if tool != ToolRules()}


def _merged(name: str, rules: ToolRules, change: Mapping[str, Any]) -> ToolRules:
    """Return the rules with those that `change` names; the `effectFrom` of an answer may be sent back unread."""
    merged = {**msgspec.to_builtins(rules), **change}
    return load(
        {key: value for key, value in merged.items() if value is not None and key != "effectFrom"},
        ToolRules,
        f"tools.{name}",
    )
