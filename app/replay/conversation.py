"""Writes recorded turns as the messages that a model reads."""

from collections.abc import Callable, Iterator, Sequence

from app.chat import File, Message, ToolCall
from app.replay.case_types import CaseTurn, CheckedCall
from app.values.json import json_text


def recorded_past(turns: Sequence[CaseTurn]) -> tuple[Message, ...]:
    """Return the recorded turns as a conversation, without turns that were recorded without content."""
    return tuple(message for messages in messages_by_turn(turns) for message in messages)


def messages_by_turn(
    turns: Sequence[CaseTurn], files_of: Callable[[CaseTurn], Sequence[File]] = lambda turn: ()
) -> list[tuple[Message, ...]]:
    """Return the messages of each recorded turn; none for a turn that was recorded without content."""
    return [tuple(_messages(index, turn, files_of(turn))) if turn.user else () for index, turn in enumerate(turns)]


def result_text(step: CheckedCall) -> str:
    """Return a tool's result as the model reads it: the recorded text or JSON, or the recorded error."""
    return json_text({"error": step.error} if step.error is not None else step.result)


def earlier_messages(index: int, turn: CaseTurn) -> Iterator[Message]:
    """Yield what came before the recording of a turn, as the model reads it."""
    for n, message in enumerate(turn.earlier or ()):
        if message.role == "tool":
            yield from _exchange(ToolCall(f"earlier_{index}_{n}", message.name, message.arguments), message.text)
        else:
            yield Message(message.role, message.text)


def _exchange(call: ToolCall, result: str) -> Iterator[Message]:
    yield Message("assistant", "", tool_calls=(call,))
    yield Message("tool", result, tool_call_id=call.id)


def _messages(index: int, turn: CaseTurn, files: Sequence[File]) -> Iterator[Message]:
    yield from earlier_messages(index, turn)
    yield Message("user", turn.user or "", files=tuple(files))
    for n, step in enumerate(turn.steps):
        if step.kind == "tool_call" and step.hosted:
            continue  # the answer has what the vendor found
        if step.kind == "tool_call":
            yield from _exchange(ToolCall(f"call_{index}_{n}", step.name, step.arguments), result_text(step))
        elif step.text:
            yield Message("assistant", step.text)
