"""Changes what a test case checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from app.errors import Invalid
from app.replay.case_limits import (
    TOOLS_MAX,
    count_matchers,
    require_few_matchers,
    require_few_matchers_in_all,
    require_few_steps,
)
from app.replay.case_types import AnswerCheck, CaseSettings, CaseStep, Check, TestCase, ToolRules
from app.replay.cases import BY_HAND, RECORDED, require_playable
from app.replay.corrections import CORRECTIONS_MAX, Correction, corrected, turns_to_play
from app.replay.documents import load
from app.replay.edited_steps import EditedSteps
from app.replay.fault_types import VARIANTS_MAX, Variant
from app.replay.patterns import NewPatterns

_ONLY_SHOWN = ("effectFrom", "proposedEffect")


class StepChange(msgspec.Struct, forbid_unknown_fields=True):
    """The fields of `check` replace those of a step; turns and their steps count from 0."""

    turn: int
    step: int
    check: dict[str, Any]


class CaseChanges(CaseSettings, frozen=True, kw_only=True):
    steps: tuple[StepChange, ...] = ()
    corrections: Annotated[tuple[Correction, ...], Meta(max_length=CORRECTIONS_MAX)] = ()
    tools: dict[str, dict[str, Any] | None] = msgspec.field(default_factory=dict)
    variants: Annotated[tuple[Variant, ...], Meta(max_length=VARIANTS_MAX)] = ()


def change_case(case: TestCase, changes: Mapping[str, Any]) -> TestCase:
    """Return the case with the fields that `changes`, the JSON of `CaseChanges`, names replaced.

    A check replaces only the fields it names. Naming an `assertionType` first sets how all answers are checked.
    The rules of a tool likewise; None puts a rule, or all of a tool's, back to the default. `variants` replace all of
    the case's. Numbers of steps are those before the corrections; `steps` with `enabled: true` have been looked at
    after a mistake. Raises `Invalid` with the field's path, also when the result would check nothing.
    """
    before, given, patterns = case, load(changes, CaseChanges), NewPatterns()
    named = [field.name for field in msgspec.structs.fields(CaseSettings) if field.encode_name in changes]
    case = replace(case, **{name: getattr(given, name) for name in named})
    if given.assertion_type:
        recorded = any(turn.trace_id for turn in case.turns)
        case = _with_default_answers(case, (RECORDED if recorded else BY_HAND)[given.assertion_type])
    case = replace(case, tools=_changed_rules(case.tools, given.tools, patterns))
    if "variants" in changes:
        case = replace(case, variants=given.variants)
    if given.steps:
        case = _with_changed_steps(case, given.steps, patterns)
    if given.corrections:
        case = _with_corrections(case, given)
        if "includedTurns" not in changes:
            case = replace(case, included_turns=turns_to_play(case, given.corrections))
    require_playable(case, "", "steps")
    require_few_matchers_in_all(case, before=count_matchers(before))
    return case


def _with_corrections(case: TestCase, given: CaseChanges) -> TestCase:
    looked_at = {(change.turn, change.step) for change in given.steps if change.check.get("enabled") is True}
    case = corrected(case, given.corrections, looked_at)
    require_few_steps(case)
    return case


def merge_check(check: Check, changes: Mapping[str, Any], path: str, patterns: NewPatterns) -> Check:
    """Return the check with the fields that `changes`, JSON at `path`, names replaced. Raises `Invalid`."""
    require_few_matchers(changes.get("arguments"), f"{path}.arguments")
    merged = load({**msgspec.to_builtins(check), **changes}, Check, path)
    patterns.require(merged, path, check)
    return merged


def _with_changed_steps(case: TestCase, changes: Iterable[StepChange], patterns: NewPatterns) -> TestCase:
    """Apply the changes in their order, the checks of each step at once: a check may cost as much as its matchers."""
    merged: dict[tuple[int, int], tuple[str, dict[str, Any]]] = {}
    for index, change in enumerate(changes):
        path = f"steps.{index}"
        _require_index(change.turn, case.turns, f"{path}.turn")
        _require_index(change.step, case.turns[change.turn].steps, f"{path}.step")
        _, earlier = merged.get((change.turn, change.step), ("", {}))
        merged[change.turn, change.step] = f"{path}.check", earlier | change.check
    steps = EditedSteps(case)
    for (turn, n), (path, check) in merged.items():
        step = case.turns[turn].steps[n]
        steps.put(turn, n, replace(step, check=merge_check(step.check, check, path, patterns)))
    return steps.case()


def _require_index(index: int, entries: Sequence[object], path: str) -> None:
    if not 0 <= index < len(entries):
        raise Invalid(f"{path}: there are {len(entries)}, counted from 0")


def _with_default_answers(case: TestCase, default: AnswerCheck) -> TestCase:
    def reset(step: CaseStep) -> CaseStep:
        return replace(step, check=replace(step.check, answer=default, value=None))

    return replace(case, turns=tuple(replace(turn, steps=tuple(map(reset, turn.steps))) for turn in case.turns))


def _changed_rules(
    rules: Mapping[str, ToolRules], changes: Mapping[str, dict[str, Any] | None], patterns: NewPatterns
) -> dict[str, ToolRules]:
    """Return the rules of tools with the changed ones; tools without any rule are left out."""
    changed = {
        name: _merged(name, rules.get(name, ToolRules()), change or {}, patterns) for name, change in changes.items()
    }
    given = {**rules, **{name: changed[name] if change else ToolRules() for name, change in changes.items()}}
    kept = {name: tool for name, tool in given.items() if tool != ToolRules()}
    if len(kept) > max(TOOLS_MAX, len(rules)):
        raise Invalid(f"tools: at most {TOOLS_MAX}")
    return kept


def _merged(name: str, rules: ToolRules, change: Mapping[str, Any], patterns: NewPatterns) -> ToolRules:
    """Return the rules with the changes of `change`. What an answer has beyond them may be sent back; it is ignored."""
    for field in ("arguments", "kinds"):
        require_few_matchers(change.get(field), f"tools.{name}.{field}")
    given = {**msgspec.to_builtins(rules), **change}
    given = {key: value for key, value in given.items() if value is not None and key not in _ONLY_SHOWN}
    merged = load(given, ToolRules, f"tools.{name}")
    patterns.require(merged, f"tools.{name}", rules)
    return merged
