"""Messages of every shape in wide use (GenAI parts, OpenAI, Anthropic, Gemini, Bedrock, LangChain, Vercel) as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import msgspec

from app.chat import ToolCall
from app.otlp.normalise.calls import CALL_KINDS, read_call
from app.otlp.normalise.fields import FIELDS_BEGIN, Fields, read_fields
from app.otlp.normalise.finish import asks_for_tools
from app.otlp.normalise.hidden import is_hidden
from app.otlp.normalise.kinds import kind_of
from app.otlp.normalise.media import Media, transcript_of
from app.otlp.normalise.parts import REASONING, ContentParts, read_parts, read_segments
from app.otlp.normalise.responses import (
    RESPONSE_KINDS,
    RESPONSE_WRAPPERS,
    ToolResponse,
    answers_a_call,
    read_tool_message,
)
from app.otlp.normalise.roles import NO_MODEL, is_role, role_of
from app.values.json import json_or_text, json_text
from app.values.python_text import recorded_container
from app.values.structs import decoder

_MESSAGE_LISTS = (
    "messages",
    "input",
    "contents",
    "output",
    "choices",
    "candidates",
    "generations",
    "outputs",
    "replies",
)
_MESSAGE_KEYS = ("role", "content", "parts", "tool_calls", "toolCalls", "kwargs", "message", "event.name")
_CONTENT_KEYS = ("content", "parts", "tool_calls", "toolCalls", "function_call", "text", "audio")
_NO_PARTS = ContentParts()


@dataclass(frozen=True, slots=True)
class NormalisedMessage:
    """One message of a conversation. `text` is None where no part of it has any text.

    `media` are its images, audio and files, those of its tools' responses among them, and parts of unknown types. With
    `asks` the model stopped to have tools called, even if the message lacks the calls.
    """

    role: str
    text: str | None = None
    calls: tuple[ToolCall, ...] = ()
    reasoning: str | None = None
    responses: tuple[ToolResponse, ...] = ()
    media: tuple[Media, ...] = ()
    asks: bool = field(default=False, compare=False)
    of_fields: tuple[str, Fields] | None = field(default=None, compare=False)
    """The whole text, and what DSPy's fields in it are; None for a text without such fields."""

    @property
    def without_fields(self) -> NormalisedMessage:
        """The message with its whole text, and without what its fields are."""
        if self.of_fields is None:
            return self
        text, fields = self.of_fields
        calls, reasoning = self.calls[len(fields.calls) :], self.reasoning
        own_reasoning = None if reasoning == fields.reasoning else reasoning
        return replace(self, text=text, calls=calls, reasoning=own_reasoning, of_fields=None)

    @property
    def has_content(self) -> bool:
        return bool(self.text or self.calls or self.responses or self.reasoning or self.media)


Messages = tuple[NormalisedMessage, ...]
Memo = dict[tuple[str, bytes], Messages]
"""Entries of messages by their role and JSON: the model calls of a session repeat all earlier messages."""


class QuestionMemo(dict[tuple[str, bytes], Messages]):
    """A memo with which of a list in JSON only as much is read as `own_words_at` needs."""


_decode_items = decoder(list[msgspec.Raw])


def read_messages(value: Any, role: str = "user", memo: Memo | None = None) -> Messages | None:
    """Return the messages in a JSON text or value; None if it has none, and for truncated JSON.

    `role` is used for entries without one: `user` for input, `assistant` for output. A `memo` caches what was read.
    """
    if memo is not None and isinstance(value, str) and (items := _items_in(value)) is not None:
        if isinstance(memo, QuestionMemo):
            return _around_the_words(items, role) or None
        return tuple(chain.from_iterable(_remembered(item, role, memo) for item in items)) or None
    container = recorded_container(value)
    if isinstance(container, dict):
        container = _list_in(container)
    if not isinstance(container, list):
        return None
    messages = [message for item in container for message in _read_item(item, role)]
    return tuple(messages) or None


