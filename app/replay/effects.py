"""Finds out which tools act on the world, and completes a test case's rules of tools with their defaults."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Self

import msgspec
from msgspec.structs import replace

from app.chat import ToolDefinition
from app.errors import Invalid
from app.replay.call_effects import call_reads, changes_data
from app.replay.case_types import DeclaredEffect, Effect, OnMissing, Permission, StringKind, TestCase, ToolRules
from app.replay.http_requests import METHOD_KEYS
from app.replay.inner_calls import OPERATION, OPERATION_KEYS
from app.replay.secret_reads import reads_secret
from app.replay.text_kinds import schema_at
from app.replay.tool_names import effect_of_name
from app.values.composed import composed

EffectFrom = Literal["test_case", "prompt", "annotation", "name", "unknown"]


class Tool(msgspec.Struct, frozen=True, rename="camel"):
    """The rules of one tool in one test case, with the defaults of what the test case does not set.

    `declared` is the effect of the tool, `effect` that of a call: a write until `called_with` has decided. `schema` is
    the JSON Schema of its arguments, empty where none is known. `extra_set` is false where `extra` follows from the
    effect.
    """

    name: str
    declared: DeclaredEffect
    effect: Effect
    effect_from: EffectFrom
    extra: Permission
    max_calls: int | None
    never: bool
    lost: Permission
    on_missing: OnMissing | None
    result: Any
    arguments: dict[str, Any]
    kinds: dict[str, StringKind]
    schema: dict[str, Any]
    extra_set: bool
    idempotent: bool = False

    def called_with(self, arguments: Any) -> Self:
        """Return the rules for one call: a command or a statement that only reads makes it a read, any other a write.

        An effect `read` or `write` that the test case or the prompt has set stays, and so does a hint that the tool
        only reads. Then a call that reads a secret or changes data by a statement of SQL is not allowed beyond the
        recording, unless the test case allows it.
        """
        tool = self._with_effect(arguments)
        if tool.effect == "read" and not tool.extra_set and (reads_secret(arguments) or changes_data(arguments)):
            return replace(tool, extra="fail")
        return tool

    def _with_effect(self, arguments: Any) -> Self:
        is_set = self.effect_from in ("test_case", "prompt") and self.declared != "by_call"
        if is_set or (self.effect_from, self.declared) == ("annotation", "read"):
            return self
        reads = self.only_reads(arguments)
        effect: Effect = self.effect if reads is None else "read" if reads else "write"
        if effect == self.effect:
            return self
        extra = self.extra if self.extra_set else _default_extra(effect)
        return replace(self, effect=effect, extra=extra)

    def only_reads(self, arguments: Any) -> bool | None:
        """Return whether what a call runs, sends or calls only reads; None for a call without such."""
        if not isinstance(arguments, dict):
            return None
        arguments = {**arguments, **self._default_method(arguments)}
        runs_only = self.declared == "by_call"
        if key := self._key_of_operation(arguments):
            others = {name: value for name, value in arguments.items() if name != key}
            named = {OPERATION: arguments[key], **others}
            if call_reads(self.name, named, runs_only=runs_only, has_operations=True):
                return True
        return call_reads(self.name, arguments, runs_only=runs_only)

    def _key_of_operation(self, arguments: Mapping[str, Any]) -> str:
        """Return the one argument of which the schema lists the operations of the tool, such as `view` and `create`."""
        keys = [key for key in arguments if key in OPERATION_KEYS]
        listed = schema_at(self.schema, (keys[0],)).get("enum") if len(keys) == 1 else None
        is_one_of = isinstance(listed, list) and len(listed) > 1 and arguments[keys[0]] in listed
        return keys[0] if is_one_of else ""

    def _default_method(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the default of the schema for the method of a request, if the call leaves it out."""
        properties = schema_at(self.schema, ()).get("properties")
        if not isinstance(properties, Mapping):
            return {}
        left_out = (key for key in METHOD_KEYS if key in properties and key not in arguments)
        parts = ((key, schema_at(self.schema, (key,))) for key in left_out)
        return {key: part["default"] for key, part in parts if "default" in part}

    def if_unanswered(self, default: OnMissing) -> OnMissing:
        """Return what answers a call that the recording can't answer; `default` is the test case's.

        A write is never answered with a result of other arguments or with an imagined one.
        """
        chosen = self.on_missing or default
        return "error" if self.effect == "write" and chosen in ("nearest", "simulate") else chosen


def defined_tools(defined: Sequence[ToolDefinition]) -> dict[str, Tool]:
    """Return the tools of a prompt without the rules and records of a test case."""
    return {tool.name: resolve(tool.name, ToolRules(), tool, None) for tool in defined}


