"""A tool call that arrives in pieces, and which call of a stream a piece belongs to.

Servers of OpenAI's format differ: some name no index, some one index for all calls, some no ids or equal ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from app.chat import ToolCall, VendorState
from app.values.storable import decode_json, storable_text


@dataclass(slots=True)
class CallPieces:
    """A call with its arguments so far. `is_whole` is true when they are a complete object or list of JSON."""

    id: str = ""
    name: str = ""
    vendor_state: VendorState | None = None
    _arguments: list[str] = field(default_factory=list)
    _length: int = 0
    _depth: int = 0
    _opened: bool = False
    _in_string: bool = False
    _backslash: str = ""

    def add_arguments(self, text: str) -> None:
        self._arguments.append(text)
        self._length += len(text)
        self._count_brackets(text)

    @property
    def is_whole(self) -> bool:
        return self._opened and self._depth <= 0 and not self._in_string

    @property
    def has_arguments(self) -> bool:
        return self._length > 0

    def has_these(self, arguments: str) -> bool:
        """Return whether these are the arguments; it costs no more than reading them."""
        return len(arguments) == self._length and arguments == "".join(self._arguments)

    def decoded(self, call_id: str) -> ToolCall:
        arguments = _json_or_text("".join(self._arguments))
        return ToolCall(call_id, storable_text(self.name), arguments, self.vendor_state)

    def _count_brackets(self, text: str) -> None:
        """Count the brackets outside of strings. Each step is one call into C, because arguments are long."""
        text = self._backslash + text
        backslashes = len(text) - len(text.rstrip("\\"))
        self._backslash = "\\" if backslashes % 2 else ""
        if self._backslash:
            text = text[:-1]
        parts = text.replace("\\\\", "").replace('\\"', "").split('"')
        outside = "".join(parts[1 if self._in_string else 0 :: 2])
        self._in_string ^= len(parts) % 2 == 0
        opening = outside.count("{") + outside.count("[")
        self._opened |= opening > 0
        self._depth += opening - outside.count("}") - outside.count("]")


@dataclass(slots=True)
class CallPlaces:
    """Finds the place of the call that each piece of a stream belongs to, among `calls` by their places."""

    calls: dict[int, CallPieces]
    # The place of the latest call with this index, and of the latest call with this id that has no index.
    _by_index: dict[int, int] = field(default_factory=dict)
    _by_id: dict[str, int] = field(default_factory=dict)
    _latest: int | None = None

    def place_of(self, index: object, call_id: str, name: str, arguments: str) -> int:
        """Return the place. Another id, another name, or more arguments after whole ones begin another call."""
        place = self._known(index, call_id)
        if place is None or self._begins_another(self.calls[place], call_id, name, arguments):
            place = self._free(index)
        if type(index) is int:
            self._by_index[index] = place
        elif call_id:
            self._by_id[call_id] = place
        self._latest = place
        return place

    def _known(self, index: object, call_id: str) -> int | None:
        if type(index) is int:
            return self._by_index.get(index)
        # Without an index, what begins a call has its id.
        return self._by_id.get(call_id) if call_id else self._latest

    def _free(self, index: object) -> int:
        if type(index) is int and index not in self.calls:
            return index
        return max(self.calls, default=-1) + 1

    def _begins_another(self, call: CallPieces, call_id: str, name: str, arguments: str) -> bool:
        differs = _differ(call_id, call.id) or _differ(name, call.name)
        return differs or (call.is_whole and bool(arguments.strip()) and not _repeats(call, call_id, arguments))


def repeats(call: CallPieces, call_id: str, arguments: str) -> bool:
    """Return whether a piece has the whole call once more, as some servers send at its end."""
    return call.is_whole and _repeats(call, call_id, arguments)


def _repeats(call: CallPieces, call_id: str, arguments: str) -> bool:
    return bool(call_id) and call_id == call.id and call.has_these(arguments)


def _differ(sent: str, known: str) -> bool:
    return bool(sent and known) and sent != known


def _json_or_text(arguments: str) -> Any:
    try:
        return decode_json(arguments) if arguments else {}
    except ValueError:
        return storable_text(arguments)
