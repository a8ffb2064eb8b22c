"""Reads a tool's own arguments, result and definitions out of what wrappers of functions and models record."""

from __future__ import annotations

import re
from typing import Any

from app.otlp.normalise.hidden import is_hidden
from app.otlp.normalise.kinds import kind_of
from app.values.json import json_container, unwrapped_json
from app.values.python_text import python_container, python_string

_MESSAGE_MAX = 500_000
_MESSAGE = re.compile(r"""content=('[^'\\\n]*+(?:\\.[^'\\\n]*+)*'|"[^"\\\n]*+(?:\\.[^"\\\n]*+)*") \w+=""")


def recorded_arguments(value: Any) -> Any:
    """Return what is in `{args, kwargs}`, `{kwargs}`, LangChain's `{inputs, input_str}`, or a dict's Python text.

    LangSmith has such a text in `{input}`.
    """
    arguments = plain_arguments(value)
    if not isinstance(arguments, dict):
        return arguments
    if "kwargs" in arguments and ("args" in arguments or "sanitize_inputs_outputs" in arguments):
        return _called_with(arguments.get("args"), arguments["kwargs"], arguments)
    if arguments.keys() == {"kwargs"} and isinstance(arguments["kwargs"], dict):
        return arguments["kwargs"]
    if arguments.keys() == {"input", "options"} and isinstance(arguments["input"], dict):  # BeeAI
        return arguments["input"]
    if "input_str" in arguments:
        inputs = arguments.get("inputs")
        return inputs if isinstance(inputs, dict) else recorded_arguments(arguments["input_str"])
    if isinstance(arguments.get("arguments"), dict) and "tool_name" in arguments:
        return arguments["arguments"]
    if arguments.keys() == {"action"} and _is_kind(arguments["action"], "Action"):  # OpenHands
        return {name: value for name, value in arguments["action"].items() if name != "kind"}
    if arguments.keys() == {"input", "messages"}:  # orq.ai, which makes a message of them, too
        return recorded_arguments(arguments["input"])
    return _printed(arguments["input"]) or arguments if arguments.keys() == {"input"} else arguments


def _is_kind(value: Any, end: str) -> bool:
    return isinstance(value, dict) and isinstance(value.get("kind"), str) and value["kind"].endswith(end)


def is_marked_as_error(value: Any) -> bool:
    """Return whether a result has a mark of an error next to its content, as MCP, LangChain and OpenHands set one."""
    if value is None or (isinstance(value, str) and _ERROR_MARK not in value):
        return False
    result = _unpacked(value)
    if not isinstance(result, dict) or "content" not in result:
        return False
    failed = result.get("isError") is True or result.get("is_error") is True
    return failed or (result.get("status") == "error" and _is_tool_message(result))


def _printed(value: Any) -> dict[str, Any] | None:
    """Return the dict that Python printed as this text; None for JSON and other values."""
    named = python_container(value) if json_container(value) is None else None
    return named if isinstance(named, dict) else None


def plain_arguments(value: Any) -> Any:
    """Return arguments that are JSON, or the Python text of a dict, which some libraries write instead."""
    parsed = None if is_hidden(value) else unwrapped_json(value)
    named = python_container(parsed)
    return named if isinstance(named, dict) else parsed


# What a call or a response has besides its name and the value.
_ENVELOPE = frozenset({"name", "description", "id", "type", "callId", "call_id", "isClientInitiated", "prompt_id"})


def out_of_call(arguments: Any, name: str | None) -> Any:
    """Return the arguments in a whole call of the tool with this name; any other arguments unchanged."""
    return _out_of(arguments, name, ("arguments", "args", "parameters"), dict)


def out_of_response(result: Any, name: str | None) -> Any:
    """Return the response in a whole answer of the tool with this name; any other result unchanged."""
    return _out_of(result, name, ("response",), object)


def _out_of(envelope: Any, name: str | None, keys: tuple[str, ...], kind: type) -> Any:
    if not isinstance(envelope, dict) or not name or envelope.get("name") != name:
        return envelope
    held = [key for key in envelope if key not in _ENVELOPE]
    if len(held) != 1 or held[0] not in keys:
        return envelope
    inner = unwrapped_json(envelope[held[0]])
    return inner if isinstance(inner, kind) else envelope


def _called_with(args: Any, kwargs: Any, whole: dict[str, Any]) -> Any:
    if not args:
        return kwargs
    # A lone argument gets its name from the model's call.
    return args[0] if not kwargs and isinstance(args, list) and len(args) == 1 else whole


