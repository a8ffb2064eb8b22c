"""The parts of a message's content: texts, tool calls and reasoning, under any vendor's names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from app.chat import ToolCall
from app.otlp.text import json_container, json_or_text

_TEXT = ("text", "input_text", "output_text", "refusal", "message")
_REASONING = ("reasoning", "thinking", "thought", "summary_text")
_CALLS = ("tool_call", "tool-call", "tool_use", "function_call", "function", "toolCall", "toolUse", "server_tool_call")
_KNOWN = (
    *_TEXT,
    *_REASONING,
    *_CALLS,
    "image",
    "image_url",
    "file",
    "tool_result",
    "tool-result",
    "tool_call_response",
)
_NAME = ("name", "toolName", "tool_name")
_ARGUMENTS = ("arguments", "args", "input", "parameters")
_ID = ("id", "toolCallId", "tool_call_id", "call_id", "toolUseId", "ref")


@dataclass(slots=True)
class Parts:
    """The parts of a content by kind, each kind in the order it came."""

    texts: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)


def read_parts(content: Any) -> Parts:
    """The parts of a content: text, a part, a list of parts, or JSON text of a list of known parts."""
    parts = Parts()
    if isinstance(content, str):
        content = _parts_in_text(content)
    for part in content if isinstance(content, list) else [content]:
        _read_part(part, parts)
    return parts


def _parts_in_text(text: str) -> Any:
    """OpenLLMetry writes a list of parts as JSON text; a list that a person typed stays text."""
    if not text.startswith("[{"):
        return text
    found = json_container(text)
    if isinstance(found, list) and all(isinstance(part, dict) and part.get("type") in _KNOWN for part in found):
        return found
    return text


def _read_part(part: Any, parts: Parts) -> None:
    if isinstance(part, str):
        _keep(parts.texts, part)
    if not isinstance(part, dict):
        return
    kind = part.get("type") or part.get("kind") or part.get("part_kind")
    if kind in _REASONING or part.get("thought") is True:
        inner = read_parts(_text_in(part) or part.get("summary"))
        parts.reasoning += inner.texts + inner.reasoning
    elif kind in _TEXT or (kind is None and "text" in part):
        _keep(parts.texts, _text_in(part))
    elif (call := read_call(part)) is not None:
        parts.calls.append(call)


def _keep(kept: list[str], text: str | None) -> None:
    if text is not None and text.strip():
        kept.append(text)


def _text_in(part: dict[str, Any]) -> str | None:
    for key in ("content", "text", "thinking", "reasoning", "refusal"):
        text = part.get(key)
        if isinstance(text, str):
            return text
        if isinstance(text, dict) and isinstance(text.get("value"), str):
            return str(text["value"])
    return None


def read_call(part: Any) -> ToolCall | None:
    """A tool call from its part, list entry or item; None where it is something else."""
    if not isinstance(part, dict):
        return None
    for wrapper in ("function", "functionCall", "function_call", "toolUse", "toolRequest"):
        inner = part.get(wrapper)
        if isinstance(inner, dict):
            return _call({**part, **inner})
    kind = part.get("type")
    return _call(part) if kind is None or kind in _CALLS else None


def _call(fields: dict[str, Any]) -> ToolCall | None:
    name = _first(fields, _NAME)
    if not isinstance(name, str) or not name:
        return None
    return ToolCall(_id(fields), name, json_or_text(_first(fields, _ARGUMENTS)))


def _id(fields: dict[str, Any]) -> str:
    # OpenAI's Responses items have both: `call_id` is the one that results refer to.
    found = fields.get("call_id") or _first(fields, _ID)
    return found if isinstance(found, str) else ""


def _first(fields: dict[str, Any], names: tuple[str, ...]) -> Any:
    for name in names:
        if fields.get(name) is not None:
            return fields[name]
    return None
