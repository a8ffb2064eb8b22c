"""The tool calls in a turn's messages, each once, with the span that ran it or the message that answers it.

A call occurs in the output of the model call that requested it and, followed by its response, in the inputs of later
ones. Within a turn the same id means the same call.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import count

from app.chat import ToolCall
from app.otlp.normalise import Messages, ToolResponse, ToolUse
from app.sessions.exchanges import RequestedCall, Unanswered, calls_in
from app.sessions.spans import TurnSpan

Key = Callable[[RequestedCall], Hashable]


def _id_and_arguments(requested: RequestedCall) -> Hashable:
    return (requested.call.id, requested.name_and_arguments) if requested.call.id else None


def _id(requested: RequestedCall) -> Hashable:
    return requested.call.id or None


def _name_and_arguments(requested: RequestedCall) -> Hashable:
    return requested.name_and_arguments


def _name(requested: RequestedCall) -> Hashable:
    return requested.call.name


def _arguments(requested: RequestedCall) -> Hashable:
    return requested.name_and_arguments[1]


_KEYS = (_id_and_arguments, _id, _name_and_arguments, _name, _arguments)


def read_calls(turns: Iterable[Sequence[TurnSpan]]) -> list[list[RequestedCall]]:
    """Return the calls of each turn of a session, in the order in which they were asked for.

    Turns are in their order, the spans of each in the order of its steps.
    """
    earlier = Unanswered()
    calls_by_turn = []
    for spans in turns:
        reader = _Reader(earlier)
        for span in spans:
            if span.is_chat:
                reader.read(span)
        reader.match([span for span in spans if span.is_tool])
        calls_by_turn.append(reader.calls)
        for requested in reader.calls:
            if requested.response is None and requested.span is None:
                earlier.add(requested)
    return calls_by_turn


class _Reader:
    """Reads the model calls of a turn; `earlier` are the calls of earlier turns that nothing has answered."""

    def __init__(self, earlier: Unanswered) -> None:
        self.calls: list[RequestedCall] = []
        self._known = _Known()
        self._waiting = Unanswered()
        self._earlier = earlier
        self._given: dict[str, Messages] = {}
        self._ids_given: dict[str, set[Hashable]] = {}

    def read(self, chat: TurnSpan) -> None:
        given = self._given[chat.span_id] = chat.inputs or ()
        start = _after_last_user_text(given)
        self._answer_from_the_past(given[:start])
        search, batches = _Search(self._known), count()
        calls, strays = calls_in(given[start:], chat.span_id, batches)
        pairs = [(call, known or self._earlier.same(call)) for call, known in search.pair(calls, _KEYS[:3])]
        self._answer([self._keep(call, known, search) for call, known in pairs], strays)
        calls, strays = calls_in(chat.outputs or (), chat.span_id, batches)
        pairs = search.pair(calls, _KEYS[:1])
        self._answer([self._keep(call, known, search) for call, known in pairs], strays)

    def _keep(self, call: RequestedCall, known: RequestedCall | None, search: _Search) -> RequestedCall:
        """Return the known call, with the response that is here, or the new one, which the search then leaves out."""
        if known is not None:
            known.response = known.response or call.response
            return known
        self.calls.append(call)
        self._known.add(call)
        self._waiting.add(call)
        search.leave_out(call)
        return call

    def _answer(self, calls: list[RequestedCall], strays: list[ToolResponse]) -> None:
        """Assign responses that occur without their calls to these calls and to those of other messages.

        OpenAI's Responses have two ids for a call: a library may record one with the call and one with its response.
        Such responses answer the waiting calls if there are as many of them.
        """
        unknown = []
        for response in strays:
            requested = self._waiting.answered_by(response) or self._earlier.with_id(response.call_id)
            if requested is None:
                unknown.append(response)
            else:
                requested.response = response
        waiting = [call for call in calls if call.response is None]
        if len(waiting) == len(unknown):
            for call, response in zip(waiting, unknown, strict=True):
                call.response = response

    def _answer_from_the_past(self, past: Messages) -> None:
        """Search before the user's last text for responses to calls of earlier turns, or of this one.

        Responses of this turn are there if an application adds texts of the user in the middle of a turn.
        """
        if not past or not (self._waiting or self._earlier):
            return
        calls, strays = calls_in(past)
        for response in strays:
            if (requested := self._earlier.with_id(response.call_id)) is not None:
                requested.response = response
        for call in calls:
            if call.response is not None and (requested := self._same_in_the_past(call)) is not None:
                requested.response = call.response

    def _same_in_the_past(self, call: RequestedCall) -> RequestedCall | None:
        same = self._waiting.same(call)
        return same if same and not self._was_given(same) else self._earlier.same(call)

    def _was_given(self, requested: RequestedCall) -> bool:
        """Return whether the model was given an equal call when it asked for this one, so that the past holds that."""
        if requested.chat_id not in self._ids_given:
            calls, _ = calls_in(self._given[requested.chat_id])
            self._ids_given[requested.chat_id] = {(call.call.id, call.name_and_arguments) for call in calls}
        return (requested.call.id, requested.name_and_arguments) in self._ids_given[requested.chat_id]

    def match(self, tools: Sequence[TurnSpan]) -> None:
        """Set the span of each call that has one: of its id, else of its name and arguments, else of its name.

        A span with the id of another call is matched by its name only where it has no arguments, and a span without a
        name by its arguments.
        """
        search = _Search(self._known)
        ran = [(_as_requested(span), span) for span in tools]
        spans = {id(requested): span for requested, span in ran}
        pairs = search.pair([call for call, _ in ran], _KEYS[:3])
        left = [call for call, known in pairs if known is None and not (call.call.id and call.call.arguments)]
        nameless = [call for call in left if spans[id(call)].is_nameless]
        for requested, known in [*pairs, *search.pair(left, _KEYS[3:4]), *search.pair(nameless, _KEYS[4:])]:
            if known is not None:
                known.span = spans[id(requested)]


def _as_requested(span: TurnSpan) -> RequestedCall:
    tool = span.tool or ToolUse()
    return RequestedCall(ToolCall(tool.call_id or "", span.tool_name, tool.arguments))


def _after_last_user_text(messages: Messages) -> int:
    """Return the index after the last message of the user with a text; tool results of the role user have none."""
    for index in range(len(messages), 0, -1):
        message = messages[index - 1]
        if message.role == "user" and (message.text or not message.responses):
            return index
    return 0


class _Known:
    """The calls of a turn by each of the keys."""

    def __init__(self) -> None:
        self.lists: dict[tuple[Key, Hashable], list[RequestedCall]] = defaultdict(list)

    def add(self, requested: RequestedCall) -> None:
        for key in _KEYS:
            self.lists[key, key(requested)].append(requested)


class _Search:
    """A search among known calls that finds none of them twice, equal ones in the order in which they were added."""

    def __init__(self, known: _Known) -> None:
        self._known = known
        self._found: set[int] = set()
        self._next: dict[tuple[Key, Hashable], int] = defaultdict(int)

    def pair(
        self, calls: Sequence[RequestedCall], keys: Sequence[Key]
    ) -> list[tuple[RequestedCall, RequestedCall | None]]:
        """Return each call with its known one; all are looked for by one key, then the rest by the next."""
        pairs: dict[int, RequestedCall] = {}
        for key in keys:
            for call in calls:
                if id(call) not in pairs and (known := self._first(key, call)) is not None:
                    pairs[id(call)] = known
        return [(call, pairs.get(id(call))) for call in calls]

    def leave_out(self, requested: RequestedCall) -> None:
        self._found.add(id(requested))

    def _first(self, key: Key, call: RequestedCall) -> RequestedCall | None:
        if (value := key(call)) is None:
            return None
        known = self._known.lists.get((key, value), [])
        for index in range(self._next[key, value], len(known)):
            self._next[key, value] = index + 1
            if id(known[index]) not in self._found:
                self._found.add(id(known[index]))
                return known[index]
        return None
