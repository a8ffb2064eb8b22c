"""Reads tool calls from messages of every shape in wide use."""

from __future__ import annotations

from typing import Any

from app.chat import ToolCall
from app.values.json import json_or_text

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
)
_HOSTED = ("server_tool_call", "server_tool_use")
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
    name = _first(fields, _NAME)
    if not isinstance(name, str) or not name:
        return None
    hosted = fields.get("type") in _HOSTED
    return ToolCall(_id(fields), name, json_or_text(_first(fields, _ARGUMENTS)), hosted=hosted)


def _id(fields: dict[str, Any]) -> str:
    # OpenAI's Responses items have both: `call_id` is the one that results refer to.
    found = fields.get("call_id") or _first(fields, _ID)
    return found if isinstance(found, str) else ""


def _first(fields: dict[str, Any], names: tuple[str, ...]) -> Any:
    for name in names:
        if fields.get(name) is not None:
            return fields[name]
    return None
