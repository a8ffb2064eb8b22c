"""Reads tool calls from messages of every shape in wide use."""

from __future__ import annotations

from typing import Any

from app.chat import ToolCall
from app.values.json import json_or_text

# Items of OpenAI's Responses for tools that OpenAI runs. Each has the call and its result; only `mcp_call` has a name.
HOSTED_ITEMS = {
    "web_search_call": "web_search",
    "file_search_call": "file_search",
    "code_interpreter_call": "code_interpreter",
    "mcp_call": "mcp",
}
HOSTED_KINDS = tuple(HOSTED_ITEMS)
CALL_KINDS = (
    "tool_call",
    "tool-call",
    "tool_use",
    "function_call",
    "function",
    "toolCall",
    "toolUse",
    "server_tool_call",
    "server_tool_use",
    *HOSTED_ITEMS,
)
_HOSTED = ("server_tool_call", "server_tool_use", *HOSTED_ITEMS)
_ABOUT_ITEMS = ("action", "queries", "code")  # the arguments of an item without `arguments`
_NAME = ("name", "toolName", "tool_name")
_ARGUMENTS = ("arguments", "args", "input", "parameters")
_ID = ("id", "toolCallId", "tool_call_id", "call_id", "toolUseId", "ref")


def read_call(part: Any) -> ToolCall | None:
    """Return a tool call from its part, list entry or item; None if it is something else."""
    if not isinstance(part, dict):
        return None
    for wrapper in ("function", "functionCall", "function_call", "toolUse", "toolRequest"):
        inner = part.get(wrapper)
        if isinstance(inner, dict):
            return _call({**part, **inner})
    kind = part.get("type")
    return _call(part) if kind is None or kind in CALL_KINDS else None


def _call(fields: dict[str, Any]) -> ToolCall | None:
    kind = fields.get("type")
    item = HOSTED_ITEMS.get(kind) if isinstance(kind, str) else None
    name = _first(fields, _NAME) or item
    if not isinstance(name, str) or not name:
        return None
    arguments = json_or_text(_first(fields, _ARGUMENTS))
    if item and arguments is None:
        arguments = {key: fields[key] for key in _ABOUT_ITEMS if fields.get(key) is not None}
    return ToolCall(_id(fields), name, arguments, hosted=kind in _HOSTED)


def _id(fields: dict[str, Any]) -> str:
    # OpenAI's Responses items have both: `call_id` is the one that results refer to.
    found = fields.get("call_id") or _first(fields, _ID)
    return found if isinstance(found, str) else ""


def _first(fields: dict[str, Any], names: tuple[str, ...]) -> Any:
    for name in names:
        if fields.get(name) is not None:
            return fields[name]
    return None
