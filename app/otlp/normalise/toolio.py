"""Reads a tool's own arguments, result and definitions out of what wrappers of functions and models record."""

from __future__ import annotations

import ast
import re
from typing import Any

from app.values.json import json_container, json_or_text, too_deep, unwrapped_json

# Python makes hundreds of bytes of each character of a literal, and lets no other thread run until it has read it.
_LITERAL_MAX, _SEPARATORS_MAX = 50_000, 5_000
_ESCAPE = r"\\[\\'\"abfnrtvxuU0-7]"
_NUMBER = r"-?[0-9][0-9.]*+(?:e[+-]?[0-9]++)?"
_SCALAR = rf"""'(?:[^'\\\n]++|{_ESCAPE})*+'|"(?:[^"\\\n]++|{_ESCAPE})*+"|{_NUMBER}|True|False|None"""
_ITEM = rf"\s*+(?:[{{\[]\s*+)*+(?:{_SCALAR})?\s*+(?:[}}\]]\s*+)*+"
# Lists, dicts and what is in them. Python needs up to ten times as long to refuse other code, such as `a<a<a`.
_LITERAL = re.compile(rf"{_ITEM}(?:[,:]{_ITEM})*+")
_MESSAGE_MAX = 500_000
_MESSAGE = re.compile(r"""content=('[^'\\\n]*+(?:\\.[^'\\\n]*+)*'|"[^"\\\n]*+(?:\\.[^"\\\n]*+)*") \w+=""")


def recorded_arguments(value: Any) -> Any:
    """Arguments out of `{args, kwargs}` or `{kwargs}`, LangChain's `{inputs, input_str}`, the Python text of a dict."""
    found = plain_arguments(value)
    if not isinstance(found, dict):
        return found
    if "kwargs" in found and ("args" in found or "sanitize_inputs_outputs" in found):
        return _called_with(found.get("args"), found["kwargs"], found)
    if found.keys() == {"kwargs"} and isinstance(found["kwargs"], dict):
        return found["kwargs"]
    if "input_str" in found:
        inputs = found.get("inputs")
        return inputs if isinstance(inputs, dict) else recorded_arguments(found["input_str"])
    if isinstance(found.get("arguments"), dict) and "tool_name" in found:
        return found["arguments"]
    return found


def plain_arguments(value: Any) -> Any:
    """Arguments as JSON, or as the Python text of a dict that some libraries write instead."""
    found = json_or_text(value)
    return _python_dict(found) if isinstance(found, str) else found


def _called_with(args: Any, kwargs: Any, whole: dict[str, Any]) -> Any:
    if not args:
        return kwargs
    # A lone argument gets its name from the model's call.
    return args[0] if not kwargs and isinstance(args, list) and len(args) == 1 else whole


def _python_dict(text: str) -> Any:
    if len(text) > _LITERAL_MAX or not (text.startswith("{") and text.endswith("}")):
        return text
    if text.count(",") + text.count(":") > _SEPARATORS_MAX or not _LITERAL.fullmatch(text):
        return text
    try:
        found = ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):  # TypeError: a set of lists, {{}}
        return text
    return found if json_container(found) is not None and _plain(found) else text


def _plain(value: Any) -> bool:
    """Return whether a Python literal is JSON (no sets, bytes, tuples, numbers as keys)."""
    if too_deep(value):
        return False
    if isinstance(value, dict):
        return all(isinstance(key, str) and _plain(inner) for key, inner in value.items())
    if isinstance(value, list):
        return all(map(_plain, value))
    return value is None or isinstance(value, str | bool | float) or (isinstance(value, int) and abs(value) < 2**63)


def offered_in(request: Any) -> list[Any] | None:
    """Return the tools that a model's recorded request offers: its `tools`, or Langfuse's messages of role tool."""
    found = json_container(request)
    if isinstance(found, dict):
        tools = found.get("tools")
        return [tool for tool in tools if isinstance(tool, dict)] or None if isinstance(tools, list) else None
    contents = [item.get("content") for item in found or () if isinstance(item, dict) and item.get("role") == "tool"]
    return [content for content in contents if isinstance(content, dict) and content.get("type") == "function"] or None


def recorded_result(value: Any) -> Any:
    """Return a result out of `{output}`, of LangChain's tool message and of LlamaIndex's tool output."""
    found = _unpacked(value)
    if isinstance(found, dict) and "raw_output" in found and "tool_name" in found:
        return found["raw_output"]
    return unwrapped_json(found["content"]) if _is_tool_message(found) else _mcp_text(found)


_MCP_RESULT = frozenset({"content", "isError", "structuredContent", "_meta"})
_MCP_TEXT = ({"type", "text"}, {"type", "content"})


def _mcp_text(found: Any) -> Any:
    """Return the text of an MCP result, read as JSON; anything else unchanged.

    The result is `{content: [{type: "text", text}], isError}`. FastMCP's tools return only the blocks, with a `content`
    each. Source: https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-result
    """
    is_whole = isinstance(found, dict) and found.keys() <= _MCP_RESULT
    blocks = found.get("content") if is_whole else found
    if not isinstance(blocks, list) or not blocks or not all(map(_is_mcp_text, blocks)):
        return found
    if not is_whole and any("text" in block for block in blocks):
        return found
    texts = [block.get("text", block.get("content")) for block in blocks]
    return unwrapped_json(texts[0]) if len(texts) == 1 else "\n".join(texts)


def _is_mcp_text(block: Any) -> bool:
    if not isinstance(block, dict) or block.get("type") != "text" or block.keys() not in _MCP_TEXT:
        return False
    return isinstance(block.get("text", block.get("content")), str)


def result_in_block(value: Any) -> Any:
    """Return a result; where it is in a list of one block (Bedrock's form), the block's content."""
    match json_container(value):
        case [{"text": content, **others}] | [{"json": content, **others}] if not others and content is not None:
            return unwrapped_json(content)
    return _mcp_text(json_or_text(_message_content(value)))


def _message_content(value: Any) -> Any:
    """Return the content in the Python text of a LangChain tool message: `content='18' name='t' tool_call_id='c'`."""
    if not isinstance(value, str) or len(value) > _MESSAGE_MAX or " tool_call_id=" not in value:
        return value
    found = _MESSAGE.match(value)
    try:
        return ast.literal_eval(found[1]) if found else value
    except (ValueError, SyntaxError):
        return value


def recorded_name(value: Any) -> str | None:
    """Return the tool's name in LlamaIndex's tool output."""
    found = json_container(value)
    name = found.get("tool_name") if isinstance(found, dict) and "raw_output" in found else None
    return name if isinstance(name, str) and name else None


def recorded_call_id(value: Any) -> str | None:
    """Return the id of the call that LangChain's tool message answers."""
    found = _unpacked(value)
    call_id = found.get("tool_call_id") if _is_tool_message(found) else None
    return call_id if isinstance(call_id, str) and call_id else None


def _unpacked(value: Any) -> Any:
    """Return the value within `{output}` and within the two forms of LangChain's messages, `{kwargs}` and `{data}`."""
    found = unwrapped_json(_message_content(value))
    if isinstance(found, dict) and "output" in found and found.keys() <= {"output", "kwargs", "args"}:
        found = unwrapped_json(found["output"])
    for kind, key in (("constructor", "kwargs"), ("tool", "data")):
        if isinstance(found, dict) and found.get("type") == kind and isinstance(found.get(key), dict):
            found = found[key]
    return found


def _is_tool_message(found: Any) -> bool:
    return isinstance(found, dict) and "content" in found and ("tool_call_id" in found or found.get("type") == "tool")
