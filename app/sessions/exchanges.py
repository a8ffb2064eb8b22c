"""Tool calls in messages, and the responses that answer them.

All of it needs time linear in the number of calls: they wait in queues, and each entry is passed over once.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from itertools import count

from app.chat import ToolCall
from app.otlp.normalise import Messages, ToolResponse
from app.otlp.normalise.roles import NO_MODEL
from app.sessions.spans import TurnSpan
from app.values.json import json_key


@dataclass(slots=True, eq=False)
class RequestedCall:
    """A tool call that a model requested, in the messages of the span `chat_id`.

    Calls of one `batch` were requested together. `response` is None until one is found, and `span` until the call's own
    span is found. `name_and_arguments` is the same for calls of one name with equal arguments.
    """

    call: ToolCall
    chat_id: str = ""
    batch: str = ""
    response: ToolResponse | None = None
    span: TurnSpan | None = None
    name_and_arguments: tuple[str, bytes | str] = field(init=False)

    def __post_init__(self) -> None:
        self.name_and_arguments = (self.call.name, json_key(self.call.arguments))


class Unanswered:
    """Calls that wait for a response; calls that were answered elsewhere are passed over."""

    def __init__(self) -> None:
        # By (id, name and arguments); also by the id if there is one.
        self._queues: dict[Hashable, deque[RequestedCall]] = defaultdict(deque)
        # For responses that match no id. By ("name", name); by ("no id", name) if the call has no id; all under "any".
        self._nameless: dict[Hashable, deque[RequestedCall]] = defaultdict(deque)

    def __bool__(self) -> bool:
        return bool(self._queues)

    def add(self, requested: RequestedCall) -> None:
        """Enter a call under all keys by which a response may find it."""
        call = requested.call
        self._queues[call.id, requested.name_and_arguments].append(requested)
        if call.id:
            self._queues[call.id].append(requested)
        else:
            self._nameless["no id", call.name].append(requested)
        self._nameless["name", call.name].append(requested)
        self._nameless["any"].append(requested)

    def same(self, requested: RequestedCall) -> RequestedCall | None:
        """Return the first call with the id, the name and the arguments of this one."""
        return _first(self._queues.get((requested.call.id, requested.name_and_arguments)))

    def with_id(self, call_id: str) -> RequestedCall | None:
        """Return the last call with this id."""
        queue = self._queues.get(call_id)
        while queue and queue[-1].response is not None:
            queue.pop()
        return queue[-1] if queue else None

    def answered_by(self, response: ToolResponse) -> RequestedCall | None:
        """Return the call that a response answers.

        With an id it is the call of this id, else the first call of its name that has no id. Without an id it is the
        first call of its name, or the first of all if it has no name.
        """
        if response.call_id:
            return self.with_id(response.call_id) or _first(self._nameless.get(("no id", response.name)))
        return _first(self._nameless.get(("name", response.name) if response.name else "any"))

    def forget_names(self) -> None:
        """From now on, match tool responses to calls only by id."""
        self._nameless.clear()


def _first(queue: deque[RequestedCall] | None) -> RequestedCall | None:
    while queue and queue[0].response is not None:
        queue.popleft()
    return queue[0] if queue else None


def calls_in(
    messages: Messages, chat_id: str = "", batches: Iterator[int] | None = None
) -> tuple[list[RequestedCall], list[ToolResponse]]:
    """Return the calls in messages, with their responses, and the responses to other calls.

    Calls with no response between them are one batch: some libraries write a message for each call. `batches` numbers
    the batches of a span.
    """
    numbers = count() if batches is None else batches
    waiting = Unanswered()
    calls: list[RequestedCall] = []
    strays: list[ToolResponse] = []
    batch = ""
    for message in messages:
        if message.role == "user" and message.text:
            waiting.forget_names()
        for call in message.calls if message.role not in NO_MODEL else ():
            batch = batch or f"{chat_id}/{next(numbers)}"
            calls.append(RequestedCall(call, chat_id, batch))
            waiting.add(calls[-1])
        for response in message.responses:
            batch = ""
            if (requested := waiting.answered_by(response)) is None:
                strays.append(response)
            else:
                requested.response = response
    return calls, strays
