"""What a convention of recording model calls can tell of a span; each module beside this one is one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.otlp.normalise.messages import Messages
from app.otlp.values import integer

CHAT = "chat"
TOOL = "execute_tool"
AGENT = "invoke_agent"

Event = tuple[str, dict[str, Any]]
"""A span event: its name and attributes."""


class SpanView:
    """A span as the conventions see it. Events are read only when one asks for them."""

    __slots__ = ("_events", "attributes", "name", "read_events", "scope")

    def __init__(
        self,
        name: str,
        scope: str,
        attributes: Mapping[str, Any],
        read_events: Callable[[], list[Event]] = list,
    ) -> None:
        self.name = name
        self.scope = scope
        self.attributes = attributes
        self.read_events = read_events
        self._events: list[Event] | None = None

    @property
    def events(self) -> list[Event]:
        if self._events is None:
            self._events = self.read_events()
        return self._events

    def text(self, *keys: str) -> str | None:
        """The first of these attributes that is a text which says something."""
        for key in keys:
            value = self.attributes.get(key)
            if isinstance(value, str) and value:
                return value
        return None

    def first(self, *keys: str) -> Any:
        """The first of these attributes that is there and not null."""
        for key in keys:
            value = self.attributes.get(key)
            if value is not None:
                return value
        return None

    def count(self, *keys: str) -> int | None:
        """The first of these attributes that is a whole number, never below zero."""
        for key in keys:
            number = integer(self.attributes.get(key))
            if number is not None:
                return max(number, 0)
        return None


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool's execution. Arguments and result are JSON values or text; None where they were not recorded."""

    name: str | None = None
    call_id: str | None = None
    arguments: Any = None
    result: Any = None


class Convention:
    """One convention; every answer is None where the span says nothing in it.

    `markers` are attributes of which a span that follows the convention has at least one; without them it
    is asked about every span.
    """

    name = ""
    markers: frozenset[str] = frozenset()

    def matches(self, keys: frozenset[str]) -> bool:
        """Whether a span with the attributes `keys` may follow the convention."""
        return not self.markers or not self.markers.isdisjoint(keys)

    def operation(self, span: SpanView) -> str | None:
        return None

    def model(self, span: SpanView) -> str | None:
        return None

    def provider(self, span: SpanView) -> str | None:
        return None

    def input_tokens(self, span: SpanView) -> int | None:
        return None

    def output_tokens(self, span: SpanView) -> int | None:
        return None

    def input_messages(self, span: SpanView) -> Messages | None:
        return None

    def output_messages(self, span: SpanView) -> Messages | None:
        return None

    def tool(self, span: SpanView) -> ToolUse | None:
        return None

    def definitions(self, span: SpanView) -> list[Any] | None:
        """The offered tools, each a definition as recorded."""
        return None
