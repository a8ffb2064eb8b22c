"""The texts in the form of a test case, from a stored test case or from a sent form."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.replay.case_types import CaseStep, TestCase
from app.replay.effects import Tool
from app.web.filters import indented, pretty
from app.web.forms import Form
from app.web.presenters.case_faults import FaultFields, faults_of, faults_sent

_TOOL = re.compile(r"tool\.(\d{1,5})\.name")
Place = tuple[int, int]
"""The turn of a step, and the step's index in the turn; both count from 0."""


@dataclass(frozen=True, slots=True)
class MatcherFields:
    """A matcher of the arguments at a path, or the kind of a text there.

    `match` is "" for no matcher; `option` is the text of its only option.
    """

    path: str = ""
    match: str = ""
    option: str = ""


@dataclass(frozen=True, slots=True)
class ToolFields:
    """The rules that a test case sets for a tool. "" means the default; `result` is JSON."""

    name: str = ""
    effect: str = ""
    extra: str = ""
    max_calls: str = ""
    never: bool = False
    idempotent: str = ""
    lost: str = "fail"
    on_missing: str = ""
    result: str = ""
    matchers: tuple[MatcherFields, ...] = ()


@dataclass(frozen=True, slots=True)
class StepFields:
    """The check of a step. `check` is the comparison of arguments or answer; `ignore` has a path on each line."""

    enabled: bool
    check: str
    value: str = ""
    ignore: str = ""
    matchers: tuple[MatcherFields, ...] = ()


@dataclass(frozen=True, slots=True)
class CaseFields:
    """The whole form. `included` is the number of turns to play, "" for all."""

    name: str
    order: str
    history: str
    on_missing: str
    judge: str
    included: str
    assertion_value: str
    accept_partial: bool = False
    tools: tuple[ToolFields, ...] = ()
    faults: tuple[FaultFields, ...] = ()
    steps: Mapping[Place, StepFields] = field(default_factory=dict)


def fields_of(name: str, case: TestCase, tools: Mapping[str, Tool]) -> CaseFields:
    """Return the fields of a test case. `tools` are all tools with rules on the page."""
    whole = case.included_turns in (None, len(case.turns))
    return CaseFields(
        name=_one_line(name),
        order=case.order,
        history=case.history,
        on_missing=case.on_missing,
        judge=case.judge,
        included="" if whole else str(case.included_turns),
        assertion_value=_lines(case.assertion_value or ""),
        accept_partial=bool(case.accept_partial),
        tools=tuple(_tool_of(case, tool) for tool in tools.values()),
        faults=faults_of(case),
        steps={
            (turn_index, index): _step_of(step)
            for turn_index, turn in enumerate(case.turns)
            for index, step in enumerate(turn.steps)
        },
    )


def fields_sent(form: Form, shown: CaseFields) -> CaseFields:
    """Return the fields of a sent form. Missing fields keep the shown values, except ticks of tools and steps.

    A step without any field in the form keeps all shown values. A tool that the form names twice is returned twice.
    """
    indices = sorted({int(match[1]) for name in form.fields if (match := _TOOL.fullmatch(name))})
    sent = [tool for tool in (_tool_sent(form, f"tool.{index}") for index in indices) if tool.name]
    first = {tool.name: tool for tool in reversed(sent)}
    known = {tool.name: tool for tool in shown.tools}
    return CaseFields(
        name=form.text("name", shown.name),
        order=form.text("order", shown.order),
        history=form.text("history", shown.history),
        on_missing=form.text("on_missing", shown.on_missing),
        judge=form.text("judge", shown.judge),
        included=form.text("included", shown.included),
        assertion_value=_lines(form.text("assertion_value", shown.assertion_value)),
        accept_partial=form.text("partial", "yes" if shown.accept_partial else "") == "yes",
        tools=(*(known | first).values(), *(tool for tool in sent if first[tool.name] is not tool)),
        faults=faults_sent(form, shown.faults),
        steps={
            (turn, index): _step_sent(form, f"step.{turn}.{index}", step) for (turn, index), step in shown.steps.items()
        },
    )


def _tool_of(case: TestCase, tool: Tool) -> ToolFields:
    rules = case.tools.get(tool.name)
    if rules is None:
        return ToolFields(_one_line(tool.name))
    return ToolFields(
        name=_one_line(tool.name),
        effect=rules.effect or "",
        extra=rules.extra or "",
        max_calls="" if rules.max_calls is None else str(rules.max_calls),
        never=rules.never,
        idempotent="" if rules.idempotent is None else "yes" if rules.idempotent else "no",
        lost=rules.lost,
        on_missing=rules.on_missing or "",
        result="" if rules.result is None else indented(rules.result),
        matchers=(*_matchers_of(rules.arguments), *_matchers_of(rules.kinds)),
    )


def _step_of(step: CaseStep) -> StepFields:
    ignore = _lines("\n".join(step.check.ignore_paths))
    if step.kind == "answer":
        value = "" if step.check.value is None else _lines(pretty(step.check.value))
        return StepFields(step.check.enabled, step.check.answer, value, ignore)
    arguments = step.check.arguments
    if isinstance(arguments, str):
        return StepFields(step.check.enabled, arguments, ignore=ignore)
    return StepFields(step.check.enabled, "exact", ignore=ignore, matchers=tuple(_matchers_of(arguments)))


def _matchers_of(matchers: Mapping[str, Any]) -> Iterator[MatcherFields]:
    for path, matcher in matchers.items():
        options = {"match": matcher} if isinstance(matcher, str) else matcher
        option = next((value for key, value in options.items() if key != "match"), "")
        text = option if isinstance(option, str) else json.dumps(option, ensure_ascii=False)
        yield MatcherFields(_one_line(path), options["match"], _lines(text))


def _tool_sent(form: Form, prefix: str) -> ToolFields:
    return ToolFields(
        name=_one_line(form.text(f"{prefix}.name")),
        effect=form.text(f"{prefix}.effect"),
        extra=form.text(f"{prefix}.extra"),
        max_calls=form.text(f"{prefix}.max_calls").strip(),
        never=form.flag(f"{prefix}.never"),
        idempotent=form.text(f"{prefix}.idempotent"),
        lost=form.text(f"{prefix}.lost", "fail"),
        on_missing=form.text(f"{prefix}.on_missing"),
        result=_lines(form.text(f"{prefix}.result")),
        matchers=_matchers_sent(form, prefix),
    )


def _step_sent(form: Form, prefix: str, shown: StepFields) -> StepFields:
    if f"{prefix}.check" not in form.fields:
        return shown
    return StepFields(
        enabled=form.flag(f"{prefix}.enabled"),
        check=form.text(f"{prefix}.check"),
        value=_lines(form.text(f"{prefix}.value", shown.value)),
        ignore=_lines(form.text(f"{prefix}.ignore", shown.ignore)),
        matchers=_matchers_sent(form, prefix) if f"{prefix}.path" in form.fields else shown.matchers,
    )


def _matchers_sent(form: Form, prefix: str) -> tuple[MatcherFields, ...]:
    """Return the matchers of rows that are not empty."""
    columns = (form.texts(f"{prefix}.{name}") for name in ("path", "match", "option"))
    rows = (
        MatcherFields(_one_line(path), match, _lines(option)) for path, match, option in zip(*columns, strict=False)
    )
    return tuple(row for row in rows if row.path or row.match)


def _lines(text: str) -> str:
    """Return the text with the line ends of a sent form."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _one_line(text: str) -> str:
    """Return the text without line ends, like browsers in a field of one line."""
    return text.replace("\r", "").replace("\n", "")
