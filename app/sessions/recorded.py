"""Reads what a turn recorded about its prompt: placeholders, offered tools, version, conversation."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from app.otlp.text import json_container, json_or_text
from app.sessions.spans import TurnSpan

PLACEHOLDERS = "service.prompt.placeholders"
OFFERED = "service.tools.offered"
_GROUPS = ("function_declarations", "functionDeclarations")
_WRAPPERS = ("function", "toolSpec")
_SCHEMAS = ("parameters", "inputSchema", "input_schema", "parameters_json_schema", "parametersJsonSchema")

Tools = tuple[str | dict[str, Any], ...]


def texts(spans: Iterable[TurnSpan], key: str) -> list[str]:
    """The different texts of an attribute, in the order of the spans."""
    found = (span.full.attributes.get(key) for span in spans)
    return list(dict.fromkeys(str(text) for text in found if isinstance(text, str | int) and text != ""))


def placeholders(spans: Iterable[TurnSpan]) -> dict[str, str] | None:
    """Key to value name, of the first span that has an object; other scalars than text as their JSON."""
    for span in spans:
        found = json_container(span.full.attributes.get(PLACEHOLDERS))
        if isinstance(found, dict):
            return {key: _text(value) for key, value in found.items() if value is not None}
    return None


def offered_tools(spans: list[TurnSpan]) -> Tools | None:
    """The application's own list where it gave one, else the definitions that a model call recorded."""
    for span in spans:
        found = json_container(span.full.attributes.get(OFFERED))
        if isinstance(found, list):
            return _tools(found)
    for span in spans:
        if definitions := span.normal.definitions:
            return _tools(definitions)
    return None


def _tools(entries: list[Any]) -> Tools:
    return tuple(tool for entry in entries for one in _ungrouped(entry) if (tool := _tool(one)) is not None)


def _ungrouped(entry: Any) -> list[Any]:
    """Gemini declares functions in groups."""
    group = json_container(entry)
    found = [group.get(key) for key in _GROUPS] if isinstance(group, dict) else []
    return next((inner for inner in found if isinstance(inner, list)), [entry])


def _tool(entry: Any) -> str | dict[str, Any] | None:
    """A name, or a definition `{name, description?, parameters?}` under any vendor's names."""
    found = json_container(entry)
    if not isinstance(found, dict):
        return entry if isinstance(entry, str) and entry else None
    fields = next((found[key] for key in _WRAPPERS if isinstance(found.get(key), dict)), found)
    name = fields.get("name")
    if not isinstance(name, str) or not name:
        return None
    tool: dict[str, Any] = {"name": name}
    if isinstance(fields.get("description"), str):
        tool["description"] = fields["description"]
    schema = next((json_or_text(fields[key]) for key in _SCHEMAS if fields.get(key) is not None), None)
    if isinstance(schema, dict):
        tool["parameters"] = next((schema[key] for key in ("jsonSchema", "json") if key in schema), schema)
    return tool


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