def tools_of(
    case: TestCase, defined: Sequence[ToolDefinition], resolved: Mapping[str, Tool] | None = None
) -> dict[str, Tool]:
    """Return every tool that the test case names, calls or records as offered, and those `defined` by a prompt.

    `resolved` are the `defined_tools`, for a caller that has several test cases of a prompt.
    """
    definitions = {tool.name: tool for tool in defined}
    recorded = recorded_definitions(entry for turn in case.turns for entry in turn.offered_tools or ())
    called = (step.name for turn in case.turns for step in turn.steps if step.kind == "tool_call")
    removed = (call.name for turn in case.turns for call in turn.removed or ())
    names = dict.fromkeys([*definitions, *recorded, *called, *removed, *case.tools])
    plain = resolved or {}
    return {
        name: plain[name]
        if name in plain and name not in case.tools and not recorded.get(name)
        else resolve(name, case.tools.get(name, ToolRules()), definitions.get(name), recorded.get(name))
        for name in names
    }


def recorded_definitions(entries: Iterable[str | Mapping[str, Any]]) -> dict[str, Mapping[str, Any] | None]:
    """Return recorded definitions by name; None for a tool of which only the name was recorded."""
    definitions: dict[str, Mapping[str, Any] | None] = {}
    for entry in entries:
        if isinstance(entry, str):
            definitions.setdefault(entry, None)
        elif name := str(entry.get("name") or ""):
            definitions[name] = definitions.get(name) or entry
    return definitions


def resolve(name: str, rules: ToolRules, definition: ToolDefinition | None, recorded: Mapping[str, Any] | None) -> Tool:
    """Return the tool's rules; its effect is the first that is found, in the order of docs/reference/gate.md."""
    declared, effect_from = _effect(name, rules, definition, recorded)
    effect: Effect = "read" if declared == "read" else "write"
    return Tool(
        name,
        declared,
        effect,
        effect_from,
        rules.extra or _default_extra(effect),
        rules.max_calls,
        rules.never,
        rules.lost,
        rules.on_missing,
        rules.result,
        rules.arguments,
        rules.kinds,
        composed((definition.parameters if definition else {}) or parameters_of(recorded or {})),
        rules.extra is not None,
        _is_idempotent(rules, definition, recorded),
    )


def parameters_of(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of the arguments in a recorded definition."""
    parameters = _unwrapped(recorded).get("parameters")
    return parameters if isinstance(parameters, dict) else {}


def description_of(recorded: Mapping[str, Any]) -> str:
    """Return the description in a recorded definition, "" without one."""
    description = _unwrapped(recorded).get("description")
    return description if isinstance(description, str) else ""


def _unwrapped(recorded: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of a recorded definition that has its fields; OpenAI's are under `function`."""
    function = recorded.get("function")
    return function if isinstance(function, dict) else recorded


def require_usable(tools: Mapping[str, Tool]) -> None:
    """Raise `Invalid` for a tool that writes and would answer with another call's result or an imagined one."""
    for tool in tools.values():
        if tool.declared == "write" and tool.on_missing in ("nearest", "simulate"):
            raise Invalid(
                f"tools.{tool.name}.onMissing: {tool.on_missing} is for tools that read; set effect to read if "
                f"{tool.name} changes nothing, or choose error, stop or static"
            )


def _default_extra(effect: Effect) -> Permission:
    return "fail" if effect == "write" else "allow"


def _effect(
    name: str, rules: ToolRules, definition: ToolDefinition | None, recorded: Mapping[str, Any] | None
) -> tuple[DeclaredEffect, EffectFrom]:
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


def _is_idempotent(rules: ToolRules, definition: ToolDefinition | None, recorded: Mapping[str, Any] | None) -> bool:
    """Return what the test case sets, else the prompt's definition, else a hint in a definition."""
    set_by = (rules.idempotent, definition.idempotent if definition else None)
    annotations = (definition.annotations if definition else None, *_annotations(recorded or {}))
    hints = (hint.get("idempotentHint") for hint in annotations if isinstance(hint, Mapping))
    return bool(next((value for value in (*set_by, *hints) if value is not None), False))


def _annotations(recorded: Mapping[str, Any]) -> tuple[Any, Any]:
    return recorded.get("annotations"), _unwrapped(recorded).get("annotations")


def _annotated(annotations: Any) -> Effect | None:
    """Return the effect by the hints of the Model Context Protocol; None without such hints."""
    if not isinstance(annotations, Mapping):
        return None
    if annotations.get("readOnlyHint") is True:
        return "read"
    return "write" if annotations.get("readOnlyHint") is False or annotations.get("destructiveHint") is True else None
