"""Making test cases of recorded turns or by hand, and reading them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from app.chat import ToolDefinition
from app.errors import Invalid
from app.replay.case_limits import CASE_MATCHERS_MAX, MATCHERS_MAX
from app.replay.case_types import (
    AnswerCheck,
    AssertionType,
    CaseFile,
    CaseStep,
    CaseTurn,
    Check,
    CheckedAnswer,
    CheckedCall,
    Fidelity,
    StringKind,
    TestCase,
    ToolRules,
)
from app.replay.derived_tools import derived_definitions
from app.replay.documents import dump, join, load
from app.replay.effects import Tool, tools_of
from app.replay.faults import require_variants
from app.replay.fidelity import recorded_files
from app.replay.text_kinds import kinds_of
from app.sessions.types import Step, Turn

# By the assertion type of the prompt: a recorded answer is worded differently in every run, a written one is meant
# literally.
RECORDED: dict[AssertionType, AnswerCheck] = {"STRICT": "meaning", "AI": "ai", "MANUAL": "manual"}
BY_HAND: dict[AssertionType, AnswerCheck] = {**RECORDED, "STRICT": "strict"}


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
    require_playable(case, path, "turns")
    return case


def case_from_turns(
    turns: Sequence[Turn],
    assertion: AssertionType,
    defined: Sequence[ToolDefinition] = (),
    *,
    derive_tools: bool = False,
) -> TestCase:
    """Copy recorded turns, with every step checked as `assertion` has it, and propose the kinds of texts in arguments.

    A replayed turn ends with the model's first answer, so of several recorded ones only the last is enabled.
    `defined` are the tools of the prompt. With `derive_tools` the definitions of tools
    that the recording lacks are derived from its calls.
    """
    check = Check(answer=RECORDED[assertion])
    files, missing = recorded_files(turns, tools_defined=bool(defined))
    derived = (derived_definitions(turns) if derive_tools else ()) or None
    case = TestCase(
        turns=tuple(_copy(turn, check, files[number], derived) for number, turn in enumerate(turns)),
        fidelity=Fidelity(missing=tuple(missing)) if missing else UNSET,
    )
    return replace(case, tools=_with_kinds(case, defined))


class WrittenTurn(NamedTuple):
    """A turn that a person writes: what the user asks, and what the draft must answer."""

    question: str
    expected_answer: str


def case_by_hand(
    question: str,
    expected_answer: str,
    assertion: AssertionType,
    placeholders: Mapping[str, str] | None = None,
    later_turns: Sequence[WrittenTurn] = (),
) -> TestCase:
    """Make a conversation of questions with one expected answer each. Raises `Invalid` for an empty question.

    The placeholders' values are those of all turns.
    """
    turns = []
    for index, turn in enumerate((WrittenTurn(question, expected_answer), *later_turns)):
        if not turn.question.strip():
            raise Invalid(f"{f'laterTurns.{index - 1}.' if index else ''}question: must not be empty")
        step = CheckedAnswer(text=turn.expected_answer, check=Check(answer=BY_HAND[assertion]))
        selections = None if placeholders is None else dict(placeholders)
        turns.append(CaseTurn(user=turn.question, steps=(step,), placeholders=selections))
    return TestCase(turns=tuple(turns))


def require_playable(case: TestCase, path: str, steps: str) -> None:
    """Raise `Invalid` unless an included turn checks a step: a test that checks nothing can't fail."""
    if case.included_turns is not None and not 1 <= case.included_turns <= len(case.turns):
        raise Invalid(f"{join(path, 'includedTurns')}: must be a whole number from 1 to {len(case.turns)}")
    if not any(turn.steps for turn in case.played_turns):
        raise Invalid(
            f"{join(path, steps)}: no included turn has an answer or a tool call. A recording without words has none: "
            "switch the recording of message contents on, and record another conversation."
        )
    if not any(step.checked for turn in case.played_turns for step in turn.steps):
        raise Invalid(f"{join(path, steps)}: at least one step of the included turns must be checked")
    require_variants(case, path)


