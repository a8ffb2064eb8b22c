"""Messages that a library recorded as texts without roles, as lines of one text, or in the pieces of a stream."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from app.otlp.normalise.fields import read_object
from app.otlp.normalise.messages import Messages, NormalisedMessage, read_text
from app.otlp.normalise.roles import role_named
from app.values.json import json_container

_LINE_ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})


def joined(pieces: Messages) -> NormalisedMessage:
    """Return one message of the pieces of a stream."""
    return NormalisedMessage(
        pieces[0].role,
        "".join(piece.text or "" for piece in pieces) or None,
        tuple(call for piece in pieces for call in piece.calls),
        "".join(piece.reasoning or "" for piece in pieces) or None,
        media=tuple(part for piece in pieces for part in piece.media),
        asks=any(piece.asks for piece in pieces),
    )


def joined_texts(value: Any) -> str | None:
    """Return a text, or the texts of a list, given as such or as JSON; None without any."""
    texts = json_container(value)
    if isinstance(texts, list) and texts and all(isinstance(text, str) for text in texts):
        return "".join(texts)
    return value if isinstance(value, str) and value else None


def with_fields(message: NormalisedMessage) -> NormalisedMessage:
    """Return a message of a DSPy program with its outputs, if its text is a JSON object of them."""
    fields = read_object(message.text) if message.text and message.role == "assistant" else None
    if fields is None:
        return message
    calls = (*fields.calls, *message.calls)
    return replace(message, text=fields.text, calls=calls, reasoning=message.reasoning or fields.reasoning)


def read_prompt(value: Any) -> Messages | None:
    """Return the messages of a prompt. Of a list of plain texts only the last one is known to be the user's."""
    texts = json_container(value)
    if isinstance(texts, list) and len(texts) > 1 and all(isinstance(text, str) for text in texts):
        last = next((text for text in reversed(texts) if text.strip()), None)
        # A list of messages that are JSON each is read as such.
        if last is not None and not last.lstrip().startswith("{"):
            return (NormalisedMessage("user", last),)
    return read_text(value, "user")


def read_lines(value: Any) -> Messages | None:
    """Return the messages of a text that has each after its role: `system: …`, in the next line `user: …`."""
    if not isinstance(value, str) or _role_of_line(value) is None:
        return read_prompt(value)
    messages: list[tuple[str, list[str]]] = []
    for line in value.split("\n"):
        if role := _role_of_line(line):
            messages.append((role, [line.partition(":")[2].removeprefix(" ")]))
        else:
            messages[-1][1].append(line)
    return tuple(NormalisedMessage(role, "\n".join(lines) or None) for role, lines in messages)


def _role_of_line(line: str) -> str | None:
    name, colon, _ = line[:16].partition(":")
    return role_named(name) if colon and name in _LINE_ROLES else None
