"""Prepares the tool calls of a conversation for a vendor, whatever ids and names they were recorded with."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count

from app.chat import Message, ToolCall
from app.providers.vendors import VENDORS, Vendor, VendorProfile

_OTHER = re.compile(r"[^a-zA-Z0-9_-]")
_NAME_MAX = 64
_NO_NAME = "unknown"


def with_accepted_calls(vendor: Vendor, messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the messages with calls that the vendor accepts. Each id is used once, and by the result of its call.

    Results of calls with equal ids, or without any, belong to these calls in their order.
    """
    if not any(message.tool_calls for message in messages):
        return messages
    return tuple(_Calls(VENDORS[vendor]).read(messages))


@dataclass(slots=True)
class _Calls:
    """`waiting` has the new ids of the latest calls without a result, by their old ids."""

    vendor: VendorProfile
    used: set[str] = field(default_factory=set)
    waiting: dict[str, deque[str]] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def read(self, messages: tuple[Message, ...]) -> Iterator[Message]:
        for message in messages:
            if message.tool_calls:
                self.waiting = {}
                yield replace(message, tool_calls=tuple(map(self._call, message.tool_calls)))
            elif message.role == "tool" and (ids := self.waiting.get(message.tool_call_id or "")):
                yield replace(message, tool_call_id=ids.popleft())
            else:
                yield message

    def _call(self, call: ToolCall) -> ToolCall:
        call_id = call.id if self._is_accepted(call.id) else next(filter(self._is_accepted, self._made()))
        self.used.add(call_id)
        self.waiting.setdefault(call.id, deque()).append(call_id)
        return replace(call, id=call_id, name=self._name(call.name))

    def _is_accepted(self, call_id: str) -> bool:
        return call_id not in self.used and re.fullmatch(self.vendor.call_id, call_id) is not None

    def _made(self) -> Iterator[str]:
        return (f"call_{number}" for number in self.numbers)

    def _name(self, name: str) -> str:
        if self.vendor.tool_name and not re.fullmatch(self.vendor.tool_name, name):
            name = _OTHER.sub("_", name)[:_NAME_MAX]
        return name or _NO_NAME