def shown_document(
    case: TestCase,
    tools: Sequence[ToolDefinition],
    proposed: Mapping[str, Mapping[str, Any]] | None = None,
    resolved: Mapping[str, Tool] | None = None,
) -> dict[str, Any]:
    """Return the JSON of a test case with the rules of all its tools.

    `tools` are those of the prompt's draft, `resolved` the `defined_tools` of them. `proposed` has what a model
    proposes for unknown effects, by tool.
    """
    all_tools = tools_of(case, tools, resolved)
    rules = {name: msgspec.to_builtins(replace(tool, schema={})) for name, tool in all_tools.items()}
    for name, shown in rules.items():
        del shown["name"], shown["schema"]
        shown["effect"] = shown.pop("declared")
        if not shown.pop("extraSet") and shown["effect"] == "by_call":
            shown["extra"] = None  # by the effect of each call
        proposal = (proposed or {}).get(name) if shown["effectFrom"] == "unknown" else None
        shown["proposedEffect"] = proposal and {key: proposal[key] for key in ("effect", "reason", "model")}
    return dump(case) | {
        "tools": rules,
        "basis": case.basis or "recorded",
        "fidelity": dump(case.fidelity or Fidelity()),
        "acceptPartial": bool(case.accept_partial),
        "variants": [dump(variant) for variant in case.variants or ()],
    }


def needs_judge(case: TestCase) -> bool:
    """Return True if a model surely has to judge or to play a tool in a replay of the case."""
    matchers = [rules.arguments for rules in case.tools.values()]
    simulated = case.on_missing == "simulate" or any(tool.on_missing == "simulate" for tool in case.tools.values())
    for step in (step for turn in case.played_turns for step in turn.steps if step.checked):
        if step.kind == "answer" and step.check.answer == "ai":
            return True
        if step.kind == "tool_call" and isinstance(step.check.arguments, dict):
            matchers.append(step.check.arguments)
    judged = any(
        isinstance(matcher, dict) and matcher.get("match") == "ai"
        for by_path in matchers
        for matcher in by_path.values()
    )
    return case.judge == "always" or simulated or judged


def _copy(
    turn: Turn, check: Check, files: tuple[CaseFile, ...], derived: tuple[dict[str, Any], ...] | None
) -> CaseTurn:
    last = max((index for index, step in enumerate(turn.steps) if step.kind == "answer"), default=-1)
    return CaseTurn(
        user=turn.own_words,
        steps=tuple(
            _copy_step(step, replace(check, enabled=step.kind == "tool_call" or index == last))
            for index, step in enumerate(turn.steps)
        ),
        placeholders=turn.placeholders,
        offered_tools=derived if turn.offered_tools is None else turn.offered_tools,
        prompt_version=turn.prompt_version,
        trace_id=turn.trace_id,
        files=files or UNSET,
        earlier=turn.earlier or UNSET,
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
        check=replace(check, enabled=False) if step.hosted else check,
        hosted=step.hosted or UNSET,
    )


def _with_kinds(case: TestCase, defined: Sequence[ToolDefinition]) -> dict[str, ToolRules]:
    """Return rules for the tools that have texts of a kind other than `value`, within the limits.

    A place with texts of several kinds, as of an editor that changes code and prose, gets no rule: the kind of each
    text is found when it is compared.
    """
    tools = tools_of(case, defined)
    kinds: dict[str, dict[str, set[StringKind]]] = {}
    left = CASE_MATCHERS_MAX
    for step in (step for turn in case.turns for step in turn.steps if step.kind == "tool_call"):
        tool, known = tools[step.name].called_with(step.arguments), kinds.setdefault(step.name, {})
        found = kinds_of(step.arguments, tool.schema, tool.effect)
        new = [pointer for pointer in found if pointer not in known][: min(left, MATCHERS_MAX - len(known))]
        left -= len(new)
        known |= {pointer: set() for pointer in new}
        for pointer in found.keys() & known.keys():
            known[pointer].add(found[pointer])
    single = {
        name: {pointer: kind for pointer, (kind, *others) in known.items() if not others}
        for name, known in kinds.items()
    }
    return {name: ToolRules(kinds=known) for name, known in single.items() if known}
