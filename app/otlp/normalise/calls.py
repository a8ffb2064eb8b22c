"""Reads tool calls from messages of every shape in wide use."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from app.chat import ToolCall
from app.otlp.normalise.kinds import kind_of
from app.values.json import json_container, unwrapped_json

CALL_KINDS = frozenset(
    {
        *("tool_call", "tool-call", "toolCall", "tool_use", "toolUse", "tool-invocation", "dynamic-tool"),
        *("function_call", "function", "custom_tool_call", "computer_call", "local_shell_call", "shell_call"),
        *("apply_patch_call", "mcp_call", "mcp_tool_use", "server_tool_call", "server_tool_use", "executable_code"),
        *("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "tool_search_call"),
    }
)
# The model's vendor runs these.
_HOSTED = frozenset(
    {
        *("mcp_call", "mcp_tool_use", "server_tool_call", "server_tool_use", "executable_code"),
        *("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "tool_search_call"),
    }
)
_HOSTED_KEYS = ("builtin", "providerExecuted", "provider_executed")
_WRAPPERS = ("function", "functionCall", "function_call", "toolUse", "toolRequest", "toolInvocation", "tool_call")
# Gemini names its code execution only by the key of the call.
_CODE = ("executableCode", "executable_code")
CALL_WRAPPERS = frozenset({*_WRAPPERS, *_CODE, "server_tool_call"})
# Kinds that end with "_call", but do not name a tool.
_GENERIC = ("tool_call", "function_call", "custom_tool_call", "server_tool_call", "mcp_call")
NAMES = ("name", "toolName", "tool_name", "tool_function")
_ARGUMENTS = ("arguments", "args", "input", "parameters", "tool_arguments")
_ID = ("id", "callId", "toolCallId", "tool_call_id", "call_id", "toolUseId", "tool_id", "ref")
_APPROVALS = frozenset({"mcp_approval_request", "mcp_approval_response"})
_OBJECT_IN_BASE64 = ("ey", "e3", "ew")
"""The beginnings of a JSON object in base64."""
# What an item that names its tool only by its type has besides arguments.
_NO_ARGUMENTS = frozenset(
    {"type", "id", "call_id", "status", "output", "outputs", "result", "results", "error", "role", "container_id"}
)


def _is_of_ui_message(part: dict[str, Any]) -> bool:
    """Return whether a part is a call in a UI message of the AI SDK, which has the tool's name in its type."""
    return str(part.get("type")).startswith("tool-") and "toolCallId" in part and "state" in part


def is_approval(part: dict[str, Any], wrapper: str) -> bool:
    """Return whether a part is a request for the approval of a call that the vendor will run, or a person's answer."""
    inner = part.get(wrapper)
    return isinstance(inner, dict) and inner.get("type") in _APPROVALS


def read_call(part: Any) -> ToolCall | None:
    """Return the tool call in a part of a message or in an item of a list; None if it is something else."""
    if not isinstance(part, dict) or is_approval(part, "server_tool_call"):
        return None
    if not CALL_WRAPPERS.isdisjoint(part) and (call := _wrapped_call(part)):
        return call
    if part.get("type") is None or kind_of(part) in CALL_KINDS or _is_of_ui_message(part):
        return _call(part)
    return None


def _wrapped_call(part: dict[str, Any]) -> ToolCall | None:
    for wrapper in _WRAPPERS:
        if isinstance(inner := part.get(wrapper), dict):
            return _call({**part, **inner})
    if isinstance(inner := part.get("server_tool_call"), dict):
        return _hosted_call(part, inner)
    for wrapper in _CODE:
        if isinstance(inner := part.get(wrapper), dict):
            return ToolCall(_id(inner), "code_execution", _others(inner), hosted=True)
    return None


def _hosted_call(part: dict[str, Any], inner: dict[str, Any]) -> ToolCall | None:
    """Return a `server_tool_call` of the GenAI conventions; without `arguments` its fields but `type` are these."""
    named = {"name": inner.get("type"), **part}
    arguments = _first(inner, _ARGUMENTS)
    return _call(named | {"arguments": _others(inner) if arguments is None else arguments})


def _call(fields: dict[str, Any]) -> ToolCall | None:
    kind = kind_of(fields) or ""
    # Ax writes only the name as `function`.
    name = _first(fields, (*NAMES, "function")) or _name_in(kind)
    if not isinstance(name, str) or not name:
        return None
    arguments = _first(fields, _ARGUMENTS)
    if arguments is None and _first(fields, NAMES) is None:
        arguments = _others(fields)
    hosted = kind in _HOSTED or any(fields.get(key) is True for key in _HOSTED_KEYS)
    return ToolCall(_id(fields), name, _decoded(unwrapped_json(arguments)), hosted=hosted)


def _decoded(arguments: Any) -> Any:
    """Return arguments; if they are a JSON object in base64, as Go writes bytes into JSON, return the object."""
    if not isinstance(arguments, str) or not arguments.startswith(_OBJECT_IN_BASE64):
        return arguments
    try:
        decoded = json_container(b64decode(arguments, validate=True).decode())
    except ValueError:
        return arguments
    return decoded if isinstance(decoded, dict) else arguments


def _name_in(kind: str) -> str:
    """Return the name of a tool that only the type of its call names: `web_search_call`, `tool-getWeather`."""
    if kind.startswith("tool-"):
        return "" if kind in CALL_KINDS else kind.removeprefix("tool-")
    return kind.removesuffix("_call") if kind.endswith("_call") and kind not in _GENERIC else ""


def _others(fields: dict[str, Any]) -> dict[str, Any] | None:
    return {key: value for key, value in fields.items() if key not in _NO_ARGUMENTS} or None


def _id(fields: dict[str, Any]) -> str:
    # OpenAI's Responses items have both: `call_id` is the one that results refer to.
    call_id = fields.get("call_id") or _first(fields, _ID)
    return call_id if isinstance(call_id, str) else ""


def _first(fields: dict[str, Any], names: tuple[str, ...]) -> Any:
    for name in names:
        if fields.get(name) is not None:
            return fields[name]
    return None
