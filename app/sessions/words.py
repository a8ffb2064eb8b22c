"""What was said: the texts of a model call's messages that a turn shows."""

from __future__ import annotations

from app.otlp.normalise import Messages


def first_user_text(messages: Messages | None) -> str | None:
    """The question that opened a conversation."""
    return next(iter(user_texts(messages)), None)


def last_user_text(messages: Messages | None) -> str | None:
    """The reply that started a later turn (some libraries send tool results with role user, without text)."""
    return next(reversed(user_texts(messages)), None)


def user_texts(messages: Messages | None) -> list[str]:
    return [message.text for message in messages or () if message.role == "user" and message.text]


def answer_text(outputs: Messages | None) -> str | None:
    """The text of the last output message, when that message calls no tool."""
    if not outputs or outputs[-1].calls:
        return None
    return outputs[-1].text


def text_beside_tools(outputs: Messages | None) -> str | None:
    """What the model said while it called tools; it is shown and is no step."""
    if not outputs or not outputs[-1].calls:
        return None
    return "\n".join(message.text for message in outputs if message.text) or None


def reasoning(outputs: Messages | None) -> str | None:
    return "\n".join(message.reasoning for message in outputs or () if message.reasoning) or None
