"""What wrappers of functions record of a tool's call, back to the tool's own arguments and result."""

from __future__ import annotations

import ast
from typing import Any

from app.otlp.text import json_container, json_or_text, too_deep, unwrapped_json


def recorded_arguments(value: Any) -> Any:
    """Arguments out of `{args, kwargs}`, LangChain's `{inputs, input_str}` and its Python text of a dict."""
    found = json_or_text(value)
    if isinstance(found, str):
        return _python_dict(found)
    if not isinstance(found, dict):
        return found
    if "kwargs" in found and ("args" in found or "sanitize_inputs_outputs" in found):
        return _called_with(found.get("args"), found["kwargs"], found)
    if "input_str" in found:
        inputs = found.get("inputs")
        return inputs if isinstance(inputs, dict) else recorded_arguments(found["input_str"])
    if isinstance(found.get("arguments"), dict) and "tool_name" in found:
        return found["arguments"]
    return found


def _called_with(args: Any, kwargs: Any, whole: dict[str, Any]) -> Any:
    if not args:
        return kwargs
    if not kwargs and isinstance(args, list) and len(args) == 1:
        return args[0] if isinstance(args[0], dict) else whole
    return whole


def _python_dict(text: str) -> Any:
    if not (text.startswith("{") and text.endswith("}")):
        return text
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return found if json_container(found) is not None and _plain(found) else text


def _plain(value: Any) -> bool:
    """Whether a Python literal is JSON (no sets, bytes, tuples, numbers as keys)."""
    if too_deep(value):
        return False
    if isinstance(value, dict):
        return all(isinstance(key, str) and _plain(inner) for key, inner in value.items())
    if isinstance(value, list):
        return all(map(_plain, value))
    return value is None or isinstance(value, str | bool | float) or (isinstance(value, int) and abs(value) < 2**63)


def recorded_result(value: Any) -> Any:
    """A result out of `{output}` and of LangChain's tool message."""
    found = _unpacked(value)
    return unwrapped_json(found["content"]) if _is_tool_message(found) else found


def recorded_call_id(value: Any) -> str | None:
    """The id of the call that LangChain's tool message answers."""
    found = _unpacked(value)
    call_id = found.get("tool_call_id") if _is_tool_message(found) else None
    return call_id if isinstance(call_id, str) and call_id else None


def _unpacked(value: Any) -> Any:
    """What is in `{output}`, and in the two forms in which LangChain writes a message: `{kwargs}` and `{data}`."""
    found = unwrapped_json(value)
    if isinstance(found, dict) and "output" in found and found.keys() <= {"output", "kwargs", "args"}:
        found = unwrapped_json(found["output"])
    for kind, key in (("constructor", "kwargs"), ("tool", "data")):
        if isinstance(found, dict) and found.get("type") == kind and isinstance(found.get(key), dict):
            found = found[key]
    return found


def _is_tool_message(found: Any) -> bool:
    return isinstance(found, dict) and "content" in found and ("tool_call_id" in found or found.get("type") == "tool")
