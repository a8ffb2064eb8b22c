"""Messages of every shape in wide use (GenAI parts, OpenAI, Anthropic, Gemini, Bedrock, LangChain, Vercel) as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from app.chat import ToolCall
from app.otlp.normalise.calls import CALL_KINDS, HOSTED_KINDS, read_call
from app.otlp.normalise.media import Media, read_media, unknown_part
from app.otlp.normalise.responses import ToolResponse, answers_a_call, read_response, read_tool_message
from app.values.json import json_container, json_or_text
from app.values.structs import decoder

_ROLES = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant", "model": "assistant", "function": "tool"}
_LANGCHAIN_CLASSES = ("HumanMessage", "AIMessage", "SystemMessage", "ToolMessage", "FunctionMessage")
_MESSAGE_LISTS = ("messages", "input", "contents", "output", "choices", "candidates", "generations", "outputs")
_MESSAGE_KEYS = ("role", "content", "parts", "tool_calls", "toolCalls", "kwargs", "message", "event.name")


@dataclass(frozen=True, slots=True)
class NormalisedMessage:
    """One message of a conversation. `text` is None where no part of it has any text.

    `media` are its images, audio and files, those of its tools' responses among them, and parts of unknown types.
    """

    role: str
    text: str | None = None
    calls: tuple[ToolCall, ...] = ()
    reasoning: str | None = None
    responses: tuple[ToolResponse, ...] = ()
    media: tuple[Media, ...] = ()


Messages = tuple[NormalisedMessage, ...]
Memo = dict[tuple[str, bytes], Messages]
"""Entries of messages by their role and JSON: the model calls of a session repeat all earlier messages."""

_decode_items = decoder(list[msgspec.Raw])


def read_messages(value: Any, role: str = "user", memo: Memo | None = None) -> Messages | None:
    """Return the messages in a JSON text or value; None if it has none, and for truncated JSON.

    `role` is used for entries without one: `user` for input, `assistant` for output. A `memo` caches what was read.
    """
    if memo is not None and isinstance(value, str) and (items := _items_in(value)) is not None:
        return tuple(message for item in items for message in _remembered(item, role, memo)) or None
    found = json_container(value)
    if isinstance(found, dict):
        found = _list_in(found)
    if not isinstance(found, list):
        return None
    messages = [message for item in found for message in _read_item(item, role)]
    return tuple(messages) or None


def _items_in(text: str) -> list[msgspec.Raw] | None:
    """Return the entries of a list, still as JSON; None for all that is no list, or that needs repair."""
    try:
        return _decode_items(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _remembered(item: msgspec.Raw, role: str, memo: Memo) -> Messages:
    key = (role, bytes(item))
    if (messages := memo.get(key)) is None:
        messages = memo[key] = tuple(_read_item(json_or_text(str(key[1], "utf-8")), role))
    return messages


def read_text(value: Any, role: str, memo: Memo | None = None) -> Messages | None:
    """Messages in JSON, or else the whole text as one message; None for JSON that was cut off."""
    messages = read_messages(value, role, memo)
    if messages is not None:
        return messages
    if not isinstance(value, str) or not value.strip() or value.lstrip().startswith(("[", "{")):
        return None
    return (NormalisedMessage(role, value),)


def first_user_text(messages: Messages | None) -> str | None:
    """Return the question that opened a conversation."""
    return next(_user_texts(messages or ()), None)


def last_user_text(messages: Messages | None) -> str | None:
    """Return the reply that started a later turn (some libraries send tool results with role user, without text)."""
    return next(_user_texts(reversed(messages or ())), None)


def _user_texts(messages: Iterable[NormalisedMessage]) -> Iterator[str]:
    return (message.text for message in messages if message.role == "user" and message.text)


def message_of(role: str, content: Any, calls: Sequence[ToolCall] = ()) -> NormalisedMessage:
    """Return a message from its role and content (text, a part, a list of parts, or JSON text of these)."""
    role = _ROLES.get(role, role)
    parts = read_parts(content)
    # Parts of an answer continue each other; parts of a question are on separate lines.
    text = ("" if role == "assistant" else "\n").join(parts.texts) or None
    reasoning = "\n".join(parts.reasoning) or None
    return NormalisedMessage(role, text, (*parts.calls, *calls), reasoning, tuple(parts.responses), tuple(parts.media))


def _list_in(found: dict[str, Any]) -> list[Any] | None:
    if any(key in found for key in _MESSAGE_KEYS):
        return [found]
    for key in _MESSAGE_LISTS:
        inner = found.get(key)
        if isinstance(inner, str) and inner:
            return [inner]
        if isinstance(inner, list) and inner:
            return inner
        if isinstance(inner, dict) and inner:
            return _list_in(inner)
    return [found] if "type" in found or "text" in found else None


def _read_item(item: Any, role: str) -> list[NormalisedMessage]:
    if isinstance(item, str):
        return [NormalisedMessage(role, item)] if item.strip() else []
    if isinstance(item, list):
        return _read_list(item, role)
    if not isinstance(item, dict):
        return []
    for wrapper in ("message", "data", "kwargs"):
        inner = item.get(wrapper)
        if isinstance(inner, dict) and "content" not in item:
            return _read_item(inner, _role(item, role))
    if isinstance(item.get("content"), dict) and "parts" in item["content"]:
        return _read_item(item["content"], role)
    if "content" not in item and "parts" not in item and item.get("type") in ("function_call", "function_call_output"):
        call, response = read_call(item), read_response(item)
        return [
            NormalisedMessage("assistant", calls=(call,))
            if call
            else NormalisedMessage("tool", responses=_those(response))
        ]
    return [_read_message(item, "assistant" if item.get("type") in HOSTED_KINDS else role)]


def _those(response: ToolResponse | None) -> tuple[ToolResponse, ...]:
    return () if response is None else (response,)


def _read_list(items: list[Any], role: str) -> list[NormalisedMessage]:
    """Read a list. LangChain nests its lists once; a pair of role and text is one message."""
    if len(items) == 2 and isinstance(items[0], str) and (items[0] in _ROLES or items[0] in ("user", "system")):
        return [message_of(items[0], items[1])]
    return [message for item in items if isinstance(item, dict) for message in _read_item(item, role)]


def _read_message(item: dict[str, Any], role: str) -> NormalisedMessage:
    calls = [call for call in map(read_call, _calls(item)) if call]
    content = item.get("parts")
    if content is None:
        content = item.get("content", item if "text" in item or "type" in item else None)
    message = message_of(_role(item, role), content, _new(calls, content))
    if not message.responses and (message.role == "tool" or answers_a_call(item)):
        # Its content is the tool's: an object with a name in it is no call.
        responses = _those(read_tool_message(item))
        return NormalisedMessage(message.role, message.text, responses=responses, media=message.media)
    reasoning = item.get("reasoning_content") or item.get("reasoning")
    if message.reasoning is None and isinstance(reasoning, str):
        return replace(message, reasoning=reasoning)
    return message


def _new(calls: list[ToolCall], content: Any) -> list[ToolCall]:
    """Return the calls that the content lacks (LangChain also keeps the vendor's blocks in its own list)."""
    known = {(call.id, call.name) for call in read_parts(content).calls} if isinstance(content, list) and calls else ()
    return [call for call in calls if (call.id, call.name) not in known]


def _calls(item: dict[str, Any]) -> list[Any]:
    calls = item.get("tool_calls") or item.get("toolCalls")
    if not calls and isinstance(item.get("additional_kwargs"), dict):
        calls = item["additional_kwargs"].get("tool_calls")
    if not calls and item.get("function_call"):
        calls = [item["function_call"]]
    found = json_container(calls)
    return found if isinstance(found, list) else []


def _role(item: dict[str, Any], role: str) -> str:
    named = item.get("role")
    if isinstance(named, str) and named:
        return _ROLES.get(named, named)
    event = item.get("event.name")
    if isinstance(event, str):
        return role_of_event(event) or role
    names = item.get("id")
    kind = item.get("type")
    if isinstance(names, list) and names and names[-1] in _LANGCHAIN_CLASSES:
        kind = names[-1].removesuffix("Message").lower()
    if kind in ("system", "tool", "user", "assistant"):
        return str(kind)
    return _ROLES.get(kind, role) if isinstance(kind, str) else role


def role_of_event(name: str) -> str | None:
    """Return the role that a GenAI event speaks for, None for other events."""
    if name == "gen_ai.choice":
        return "assistant"
    middle = name.removeprefix("gen_ai.").removesuffix(".message")
    return middle if name == f"gen_ai.{middle}.message" else None


_TEXT = ("text", "input_text", "output_text", "refusal", "message")
_REASONING = ("reasoning", "thinking", "thought", "summary_text")
_KNOWN = (
    *_TEXT,
    *_REASONING,
    *CALL_KINDS,
    "image",
    "image_url",
    "file",
    "tool_result",
    "tool-result",
    "tool_call_response",
)


@dataclass(slots=True)
class ContentParts:
    """The parts of a content by kind, each kind in the order it came."""

    texts: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    responses: list[ToolResponse] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    media: list[Media] = field(default_factory=list)


def read_parts(content: Any) -> ContentParts:
    """Return the parts of a content: text, a part, a list of parts, or JSON text of a list of known parts."""
    parts = ContentParts()
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


def _read_part(part: Any, parts: ContentParts) -> None:
    if isinstance(part, str):
        _keep(parts.texts, part)
    if not isinstance(part, dict):
        return
    kind = part.get("type") or part.get("kind") or part.get("part_kind")
    if kind in _REASONING or part.get("thought") is True or (kind is None and _is_reasoning(part)):
        inner = read_parts(_text_in(part) or part.get("summary"))
        parts.reasoning += inner.texts + inner.reasoning
    elif kind in _TEXT or (kind is None and "text" in part):
        _keep(parts.texts, _text_in(part))
    elif (response := read_response(part)) is not None:
        parts.responses.append(response)
        parts.media += _media_in(response.result)
        if kind in HOSTED_KINDS and (call := read_call(part)) is not None:
            parts.calls.append(call)
    elif (call := read_call(part)) is not None:
        parts.calls.append(call)
    elif (media := read_media(part) or unknown_part(part)) is not None:
        parts.media.append(media)


def _media_in(result: Any) -> Iterator[Media]:
    """Yield the media in a tool's response that is a list of parts."""
    for part in result if isinstance(result, list) else ():
        if isinstance(part, dict) and part.get("type") and (media := read_media(part)) is not None:
            yield media


def _is_reasoning(part: dict[str, Any]) -> bool:
    """Return whether a part without a kind is a thought: Genkit's `{reasoning}`, Bedrock's `{reasoningContent}`."""
    return isinstance(part.get("reasoning"), str) or isinstance(part.get("reasoningContent"), dict)


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
