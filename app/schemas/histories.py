"""The conversation before a run's question, as a caller sends it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from marshmallow import ValidationError, fields, validate

from app.chat import Message, ToolCall
from app.schemas.base import BoundedList, StrictSchema, Text
from app.schemas.json_schemas import check_values

# The result of each call is a message, so there are at most as many calls as messages.
MESSAGES_MAX = 2_000
ID_MAX = 255
ROLES = ("user", "assistant", "tool")


class SentToolCallSchema(StrictSchema):
    """A tool call that the model requested; loads to `app.chat.ToolCall`."""

    command: ClassVar = ToolCall

    id = Text(required=True, minimum=1, maximum=ID_MAX)
    # Empty for a call that a model made without a name.
    name = Text(required=True, maximum=ID_MAX)
    arguments = fields.Raw(required=True, allow_none=True, validate=check_values)


class SentMessageSchema(StrictSchema):
    """A message of a history; loads to `app.chat.Message`."""

    command: ClassVar = Message

    role = fields.String(required=True, validate=validate.OneOf(ROLES))
    text = Text(required=True)
    tool_calls = BoundedList(fields.Nested(SentToolCallSchema), maximum=MESSAGES_MAX, into=tuple, load_default=tuple)
    tool_call_id = Text(load_default=None, allow_none=True, minimum=1, maximum=ID_MAX)


class History(BoundedList):
    """The messages of a conversation in order. Each tool call has its result before the next other message."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            fields.Nested(SentMessageSchema), maximum=MESSAGES_MAX, into=tuple, validate=_check_order, **kwargs
        )

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Any:
        """Count the calls before loading them: a body has room for a million."""
        if isinstance(value, list) and sum(map(_calls_in, value[: MESSAGES_MAX + 1])) > MESSAGES_MAX:
            raise ValidationError(f"Must have at most {MESSAGES_MAX} calls of tools.")
        return super()._deserialize(value, attr, data, **kwargs)


def _calls_in(message: Any) -> int:
    calls = message.get("toolCalls") if isinstance(message, dict) else None
    return len(calls) if isinstance(calls, list) else 0


def _check_order(messages: Sequence[Message]) -> None:
    unanswered: dict[str, None] = {}
    for index, message in enumerate(messages):
        if wrong := _misplaced(message, unanswered, first=index == 0):
            raise ValidationError({index: dict([wrong])})
        if message.role == "tool":
            del unanswered[str(message.tool_call_id)]
        else:
            unanswered = dict.fromkeys(call.id for call in message.tool_calls)
    if unanswered:
        raise ValidationError(f"The call {next(iter(unanswered))!r} has no result: a message of the role tool.")


def _misplaced(message: Message, unanswered: Mapping[str, None], *, first: bool) -> tuple[str, str] | None:
    """Return the field that makes a message invalid after the messages before it, and the reason; None if it is valid.

    The calls in `unanswered` need their results first. Two messages of the same role may follow each other, because
    recorded conversations have questions without an answer.
    """
    if first and message.role != "user":
        return "role", "The first message must be the user's."
    if message.role == "tool":
        known = message.tool_call_id in unanswered
        return None if known else ("toolCallId", "Must be the id of a call before this message without a result yet.")
    if unanswered:
        return "role", f"Must be tool: the call {next(iter(unanswered))!r} has no result yet."
    if message.tool_call_id is not None:
        return "toolCallId", "Only a message of the role tool has one."
    return _wrong_calls(message)


def _wrong_calls(message: Message) -> tuple[str, str] | None:
    if message.tool_calls and message.role != "assistant":
        return "toolCalls", "Only a message of the role assistant has them."
    if len({call.id for call in message.tool_calls}) < len(message.tool_calls):
        return "toolCalls", "Two calls have the same id."
    return None
