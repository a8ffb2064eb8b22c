"""OpenAI's files for fine-tuning: a conversation a line, `{"messages": […], "tools": […]}`.

The files have no ids and no times. A conversation is identified by its content, so that one that is in a file twice
is one session; `weight` and `parallel_tool_calls` are about training, and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from reprise_formats.importers.spans import ImportedSpan, Unreadable, json_text, object_in, text_of

# Turns are a millisecond apart, and the spans of a turn a microsecond, in the order of the messages.
_TURN_NS = 1_000_000
_SPAN_NS = 1_000
Message = Mapping[str, Any]


@dataclass(frozen=True)
class _Conversation:
    name: str
    tools: str | None
    at_ns: int

    def span(self, turn: int, place: int, attributes: Mapping[str, Any]) -> ImportedSpan:
        at_ns = self.at_ns + turn * _TURN_NS + place * _SPAN_NS
        return ImportedSpan(f"{self.name}/{turn}", str(place), None, "chat", at_ns, at_ns, attributes)


def convert(record: Mapping[str, Any], at_ns: int) -> list[ImportedSpan]:
    """Return the spans of a conversation: a trace for each turn, and a span for each answer of the model.

    Calls and their results need no spans: they are in the messages.
    """
    asked = object_in(record.get("input")) or record
    # A file of preferences has the preferred answer next to the messages.
    messages = [*_messages(asked.get("messages")), *_messages(record.get("preferred_output", []))]
    if not any(message.get("role") == "assistant" for message in messages):
        raise Unreadable("has no message of the role assistant")
    tools = asked.get("tools") or asked.get("functions")
    name = sha256(json_text([messages, tools]).encode("utf-8", "replace")).hexdigest()[:32]
    conversation = _Conversation(name, text_of(tools), at_ns)
    return [span for number, turn in enumerate(_turns(messages)) for span in _spans(conversation, number, turn)]


def _messages(value: Any) -> list[Message]:
    if not isinstance(value, list) or not all(isinstance(message, dict) for message in value):
        raise Unreadable("has no list of messages")
    return value


def _turns(messages: Sequence[Message]) -> Iterator[Sequence[Message]]:
    """Yield the messages of each turn: one begins with the first message of the user after an answer."""
    begin, answered = 0, False
    for place, message in enumerate(messages):
        if message.get("role") == "user" and answered:
            yield messages[begin:place]
            begin, answered = place, False
        answered = answered or message.get("role") == "assistant"
    yield messages[begin:]


def _spans(conversation: _Conversation, turn: int, messages: Sequence[Message]) -> Iterator[ImportedSpan]:
    """Yield a span for each answer: its input are the messages since the answer before it, which is a part of it.

    The first one has the tools, so that a long turn is not many times as large as its messages.
    """
    sent, tools = 0, conversation.tools
    for place, message in enumerate(messages):
        if message.get("role") == "assistant":
            attributes = {
                "gen_ai.conversation.id": conversation.name,
                "gen_ai.operation.name": "chat",
                "gen_ai.input.messages": json_text(messages[sent:place]),
                "gen_ai.output.messages": json_text([message]),
                "gen_ai.tool.definitions": tools,
            }
            yield conversation.span(turn, place, attributes)
            sent, tools = place, None
