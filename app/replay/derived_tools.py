"""Derives definitions of tools from recorded calls, for agents that record no definitions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from app.sessions.types import Turn
from app.values.json import json_text

TOOLS_MAX = 200
"""Tools of a test case of which definitions are derived; with more there are none."""
CHARACTERS_MAX = 200_000
"""Characters of the definitions in all turns of a test case; beyond there are none."""
DEPTH_MAX, PROPERTIES_MAX = 8, 100
"""Levels of a schema, and properties of one of its objects; what is beyond may be any value."""
DESCRIPTION = "This definition is derived from recorded calls."
_TYPES: Mapping[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    dict: "object",
    list: "array",
    type(None): "null",
}


def derived_definitions(turns: Sequence[Turn]) -> tuple[dict[str, Any], ...]:
    """Return a definition `{name, description, parameters, derived: true}` of each tool that the turns call.

    The parameters have the names and types of the recorded arguments. Arguments of every call are required. There are
    none if a turn records which tools it was offered, or for tools that the model's vendor ran.
    """
    if any(turn.offered_tools is not None for turn in turns):
        return ()
    calls: dict[str, list[Any]] = defaultdict(list)
    for turn in turns:
        for step in turn.steps:
            if step.kind == "tool_call" and not step.hosted:
                calls[step.name].append(step.arguments)
    if len(calls) > TOOLS_MAX:
        return ()
    definitions = tuple(
        {"name": name, "description": DESCRIPTION, "parameters": _parameters(arguments), "derived": True}
        for name, arguments in calls.items()
    )
    return definitions if len(json_text(definitions)) * len(turns) <= CHARACTERS_MAX else ()


def is_derived(definition: Mapping[str, Any] | None) -> bool:
    """Return whether a definition was derived from calls; None is that of a tool of which only the name is known."""
    return definition is not None and definition.get("derived") is True


def _parameters(arguments: Iterable[Any]) -> dict[str, Any]:
    objects = [value for value in arguments if isinstance(value, dict)]
    return _object(objects, 1) if objects else {"type": "object"}


def _schema(values: Sequence[Any], depth: int) -> dict[str, Any]:
    """Return the schema of values: their types, with properties of objects and entries of lists."""
    types = list(dict.fromkeys(_TYPES[type(value)] for value in values if type(value) in _TYPES))
    if "number" in types and "integer" in types:
        types.remove("integer")
    if not types or depth > DEPTH_MAX:
        return {}
    schema: dict[str, Any] = {"type": types[0] if len(types) == 1 else types}
    if "object" in types:
        schema |= _object([value for value in values if isinstance(value, dict)], depth, type_=schema["type"])
    if "array" in types:
        schema["items"] = _schema([entry for value in values if isinstance(value, list) for entry in value], depth + 1)
    return schema


def _object(objects: Sequence[dict[str, Any]], depth: int, type_: Any = "object") -> dict[str, Any]:
    values: dict[str, list[Any]] = defaultdict(list)
    for entry in objects:
        for key, value in entry.items():
            values[key].append(value)
    if not values or len(values) > PROPERTIES_MAX:
        return {"type": type_}
    properties = {key: _schema(of_key, depth + 1) for key, of_key in values.items()}
    required = [key for key, of_key in values.items() if len(of_key) == len(objects)]
    return {"type": type_, "properties": properties} | ({"required": required} if required else {})
