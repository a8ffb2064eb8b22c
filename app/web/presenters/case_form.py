"""The form of a test case: the rows of tools, and the API's body for a sent form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from app.chat import ToolDefinition
from app.errors import Invalid
from app.replay.case_types import TestCase, ToolRules
from app.replay.effects import Tool, resolve, tools_of
from app.values.storable import decode_json
from app.web import labels
from app.web.forms import Form
from app.web.presenters.case_choices import CHOICES, KINDS, MISSING, in_sentence
from app.web.presenters.case_faults import variants_body
from app.web.presenters.case_fields import CaseFields, MatcherFields, StepFields, ToolFields

TOOLS_SHOWN = 200  # Rules of further tools can be set by entering their names.
# Fields of the form, and their names in the API.
SETTINGS = {"name": "name", "order": "order", "history": "history", "on_missing": "onMissing", "judge": "judge"}
RULES = {"effect": "effect", "extra": "extra", "never": "never", "lost": "lost", "on_missing": "onMissing"}
# What happens to calls beyond the recording, by the effect.
_EXTRA = {"read": "are allowed", "write": "fail the replay", "by_call": "are allowed if they read"}


@dataclass(frozen=True, slots=True)
class ToolRow:
    """A tool on the page. `tool` has the rules in force, `default` the rules without an effect in `fields`.

    `proposed` is a model's proposal, the JSON of an `app.replay.effect_proposals.EffectProposal`.
    """

    fields: ToolFields
    tool: Tool
    default: Tool
    proposed: Mapping[str, str] | None = None

    @property
    def effects(self) -> list[tuple[str, str]]:
        """The choices of the tool's effect as (value, text), with the value "" for the default."""
        default = (
            f"Default: {labels.EFFECTS[self.default.declared][0]}, {labels.EFFECTS_FROM[self.default.effect_from]}"
        )
        return [("", default), *CHOICES["effects"]]

    @property
    def extra(self) -> list[tuple[str, str]]:
        return [("", f"Default: {_EXTRA[self.tool.declared]}"), *CHOICES["extra"]]

    @property
    def rules(self) -> list[str]:
        """Return a few words about each rule, except the effect."""
        tool = self.tool
        extra = "fail" if tool.extra == "fail" else "are allowed"
        if tool.declared == "by_call" and not tool.extra_set:
            extra = _EXTRA["by_call"]
        applies = {
            "must never be called": tool.never,
            f"at most {tool.max_calls} calls in all": tool.max_calls is not None,
            f"calls beyond the recording {extra}": not tool.never,
            "may be gone from the draft": tool.lost == "allow",
        }
        missing = [f"without a recording: {in_sentence(MISSING, tool.on_missing)}"] if tool.on_missing else []
        matchers = [
            f"{row.path or 'all arguments'}: {in_sentence(CHOICES['of_tools'], row.match)}"
            for row in self.fields.matchers
            if row.match
        ]
        return [*(words for words, holds in applies.items() if holds), *missing, *matchers]


_UNKNOWN = resolve("", ToolRules(), None, None)
OTHER_TOOL = ToolRow(ToolFields(), _UNKNOWN, _UNKNOWN)
"""The empty row of a further tool."""


def tool_rows(
    fields: CaseFields,
    case: TestCase,
    defined: Sequence[ToolDefinition],
    proposed: Mapping[str, Mapping[str, str]] | None = None,
) -> list[ToolRow]:
    """Return the rows of the first `TOOLS_SHOWN` tools; tools with proposals or rules in the test case come first.

    `defined` are the tools of the prompt's draft. `proposed` are a model's proposals, by tool.
    """
    plain = replace(case, tools={name: replace(rules, effect=None) for name, rules in case.tools.items()})
    tools, defaults = tools_of(case, defined), tools_of(plain, defined)
    unknown = {name: (proposed or {}).get(name) for name, tool in tools.items() if tool.effect_from == "unknown"}
    rows = [
        ToolRow(row, tools.get(row.name, _UNKNOWN), defaults.get(row.name, _UNKNOWN), unknown.get(row.name))
        for row in fields.tools
    ]
    return sorted(rows, key=lambda row: (row.proposed is None, row.fields == ToolFields(row.fields.name)))[:TOOLS_SHOWN]


