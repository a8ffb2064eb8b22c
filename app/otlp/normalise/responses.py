"""Reads tool responses from messages of every shape in wide use."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from app.otlp.normalise.calls import NAMES, is_approval
from app.otlp.normalise.kinds import kind_of
from app.otlp.normalise.toolio import result_in_block
from app.values.json import json_container, unwrapped_json

RESPONSE_KINDS = frozenset(
    {
        *(
            "tool_call_response",
            "tool_result",
            "tool-result",
            "toolResult",
            "tool-return",
            "tool_response",
            "tool-error",
        ),
        *(
            "functionResult",
            "function_call_output",
            "function_response",
            "custom_tool_call_output",
            "computer_call_output",
        ),
        *("local_shell_call_output", "shell_call_output", "apply_patch_call_output", "mcp_tool_result"),
        *("server_tool_call_response", "server_tool_result", "code_execution_result", "tool_search_output"),
    }
)
# Anthropic's tools that it runs itself: `web_search_tool_result`, `bash_code_execution_tool_result` …
_SUFFIX = "_tool_result"
# Parts that have both a call and its result: the vendor ran the tool, or the message was written after the call.
_WITH_CALL = frozenset(
    {
        *("mcp_call", "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call"),
        *("dynamic-tool", "tool-invocation"),
    }
)
RESPONSE_WRAPPERS = frozenset(
    {
        *("functionResponse", "function_response", "toolResponse", "toolResult", "server_tool_call_response"),
        *("codeExecutionResult", "code_execution_result", "tool_call_result"),
    }
)
_OWN_IDS = ("tool_call_id", "toolCallId", "tool_use_id", "toolUseId", "call_id", "callId")
_IDS = (*_OWN_IDS, "id", "ref")
# With one of these keys, a message of any role answers a call.
_ANSWERED = frozenset(_OWN_IDS[:2])
_VALUES = ("response", "result", "output", "content", "structuredContent", "results", "outputs", "tools")
_TEXT_BLOCKS = ("text", "input_text", "output_text", None)
# The types of results in the AI SDK's `{type, value}`, and whether they are errors.
_TYPED = {"text": False, "json": False, "content": False, "error-text": True, "error-json": True}


@dataclass(frozen=True, slots=True)
class ToolResponse:
    """A tool's response to a call: a JSON value or text, or the text of its error.

    `call_id` and `name` are empty if the message does not have them.
    """

    call_id: str = ""
    name: str = ""
    result: Any = None
    error: str | None = None


def read_response(part: Any) -> ToolResponse | None:
    """Return the response in a part of a message or in an item of a list; None if it is something else."""
    if not isinstance(part, dict) or is_approval(part, "server_tool_call_response"):
        return None
    for wrapper in () if RESPONSE_WRAPPERS.isdisjoint(part) else RESPONSE_WRAPPERS & part.keys():
        if isinstance(inner := part[wrapper], dict):
            # In Haystack, `origin` has the whole call, with its id and name.
            origin = inner.get("origin")
            named = origin if isinstance(origin, dict) else {}
            return _response({**part, **named, **inner}) or _others(part, inner)
    if isinstance(inner := part.get("toolInvocation"), dict):
        return _response_with_call(inner)
    if not (kind := kind_of(part)):
        return None
    if kind in _WITH_CALL or (kind.startswith("tool-") and "state" in part):
        return _response_with_call(part)
    return _response(part) if kind in RESPONSE_KINDS or kind.endswith(_SUFFIX) else None


def _response_with_call(part: dict[str, Any]) -> ToolResponse | None:
    """Return the result of a call that is in the same part; None for a call that waits for one."""
    error = part.get("error") or part.get("errorText")
    values = {key: part[key] for key in _VALUES if part.get(key) is not None}
    kept = {key: part[key] for key in (*_IDS, *NAMES, "status") if key in part}
    return _response(kept | values | ({"error": error} if error else {})) if values or error else None


def _others(part: dict[str, Any], inner: dict[str, Any]) -> ToolResponse:
    """Return a response without a value under a known name: all fields of `inner` but `type` are the result."""
    return ToolResponse(_text(part, _IDS), _text(part, NAMES), {key: inner[key] for key in inner if key != "type"})


def read_tool_message(message: dict[str, Any]) -> ToolResponse | None:
    """Return the response of a whole message with the role `tool`; None if its content was not recorded."""
    content = message.get("content", message.get("parts"))
    if content is None or (isinstance(content, dict) and content.get("type") == "function"):
        return None  # Langfuse records the definitions of the offered tools as such messages
    return _response({key: value for key, value in message.items() if key not in _VALUES} | {"content": content})


def answers_a_call(message: dict[str, Any]) -> bool:
    """Return whether a message names the call that it answers, whatever its role is."""
    return not _ANSWERED.isdisjoint(message) and _text(message, _OWN_IDS[:2]) != ""


def _response(fields: dict[str, Any]) -> ToolResponse | None:
    error = fields.get("error")
    given = next((key for key in _VALUES if key in fields), None)
    if given is None and not error:
        return None
    value, failed = _typed(fields[given]) if given else (None, False)
    result = _result(value)
    call_id, name = _text(fields, _IDS), _text(fields, NAMES)
    if not (failed or error or _is_failed(fields)):
        return ToolResponse(call_id, name, result)
    words = error if error and error is not True else result
    return ToolResponse(call_id, name, error=_words(words))


def _is_failed(fields: dict[str, Any]) -> bool:
    return fields.get("is_error") is True or fields.get("isError") is True or fields.get("status") == "error"


def _words(error: Any) -> str:
    if error in (None, "", {}, []):
        return "failed"
    return error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)


def _typed(value: Any) -> tuple[Any, bool]:
    """Return the value in the AI SDK's `{type, value}`, and whether it is an error; other values unchanged."""
    if isinstance(value, dict) and value.keys() == {"type", "value"} and value["type"] in _TYPED:
        return value["value"], _TYPED[value["type"]]
    return value, False


def _result(value: Any) -> Any:
    """Return a result: decoded if it is JSON, and the texts if it is a list of text blocks."""
    blocks = json_container(value)
    if isinstance(blocks, list) and blocks and all(map(_is_text, blocks)):
        texts = [block.get("text", block.get("content")) for block in blocks]
        return unwrapped_json(texts[0]) if len(texts) == 1 else "\n".join(texts)
    return result_in_block(value)


def _is_text(block: Any) -> bool:
    if not isinstance(block, dict) or not isinstance(block.get("text", block.get("content")), str):
        return False
    return kind_of(block) in _TEXT_BLOCKS and (block.keys() == {"text"} or "type" in block or "$type" in block)


def _text(fields: dict[str, Any], keys: tuple[str, ...]) -> str:
    return next((fields[key] for key in keys if isinstance(fields.get(key), str) and fields[key]), "")
