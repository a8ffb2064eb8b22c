"""Reads the parts of a message's content: texts, reasoning, calls, responses and media."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from app.chat import ToolCall
from app.otlp.normalise.calls import CALL_KINDS, CALL_WRAPPERS, read_call
from app.otlp.normalise.hidden import is_hidden
from app.otlp.normalise.kinds import kind_of
from app.otlp.normalise.media import MEDIA_KEYS, Media, read_media, transcript_of, unknown_part
from app.otlp.normalise.responses import RESPONSE_KINDS, RESPONSE_WRAPPERS, ToolResponse, read_response
from app.values.python_text import recorded_container

_PLAIN = ("text", "input_text", "output_text")
_TEXT = (*_PLAIN, "refusal", "message")
REASONING = ("reasoning", "thinking", "thought", "summary_text", "reasoning_text", "redacted_thinking")
_TEXT_KEYS = ("content", "text", "thinking", "reasoning", "refusal")
# The types of parts that are enough to know a list of them in a text.
_PART_TYPES = frozenset({*_TEXT, *REASONING, *CALL_KINDS, *RESPONSE_KINDS, "image", "image_url", "file"})
# What Bedrock and Gemini write next to texts: an object without a type, with one of these as its only key.
_VENDOR_KEYS = MEDIA_KEYS | {"cachePoint", "citationsContent", "guardContent", "reasoningContent", "searchResult"}
_MODEL_PART_TYPES = frozenset({*REASONING, *CALL_KINDS})
_WRAPPERS = CALL_WRAPPERS | RESPONSE_WRAPPERS


@dataclass(slots=True)
class ContentParts:
    """The parts of a content by kind, each kind in the order it came."""

    texts: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    responses: list[ToolResponse] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    media: list[Media] = field(default_factory=list)
    first_by_id: dict[str, ToolCall] | None = None
    """The first call of each id; None without a call that has one."""

    def add(self, other: ContentParts) -> None:
        """Append the parts of a content that follows; `first_by_id` stays."""
        self.texts += other.texts
        self.calls += other.calls
        self.responses += other.responses
        self.reasoning += other.reasoning
        self.media += other.media


def read_parts(content: Any, *, calls: bool = True) -> ContentParts:
    """Return the parts of a content: text, a part, a list of parts, or JSON text of a list of known parts.

    Without `calls`, JSON text with a call or with reasoning is text: a person typed it, as only models call tools.
    """
    parts = ContentParts()
    if not calls and isinstance(content, str) and _has_calls(_parts_in_text(content)):
        return ContentParts(texts=[content])
    for part in _parts_of(content):
        _read_part(part, parts)
    return parts


def read_segments(content: Any) -> list[ContentParts]:
    """Return the parts of a model's content, divided where words or a call follow the response to a call."""
    segments = [ContentParts()]
    for part in _parts_of(content):
        if not segments[-1].responses:
            _read_part(part, segments[-1])
            continue
        after = ContentParts()
        _read_part(part, after)
        if after.texts or after.calls:
            segments.append(after)
        else:
            segments[-1].add(after)
    return segments


def _parts_of(content: Any) -> list[Any]:
    if isinstance(content, str):
        content = _parts_in_text(content)
    return content if isinstance(content, list) else [content]


def _parts_in_text(text: str) -> Any:
    """Return the parts that libraries write as one text, such as OpenLLMetry; what a person typed stays text."""
    if not text.lstrip().startswith(("[", "{", '"[', '"{')):
        return text
    content = recorded_container(text)
    if isinstance(content, dict):
        return [content] if kind_of(content) in _PLAIN and isinstance(content.get("text"), str) else text
    return content if isinstance(content, list) and _are_parts(content) else text


def _has_calls(parts: Any) -> bool:
    return isinstance(parts, list) and any(
        isinstance(part, dict) and (kind_of(part) in _MODEL_PART_TYPES or any(key in part for key in CALL_WRAPPERS))
        for part in parts
    )


def _are_parts(parts: list[Any]) -> bool:
    """Return whether these are certainly parts: all of known types, or one that no person types among others."""
    if not parts or not all(isinstance(part, dict) for part in parts):
        return False
    if all(kind_of(part) in _PART_TYPES for part in parts):
        return True
    return any(map(_is_certain, parts)) and all(kind_of(part) or _is_certain(part) or _is_block(part) for part in parts)


def _is_certain(part: dict[str, Any]) -> bool:
    """Return whether a part is of a shape that no person types: a text part, a wrapped call, a named wrapper."""
    if part.keys() == {"text"} or kind_of(part) in _TEXT:
        return isinstance(_text_in(part), str)
    return any(isinstance(part.get(key), dict) for key in (*_WRAPPERS, kind_of(part) or ""))


def _is_block(part: dict[str, Any]) -> bool:
    return len(part) == 1 and any(isinstance(part.get(key), dict) for key in _VENDOR_KEYS & part.keys())


def _read_part(part: Any, parts: ContentParts) -> None:
    if isinstance(part, str):
        _keep(parts.texts, part)
    if not isinstance(part, dict):
        return
    kind = kind_of(part)
    if kind in REASONING or part.get("thought") is True or (kind is None and _is_reasoning(part)):
        inner = read_parts(_text_in(part) or part.get("content") or part.get("thinking") or part.get("summary"))
        parts.reasoning += inner.texts + inner.reasoning
    elif kind in _TEXT or (kind is None and "text" in part):
        _keep(parts.texts, _text_in(part))
    elif not _read_tool(part, parts):
        _keep(parts.texts, transcript_of(part))
        if (media := read_media(part) or unknown_part(part)) is not None:
            parts.media.append(media)


def _read_tool(part: dict[str, Any], parts: ContentParts) -> bool:
    """Read the call or the response in a part, or both, and return whether there is any."""
    response = read_response(part)
    call = read_call(part) if response is None or _has_both(part) else None
    if response is not None:
        parts.responses.append(response)
        parts.media += _media_in(response.result)
    # A vendor's block of a call may be next to the library's own.
    if call is not None and not _is_repeated(call, parts):
        parts.calls.append(call)
    return call is not None or response is not None


def _is_repeated(call: ToolCall, parts: ContentParts) -> bool:
    if not call.id:
        return False
    if parts.first_by_id is None:
        parts.first_by_id = {}
    first = parts.first_by_id.setdefault(call.id, call)
    return first is not call and first == call


def _has_both(part: dict[str, Any]) -> bool:
    return kind_of(part) in CALL_KINDS or "toolInvocation" in part or {"toolCallId", "state"} <= part.keys()


def _media_in(result: Any) -> Iterator[Media]:
    """Yield the media in a tool's response that is a list of parts."""
    for part in result if isinstance(result, list) else ():
        if isinstance(part, dict) and kind_of(part) and (media := read_media(part)) is not None:
            yield media


def _is_reasoning(part: dict[str, Any]) -> bool:
    """Return whether a part without a kind is a thought: Genkit's `{reasoning}`, Bedrock's `{reasoningContent}`."""
    return isinstance(part.get("reasoning"), str) or isinstance(part.get("reasoningContent"), dict)


def _keep(kept: list[str], text: str | None) -> None:
    if text is not None and text.strip() and not is_hidden(text):
        kept.append(text)


def _text_in(part: dict[str, Any]) -> str | None:
    for key in _TEXT_KEYS:
        text = part.get(key)
        if isinstance(text, str):
            return text
        if isinstance(text, dict) and isinstance(text.get("value"), str):
            return str(text["value"])
    return None