def offered_in(request: Any) -> list[Any] | None:
    """Return the tools that a model's recorded request offers: its `tools`, or Langfuse's messages of role tool."""
    container = json_container(request)
    if isinstance(container, dict):
        tools = container.get("tools")
        return [tool for tool in tools if isinstance(tool, dict)] or None if isinstance(tools, list) else None
    contents = [
        item.get("content") for item in container or () if isinstance(item, dict) and item.get("role") == "tool"
    ]
    return [content for content in contents if isinstance(content, dict) and content.get("type") == "function"] or None


def recorded_result(value: Any) -> Any:
    """Return a result out of `{output}`, of LangChain's tool message and of LlamaIndex's tool output."""
    result = _unpacked(value)
    if isinstance(result, dict) and "raw_output" in result and "tool_name" in result:
        return result["raw_output"]
    return unwrapped_json(result["content"]) if _is_tool_message(result) else _mcp_text(result)


_ERROR_MARK = "rror"  # in `isError`, `is_error` and "error": most results have none and need not be read
_MCP_RESULT = frozenset({"content", "isError", "structuredContent", "_meta"})
# What a block of text may have besides its type and its text.
_MCP_TEXT = frozenset({"type", "$type", "text", "content", "id", "index", "annotations", "_meta"})


def _mcp_text(result: Any) -> Any:
    """Return the text of an MCP result, read as JSON; anything else unchanged.

    The result is `{content: [{type: "text", text}], isError}`. Claude's SDK records only the blocks, as do FastMCP's
    tools, with a `content` each. Source: https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-result
    """
    is_result = isinstance(result, dict) and (result.keys() <= _MCP_RESULT or _is_kind(result, "Observation"))
    blocks = result.get("content") if is_result else result
    if not isinstance(blocks, list) or not blocks or not all(map(_is_mcp_text, blocks)):
        return result
    texts = [block.get("text", block.get("content")) for block in blocks]
    return unwrapped_json(texts[0]) if len(texts) == 1 else "\n".join(texts)


def _is_mcp_text(block: Any) -> bool:
    if not isinstance(block, dict) or kind_of(block) != "text" or not block.keys() <= _MCP_TEXT:
        return False
    return isinstance(block.get("text", block.get("content")), str)


def result_in_block(value: Any) -> Any:
    """Return a result; where it is in a list of one block (Bedrock's form), the block's content."""
    match json_container(value):
        case [{"text": content, **others}] | [{"json": content, **others}] if not others and content is not None:
            return unwrapped_json(content)
    return _mcp_text(_in_message(unwrapped_json(_message_content(value))))


def _in_message(result: Any) -> Any:
    """Return the content of a tool's message, also of the only choice of a response, as frameworks in Go record it."""
    match result:
        case {"choices": [{"message": {"role": "tool", "content": content}}]}:
            return unwrapped_json(content)
        case {"role": "tool", "content": content, "tool_call_id": _}:
            return unwrapped_json(content)
    return result


def _message_content(value: Any) -> Any:
    """Return the content in the Python text of a LangChain tool message: `content='18' name='t' tool_call_id='c'`."""
    if not isinstance(value, str) or len(value) > _MESSAGE_MAX or " tool_call_id=" not in value:
        return None if is_hidden(value) else value
    match = _MESSAGE.match(value)
    try:
        return python_string(match[1]) if match else value
    except ValueError:
        return value


def recorded_name(value: Any) -> str | None:
    """Return the tool's name in LlamaIndex's tool output."""
    container = json_container(value)
    name = container.get("tool_name") if isinstance(container, dict) and "raw_output" in container else None
    return name if isinstance(name, str) and name else None


def recorded_call_id(value: Any) -> str | None:
    """Return the id of the call that LangChain's tool message answers."""
    message = _unpacked(value)
    call_id = message.get("tool_call_id") if _is_tool_message(message) else None
    return call_id if isinstance(call_id, str) and call_id else None


def _unpacked(value: Any) -> Any:
    """Return the value within `{output}` and within the two forms of LangChain's messages, `{kwargs}` and `{data}`."""
    unpacked = unwrapped_json(_message_content(value))
    if isinstance(unpacked, dict) and "output" in unpacked and unpacked.keys() <= {"output", "kwargs", "args"}:
        unpacked = unwrapped_json(unpacked["output"])
    for kind, key in (("constructor", "kwargs"), ("tool", "data")):
        if isinstance(unpacked, dict) and unpacked.get("type") == kind and isinstance(unpacked.get(key), dict):
            unpacked = unpacked[key]
    return unpacked


def _is_tool_message(message: Any) -> bool:
    return (
        isinstance(message, dict)
        and "content" in message
        and ("tool_call_id" in message or message.get("type") == "tool")
    )
