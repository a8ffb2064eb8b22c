"""Finds out which tools act on the world, and completes a test case's rules of tools with their defaults."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from app.chat import ToolDefinition
from app.errors import Invalid
from app.replay.types import Effect, OnMissing, Permission, TestCase, ToolRules

EffectFrom = Literal["test_case", "prompt", "annotation", "name", "unknown"]

READING = frozenset(
    "get list search find look lookup read fetch query check count describe show view".split()  # noqa: SIM905
)
# A check-in changes a booking.
CHECKS_IN = frozenset({("check", "in"), ("check", "out")})
# With one of these after it, `search.` or `list:` is the namespace of a tool that acts.
ACTING = frozenset(
    "add apply book cancel create delete drop edit execute insert patch post put refund remove reset run save "  # noqa: SIM905
    "send set submit update upload write".split()
)
# Words that name what is read, too, after `get.`, as in `get.transfer`.
ACTING_OR_NAMED = ACTING.union(
    "accept activate adjust approve archive assign authorize block call change charge close commit complete confirm "  # noqa: SIM905
    "convert credit deactivate debit decline deploy deposit disable dispatch enable escalate forward grant hold import "
    "initiate invite invoke issue lock mark merge modify move notify open pay place publish purchase push register "
    "reject release rename renew reopen replace reply reschedule reserve resolve restart restore resume retry return "
    "revert revoke schedule share ship sign start stop subscribe suspend sync tag terminate transfer trigger unblock "
    "undo unlock unregister unsubscribe upgrade void withdraw".split()
)
_NAMESPACE = re.compile(r"__|[./:]")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+|\d+")


class Tool(msgspec.Struct, frozen=True, rename="camel"):
    """The rules of one tool in one test case, with the defaults of what the test case does not set.

    `schema` is the JSON Schema of its arguments, empty where none is known.
    """

    name: str
    effect: Effect
    effect_from: EffectFrom
    extra: Permission
    max_calls: int | None
    never: bool
    lost: Permission
    on_missing: OnMissing | None
    result: Any
    arguments: dict[str, Any]
    schema: dict[str, Any]

    def missing(self, default: OnMissing) -> OnMissing:
        """Return what answers a call that the recording can't answer; `default` is the test case's.

        A write is never answered with a result of other arguments or with an imagined one.
        """
        chosen = self.on_missing or default
        return "error" if self.effect == "write" and chosen in ("nearest", "simulate") else chosen


def tools_of(case: TestCase, defined: Sequence[ToolDefinition]) -> dict[str, Tool]:
    """Return every tool that the test case names, calls or records as offered, and those `defined` by a prompt."""
    definitions = {tool.name: tool for tool in defined}
    recorded = recorded_definitions(entry for turn in case.turns for entry in turn.offered_tools or ())
    called = (step.name for turn in case.turns for step in turn.steps if step.kind == "tool_call")
    removed = (call.name for turn in case.turns for call in turn.removed or ())
    names = dict.fromkeys([*definitions, *recorded, *called, *removed, *case.tools])
    return {
        name: resolve(name, case.tools.get(name, ToolRules()), definitions.get(name), recorded.get(name))
        for name in names
    }


def recorded_definitions(entries: Iterable[str | Mapping[str, Any]]) -> dict[str, Mapping[str, Any] | None]:
    """Return recorded definitions by name; None for a tool of which only the name was recorded."""
    found: dict[str, Mapping[str, Any] | None] = {}
    for entry in entries:
        if isinstance(entry, str):
            found.setdefault(entry, None)
        elif name := str(entry.get("name") or ""):
            found[name] = found.get(name) or entry
    return found


def resolve(name: str, rules: ToolRules, definition: ToolDefinition | None, recorded: Mapping[str, Any] | None) -> Tool:
    """Return the tool's rules; its effect is the first that is found, in the order of docs/reference/gate.md."""
    effect, effect_from = _effect(name, rules, definition, recorded)
    return Tool(
        name,
        effect,
        effect_from,
        rules.extra or ("fail" if effect == "write" else "allow"),
        rules.max_calls,
        rules.never,
        rules.lost,
        rules.on_missing,
        rules.result,
        rules.arguments,
        (definition.parameters if definition else {}) or parameters_of(recorded or {}),
    )


def parameters_of(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of the arguments in a recorded definition, which may be wrapped as OpenAI's are."""
    function = recorded.get("function")
    parameters = (function if isinstance(function, dict) else recorded).get("parameters")
    return parameters if isinstance(parameters, dict) else {}


def require_usable(tools: Mapping[str, Tool]) -> None:
    """Raise `Invalid` for a tool that writes and would answer with another call's result or an imagined one."""
    for tool in tools.values():
        if tool.effect == "write" and tool.on_missing in ("nearest", "simulate"):
            raise Invalid(
                f"tools.{tool.name}.onMissing: {tool.on_missing} is for tools that read; set effect to read if "
                f"{tool.name} changes nothing, or choose error, stop or static"
            )


def effect_of_name(name: str) -> Effect | None:
    """Return `read` for a name with a first word, after a namespace as of MCP, in `READING`; otherwise None.

    In `get.order` the first part is that word and no namespace, unless a word for an action follows.
    """
    parts = [part for part in _NAMESPACE.split(name) if part]
    if not parts:
        return None
    last, first = _words(parts[-1]), _words(parts[0])
    if last and last[0] in READING and tuple(last[:2]) not in CHECKS_IN:
        return "read"
    if len(parts) != 2 or len(first) != 1 or first[0] not in READING or (first[0], *last[:1]) in CHECKS_IN:
        return None
    acting = ACTING if first[0] == "get" else ACTING_OR_NAMED
    return None if acting.intersection(last) else "read"


def _effect(
    name: str, rules: ToolRules, definition: ToolDefinition | None, recorded: Mapping[str, Any] | None
) -> tuple[Effect, EffectFrom]:
    if rules.effect:
        return rules.effect, "test_case"
    if definition and definition.effect:
        return definition.effect, "prompt"
    annotations = (definition.annotations if definition else None, *_annotations(recorded or {}))
    for annotation in annotations:
        if effect := _annotated(annotation):
            return effect, "annotation"
    if effect := effect_of_name(name):
        return effect, "name"
    return "write", "unknown"


def _annotations(recorded: Mapping[str, Any]) -> tuple[Any, Any]:
    function = recorded.get("function")
    return recorded.get("annotations"), function.get("annotations") if isinstance(function, dict) else None


def _annotated(annotations: Any) -> Effect | None:
    """Return the effect by the hints of the Model Context Protocol; None without such hints."""
    if not isinstance(annotations, Mapping):
        return None
    if annotations.get("readOnlyHint") is True:
        return "read"
    return "write" if annotations.get("readOnlyHint") is False or annotations.get("destructiveHint") is True else None


def _words(part: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(part)]
