"""Conversations that were under way when a session began: its first model call was given earlier exchanges."""

from __future__ import annotations

from collections.abc import Iterator

from app.otlp.normalise import Messages
from app.otlp.normalise.roles import NO_MODEL
from app.sessions.exchanges import RequestedCall, calls_in
from app.sessions.types import EARLIER_MAX, EarlierMessage, Gap
from app.values.json import json_text


def earlier_in(messages: Messages) -> tuple[EarlierMessage, ...]:
    """Return messages as a replay can send them, the last `EARLIER_MAX`; without instructions.

    Calls have their results. Text of a message with calls is left out, as where a recorded turn is sent, and so are
    calls without a result, and calls that the vendor ran.
    """
    return tuple(_earlier(messages))[-EARLIER_MAX:]


def _earlier(messages: Messages) -> Iterator[EarlierMessage]:
    calls = iter(calls_in(messages)[0])
    for message in messages:
        if message.role == "user" and message.text:
            yield EarlierMessage(role="user", text=message.text)
        elif message.role not in NO_MODEL:
            requested = [next(calls) for _ in message.calls]
            ran = [call for call in requested if not call.call.hosted]
            yield from (_of_call(call) for call in ran if call.response)
            if message.text and not ran:
                yield EarlierMessage(role="assistant", text=message.text)


def _of_call(requested: RequestedCall) -> EarlierMessage:
    call, response = requested.call, requested.response
    result = response and ({"error": response.error} if response.error is not None else response.result)
    return EarlierMessage(role="tool", text=json_text(result), name=call.name, arguments=call.arguments)


def gaps_in_earlier(messages: Messages) -> Iterator[Gap]:
    """Yield what `earlier_in` leaves out of messages that the model saw."""
    if any(media.kind != "unknown_part" for message in messages if message.role == "user" for media in message.media):
        yield Gap("history", "an earlier message of the user has content that is no text")
    if sum(1 for _ in _earlier(messages)) > EARLIER_MAX:
        yield Gap("history", f"only the last {EARLIER_MAX:,} of the earlier messages are kept")
