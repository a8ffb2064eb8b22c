"""Reads a tool's own arguments, result and definitions out of what wrappers of functions and models record."""

from __future__ import annotations

import re
from typing import Any

from app.values.json import json_container, unwrapped_json
from app.values.python_text import python_container, python_string

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
    if found.keys() == {"input", "options"} and isinstance(found["input"], dict):  # BeeAI
        return found["input"]
    if "input_str" in found:
        inputs = found.get("inputs")
        return inputs if isinstance(inputs, dict) else recorded_arguments(found["input_str"])
    if isinstance(found.get("arguments"), dict) and "tool_name" in found:
        return found["arguments"]
    return found


def plain_arguments(value: Any) -> Any:
    """Arguments as JSON, or as the Python text of a dict that some libraries write instead."""
    found = unwrapped_json(value)
    named = python_container(found)
    return named if isinstance(named, dict) else found


def _called_with(args: Any, kwargs: Any, whole: dict[str, Any]) -> Any:
    if not args:
        return kwargs
    # A lone argument gets its name from the model's call.
    return args[0] if not kwargs and isinstance(args, list) and len(args) == 1 else whole


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

    The result is `{content: [{type: "text", text}], isError}`. Claude's SDK records only the blocks, as do FastMCP's
    tools, with a `content` each. Source: https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-result
    """
    blocks = found.get("content") if isinstance(found, dict) and found.keys() <= _MCP_RESULT else found
    if not isinstance(blocks, list) or not blocks or not all(map(_is_mcp_text, blocks)):
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
    return _mcp_text(unwrapped_json(_message_content(value)))


def _message_content(value: Any) -> Any:
    """Return the content in the Python text of a LangChain tool message: `content='18' name='t' tool_call_id='c'`."""
    if not isinstance(value, str) or len(value) > _MESSAGE_MAX or " tool_call_id=" not in value:
        return value
    found = _MESSAGE.match(value)
    try:
        return python_string(found[1]) if found else value
    except ValueError:
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