def with_confirmed(body: dict[str, Any], confirmed: Sequence[str]) -> dict[str, Any]:
    """Return the body with the effects that a person confirmed, each as `read NAME`; an effect in the body stays."""
    tools = {**body.get("tools", {})}
    for effect, _, name in (text.partition(" ") for text in confirmed):
        tools[name] = {"effect": effect} | tools.get(name, {})
    return body | ({"tools": tools} if tools else {})


def cuts(case: TestCase) -> list[tuple[str, str]]:
    """Return the choices for the number of turns to play, as (value, label). "" means all turns."""
    first = (str(n) for n in range(1, len(case.turns)))
    return [("", "All turns"), *((n, f"Turn 1 to {n}" if n != "1" else "Turn 1 only") for n in first)]


def shown_choices(case: TestCase) -> list[tuple[str, str]]:
    """Return the choices of the turns to show, as (value, label). "" means all turns."""
    return [("", "All turns"), *((str(n), f"Only turn {n}") for n in range(1, len(case.turns) + 1))]


def case_body(sent: CaseFields, shown: CaseFields) -> dict[str, Any]:
    """Return the API's body with the fields that differ from the shown ones. Raises `Invalid` for a wrong field."""
    body: dict[str, Any] = {key: getattr(sent, name) for name, key in SETTINGS.items() if _differ(sent, shown, name)}
    if sent.included != shown.included:
        body["includedTurns"] = _integer("included", sent.included)
    if sent.accept_partial != shown.accept_partial:
        body["acceptPartial"] = sent.accept_partial
    if sent.assertion_value != shown.assertion_value:
        body["assertionValue"] = sent.assertion_value or None
    steps = [(position, _check(step, shown.steps[position], position)) for position, step in sent.steps.items()]
    if changed := [{"turn": turn, "step": index, "check": check} for (turn, index), check in steps if check]:
        body["steps"] = changed
    if sent.faults != shown.faults:
        body["variants"] = variants_body(sent.faults)
    if rules := _changed_rules(sent.tools, {tool.name: tool for tool in shown.tools}):
        body["tools"] = rules
    return body


def _changed_rules(sent: Sequence[ToolFields], shown: Mapping[str, ToolFields]) -> dict[str, Any]:
    rules: dict[str, Any] = {}
    for tool in sent:
        if tool.name in rules:
            raise Invalid(f"tools.{tool.name}: Has a row already.")
        rules[tool.name] = _rules(tool, shown.get(tool.name, ToolFields(tool.name)))
    return {name: of_tool for name, of_tool in rules.items() if of_tool}


def _differ(sent: Any, shown: Any, *names: str) -> bool:
    return any(getattr(sent, name) != getattr(shown, name) for name in names)


def _check(sent: StepFields, shown: StepFields, position: tuple[int, int]) -> dict[str, Any]:
    check: dict[str, Any] = {}
    if sent.enabled != shown.enabled:
        check["enabled"] = sent.enabled
    if sent.ignore != shown.ignore:
        check["ignorePaths"] = [line.strip() for line in sent.ignore.split("\n") if line.strip()]
    if not _differ(sent, shown, "check", "value", "matchers"):
        return check
    if sent.check in dict(CHOICES["arguments"]):
        where = f"turn {position[0] + 1}, step {position[1] + 1}"
        return check | {"arguments": _arguments(sent, shown, where)}
    return check | {"answer": sent.check, "value": sent.value or None}