def _items_in(text: str) -> list[msgspec.Raw] | None:
    """Return the entries of a list, still as JSON; None for all that is no list, or that needs repair."""
    try:
        return _decode_items(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _around_the_words(items: Iterable[msgspec.Raw], role: str) -> Messages:
    """Return the messages up to the first of the model after the user's first text, and those from the user's last."""
    begin: list[NormalisedMessage] = []
    rest, is_awaited = iter(items), _is_of_user
    for item in rest:
        begin += (messages := _read_raw(item, role))
        if any(map(is_awaited, messages)):
            if is_awaited is _is_of_model:
                break
            is_awaited = _is_of_model
    end: list[NormalisedMessage] = []
    for item in reversed(list(rest)):
        messages = _read_raw(item, role)
        end += reversed(messages)
        if any(map(_is_of_user, messages)):
            break
    return (*begin, *reversed(end))


def _remembered(item: msgspec.Raw, role: str, memo: Memo) -> Messages:
    key = (role, bytes(item))
    if (messages := memo.get(key)) is None:
        messages = memo[key] = tuple(_read_raw(item, role))
    return messages


def _read_raw(item: msgspec.Raw, role: str) -> list[NormalisedMessage]:
    return _read_item(json_or_text(str(memoryview(item), "utf-8")), role)


def read_text(value: Any, role: str, memo: Memo | None = None) -> Messages | None:
    """Messages in JSON, or else the whole text as one message; None for JSON that was cut off."""
    messages = read_messages(value, role, memo)
    if messages is not None:
        return messages
    if not isinstance(value, str) or not value.strip() or value.lstrip().startswith(("[", "{")) or is_hidden(value):
        return None
    return (NormalisedMessage(role, value),)


def first_user_text(messages: Messages | None) -> str | None:
    """Return the question that opened a conversation."""
    return next(_user_texts(messages or ()), None)


def last_user_text(messages: Messages | None) -> str | None:
    """Return the reply that started a later turn (some libraries send tool results with role user, without text)."""
    return next(_user_texts(reversed(messages or ())), None)


def own_words_at(messages: Messages) -> int:
    """Return the index of the user's last message with text, if an exchange with the model precedes it, else 0."""
    users = [index for index, message in enumerate(messages) if _is_of_user(message)]
    if len(users) < 2:
        return 0
    return users[-1] if any(map(_is_of_model, messages[users[0] + 1 : users[-1]])) else 0


def _is_of_user(message: NormalisedMessage) -> bool:
    return message.role == "user" and bool(message.text)


def _is_of_model(message: NormalisedMessage) -> bool:
    return message.role not in NO_MODEL and message.has_content


def _user_texts(messages: Iterable[NormalisedMessage]) -> Iterator[str]:
    return (message.text for message in messages if message.role == "user" and message.text)


def _list_in(container: dict[str, Any]) -> list[Any] | None:
    if isinstance(container.get("completion"), str) and "content" not in container:  # OpenRouter
        return [container | {"content": container["completion"]}]
    if any(key in container for key in _MESSAGE_KEYS):
        return [container]
    for key in _MESSAGE_LISTS:
        inner = container.get(key)
        if isinstance(inner, str) and inner:
            # The input of a request is the words of a person, also if these are messages as JSON.
            return [{"content": inner}] if key == "input" else [inner]
        if isinstance(inner, list) and inner:
            return inner
        if isinstance(inner, dict) and inner:
            return _list_in(inner)
    return [container] if "type" in container or "text" in container else None


def _read_item(item: Any, role: str) -> list[NormalisedMessage]:
    if isinstance(item, str):
        return _read_text(item, role)
    if isinstance(item, list):
        return _read_list(item, role)
    if not isinstance(item, dict):
        return []
    for wrapper in ("message", "data", "kwargs"):
        inner = item.get(wrapper)
        if isinstance(inner, dict) and "content" not in item:
            messages = _read_item(inner, role_of(item) or role)
            return _asking(messages) if asks_for_tools(item) else messages
    content = item.get("content")
    if isinstance(content, dict) and "parts" in content:
        return _read_item(content, role)
    # A model's message may be encoded as the text of an entry without a role.
    if role == "assistant" and len(item) == 1 and isinstance(content, str) and (encoded := _encoded(content, role)):
        return encoded
    return _read_message(item, role)


def _read_text(text: str, role: str) -> list[NormalisedMessage]:
    """Read a text, or the message or messages that it has as JSON: some libraries encode each message."""
    if not text.strip():
        return []
    return _encoded(text, role) or [_of_text(role, text)]


def _encoded(text: str, role: str) -> list[NormalisedMessage]:
    encoded = recorded_container(text)
    items = encoded if isinstance(encoded, list) else [encoded]
    if not all(map(_is_message, items)):
        return []
    return [message for item in items for message in _read_item(item, role)]


def _of_text(role: str, text: str | None, parts: ContentParts = _NO_PARTS) -> NormalisedMessage:
    """Return a message with this text, in which DSPy's programs may have fields, and the other parts."""
    calls, reasoning = tuple(parts.calls), "\n".join(parts.reasoning) or None
    of_fields = None
    if text and text.startswith(FIELDS_BEGIN) and (fields := read_fields(role, text)):
        of_fields = text, fields
        text, calls, reasoning = fields.text, (*fields.calls, *calls), reasoning or fields.reasoning
    responses, media = tuple(parts.responses), tuple(parts.media)
    return NormalisedMessage(role, text, calls, reasoning, responses, media, of_fields=of_fields)


def _is_message(item: Any) -> bool:
    """Return whether a value is certainly a message or an item of OpenAI's Responses: no person types these."""
    if not isinstance(item, dict):
        return False
    if _role_of_item(item):
        return "call_id" in item
    named = is_role(item.get("role")) or is_role(item.get("type")) or ("lc" in item and "kwargs" in item)
    return named and any(key in item for key in (*_CONTENT_KEYS, "kwargs"))


def _read_list(items: list[Any], role: str) -> list[NormalisedMessage]:
    """Read a list. LangChain nests its lists once; a pair of role and text is one message."""
    if len(items) == 2 and is_role(items[0]):
        return _read_message({"role": items[0], "content": items[1]}, role)
    return [message for item in items if isinstance(item, dict) for message in _read_item(item, role)]


def _read_message(item: dict[str, Any], role: str) -> list[NormalisedMessage]:
    """Read a message, or an item of a list. A model's message with words after a tool's response is several."""
    role = role_of(item) or _role_of_item(item) or role
    messages = messages_of(role, _content(item))
    last = messages[-1]
    if not last.responses and (last.role == "tool" or answers_a_call(item)):
        # Its content is the tool's: an object with a name in it is no call.
        response = read_tool_message(item)
        return [NormalisedMessage(last.role, last.text, responses=(response,) if response else (), media=last.media)]
    if listed := _calls(item):
        # LangChain also keeps the vendor's blocks in its own list.
        known = {(call.id, call.name) for message in messages for call in message.calls}
        calls = [call for call in map(read_call, listed) if call and (call.id, call.name) not in known]
        last = replace(last, calls=(*last.calls, *calls))
    if not last.has_content and (spoken := transcript_of(item)):
        last = replace(last, text=spoken)
    reasoning = item.get("reasoning_content") or item.get("reasoning")
    if last.reasoning is None and isinstance(reasoning, str):
        last = replace(last, reasoning=reasoning)
    messages[-1] = last
    return _asking(messages) if asks_for_tools(item) else messages


def _content(item: dict[str, Any]) -> Any:
    """Return the content of a message; an item without a role, such as one of OpenAI's Responses, is a part itself."""
    if "role" not in item and _role_of_item(item):
        return item
    if (content := item.get("parts")) is not None:
        return content
    if (content := item.get("content")) is not None or "content" in item:
        return content
    return item if "text" in item or "type" in item or not RESPONSE_WRAPPERS.isdisjoint(item) else None


def _role_of_item(item: dict[str, Any]) -> str | None:
    """Return the role of an item that is a call, a response or reasoning; None for other items."""
    kind = kind_of(item)
    return "tool" if kind in RESPONSE_KINDS else "assistant" if kind in CALL_KINDS or kind in REASONING else None


def messages_of(role: str, content: Any) -> list[NormalisedMessage]:
    """Return a message from its role and content (text, a part, a list of parts, or JSON text of these).

    A model's content with words, or a call, after the response to a call is several messages: a vendor runs tools while
    its model writes one message.
    """
    # Parts of an answer continue each other; parts of a question are on separate lines.
    joined = "" if role == "assistant" else "\n"
    messages = [
        _of_text(role, joined.join(parts.texts) or None, parts)
        for parts in (read_segments(content) if role == "assistant" else [read_parts(content, calls=role != "user")])
    ]
    if isinstance(content, dict) and content and not messages[0].has_content and _is_of_program(role, content):
        return [_of_text(role, json_text(content))]
    return messages


def _is_of_program(role: str, content: dict[str, Any]) -> bool:
    """Return whether a content that is no part is an object of the program's own, such as a structured answer."""
    return role in ("user", "assistant") and "type" not in content and "text" not in content


def _asking(messages: list[NormalisedMessage]) -> list[NormalisedMessage]:
    return [*messages[:-1], replace(messages[-1], asks=True)] if messages else []


def _calls(item: dict[str, Any]) -> list[Any]:
    calls = item.get("tool_calls") or item.get("toolCalls") or item.get("function_calls")
    if not calls and isinstance(item.get("additional_kwargs"), dict):
        calls = item["additional_kwargs"].get("tool_calls")
    if not calls and item.get("function_call"):
        calls = [item["function_call"]]
    container = recorded_container(calls) if calls else None
    return container if isinstance(container, list) else []