def _arguments(sent: StepFields, shown: StepFields, where: str) -> Any:
    if sent.check == "exact":
        return _matchers(sent.matchers, shown.matchers, where) or "exact"
    if sent.matchers != shown.matchers and any(row.match for row in sent.matchers):
        raise Invalid(f"{where}: Rules of paths need the check 'equal (rules applied)' of the arguments.")
    return sent.check


def _rules(sent: ToolFields, shown: ToolFields) -> dict[str, Any]:
    where = f"tools.{sent.name}"
    rules: dict[str, Any] = {
        key: _or_none(getattr(sent, name)) for name, key in RULES.items() if _differ(sent, shown, name)
    }
    if sent.max_calls != shown.max_calls:
        rules["maxCalls"] = _integer(f"{where}.maxCalls", sent.max_calls)
    if sent.idempotent != shown.idempotent:
        rules["idempotent"] = {"yes": True, "no": False}.get(sent.idempotent)
    if sent.result != shown.result:
        rules["result"] = _json(f"{where}.result", sent.result) if sent.result.strip() else None
    (matchers, kinds), (known, known_kinds) = map(_split, (sent.matchers, shown.matchers))
    if matchers != known:
        rules["arguments"] = _matchers(matchers, [*known, *known_kinds], f"{where}.arguments")
    if kinds != known_kinds:
        rules["kinds"] = _matchers(kinds, known_kinds, f"{where}.kinds")
    return rules


def _split(rows: Sequence[MatcherFields]) -> tuple[list[MatcherFields], list[MatcherFields]]:
    """Return the rows of matchers and those of kinds."""
    names = dict(KINDS)
    return [row for row in rows if row.match not in names], [row for row in rows if row.match in names]


def _or_none(value: str | bool) -> str | bool | None:
    return None if value == "" else value


def _matchers(rows: Sequence[MatcherFields], shown: Sequence[MatcherFields], where: str) -> dict[str, Any]:
    """Return the matchers by path. A shown row that no longer has a matcher is omitted."""
    known, matchers = {row.path for row in shown}, dict[str, Any]()
    for row in rows:
        if not row.match and row.path not in known:
            raise Invalid(f"{where}.{row.path}: Choose how it is compared.")
        if row.path in matchers:
            raise Invalid(f"{where}.{row.path}: Is there twice.")
        if row.match:
            matchers[row.path] = _matcher(row, f"{where}.{row.path}")
    return matchers


def _matcher(row: MatcherFields, where: str) -> str | dict[str, Any]:
    if row.match in ("regex", "ai"):
        return {"match": row.match, "value": row.option}
    if row.match == "one_of":
        return {"match": row.match, "values": _json(where, row.option)}
    if row.match == "number" and row.option.strip():
        return {"match": row.match, "tolerance": _json(where, row.option)}
    return row.match


def _integer(where: str, text: str) -> int | None:
    try:
        return int(text) if text.strip() else None
    except ValueError as error:
        raise Invalid(f"{where}: Must be a number.") from error


def _json(where: str, text: str) -> Any:
    try:
        return decode_json(text)
    except ValueError as error:
        raise Invalid(f"{where}: Must be JSON.") from error


def written_turns(form: Form) -> list[dict[str, str]]:
    """Return the questions and expected answers of a form: one pair at least."""
    pairs = zip(form.texts("question") or [""], form.texts("expected") or [""], strict=False)
    return [{"question": question, "expectedAnswer": expected} for question, expected in pairs]


def written_body(form: Form) -> dict[str, Any]:
    """Return the API's body for a test case by hand. By default its name is the first line of the first question.

    Turns after the first one that have no text are left out.
    """
    first, *later = written_turns(form)
    if not first["question"].strip():
        raise Invalid("question: Write what is asked.")
    body: dict[str, Any] = dict(first)
    if later := [turn for turn in later if any(text.strip() for text in turn.values())]:
        body["laterTurns"] = later
    if selections := form.selections():
        body["placeholders"] = selections
    return body | ({"name": form.text("name")} if form.text("name").strip() else {})
